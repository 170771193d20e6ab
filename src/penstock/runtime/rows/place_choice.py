"""`PlaceChoice`: whether rows that arrive in files are read into the driver, or stay there for executors to read.

Handing n rows of b bytes over to a job costs n·(r + b·h). Reading them from files costs s, and hardly anything for
each row. So few rows are resident, and many are stored. h and a part of s are measured while the run goes on.
A drain of one filter over four columns, resident and stored: 200,000 rows 0.15 and 0.19 s, 400,000 rows 0.17 and
0.15 s, 1 million rows 0.38 and 0.19 s (two cores).
"""

from threading import Lock
from typing import Literal

from penstock.plan.moving_average import moving_average

RowsSetting = Literal["auto", "resident", "stored"]

HANDED_ROW_S = 0.1e-6
"""Seconds to read a row of a parquet file in the driver and hand it over, besides its bytes."""
HANDED_BYTE_S = 1.6e-9
"""Seconds to hand over a byte, until measured."""
PARSED_ROW_S = 2.5e-6
"""Seconds to parse a row of text by a job, collect it and hand it over to another job."""
STORED_S = 0.035
"""Seconds by which a job that opens files takes longer, besides the planning of these reads."""
PLANNED_S = 0.035
"""Seconds to plan a stored read, until measured."""
_LEAST_BYTES = 8_000_000
"""Handing over fewer bytes measures the call more than the bytes."""


class PlaceChoice:
    """Chooses the place of rows by measured costs, unless a setting forces it."""

    def __init__(self, setting: RowsSetting = "auto") -> None:
        self._setting = setting
        self._handed_byte_s = HANDED_BYTE_S
        self._planned_s = PLANNED_S
        self._lock = Lock()

    @property
    def may_store(self) -> bool:
        """Whether rows may be stored at all."""
        return self._setting != "resident"

    @property
    def is_forced(self) -> bool:
        """Whether rows must be stored."""
        return self._setting == "stored"

    def stores(self, rows: int, row_bytes: float, *, parsed: bool = False) -> bool:
        """Return whether so many rows that arrive together should stay in their files.

        Rows of text are `parsed` by a job in either case; if they are stored, it writes them to parquet files.

        >>> PlaceChoice().stores(200_000, 40), PlaceChoice().stores(1_000_000, 40)
        (False, True)
        """
        if self._setting != "auto":
            return self.is_forced
        row_s = PARSED_ROW_S if parsed else HANDED_ROW_S + row_bytes * self._handed_byte_s
        return rows * row_s > STORED_S + self._planned_s

    def handed_over(self, size: int, seconds: float) -> None:
        """Learn how long it took to hand so many bytes over."""
        if size >= _LEAST_BYTES:
            with self._lock:
                self._handed_byte_s = moving_average(self._handed_byte_s, seconds / size)

    def planned(self, seconds: float) -> None:
        """Learn how long it took to plan a stored read."""
        with self._lock:
            self._planned_s = moving_average(self._planned_s, seconds)
