"""`PlaceChoice`: whether rows that arrive in files are read into the driver, or stay there for executors to read.

Handing n rows over to a job costs n·h. A stored read costs s + n·r: planning it and opening files, and decoding.
So few rows are resident, and many are stored. h and s are measured while the run goes on.
"""

from threading import Lock
from typing import Literal

from penstock.plan.moving_average import moving_average

RowsSetting = Literal["auto", "resident", "stored"]

HANDED_ROW_S = 2.5e-6
"""Seconds to read a row and hand it over to a job, until measured (100,000 rows took 0.34 s, 10,000 0.08 s)."""
STORED_READ_S = 0.05
"""Seconds of a stored read in addition to its rows, until measured."""
STORED_ROW_S = 0.15e-6
"""Seconds to decode a row of a parquet file on an executor."""
_LEAST_ROWS = 5_000
"""Handing over fewer rows measures the call more than the rows."""


class PlaceChoice:
    """Chooses the place of rows by measured costs, unless a setting forces it."""

    def __init__(self, setting: RowsSetting = "auto") -> None:
        self._setting = setting
        self.handed_row_s = HANDED_ROW_S
        self.stored_read_s = STORED_READ_S
        self._lock = Lock()

    @property
    def may_store(self) -> bool:
        """Whether rows may be stored at all."""
        return self._setting != "resident"

    @property
    def is_forced(self) -> bool:
        """Whether rows must be stored."""
        return self._setting == "stored"

    def stores(self, rows: int) -> bool:
        """Return whether so many rows that arrive together should stay in their files.

        >>> PlaceChoice().stores(1_000), PlaceChoice().stores(1_000_000)
        (False, True)
        """
        if self._setting != "auto":
            return self.is_forced
        return rows * self.handed_row_s > self.stored_read_s + rows * STORED_ROW_S

    def handed_over(self, rows: int, seconds: float) -> None:
        """Learn how long it took to hand rows over."""
        if rows >= _LEAST_ROWS:
            with self._lock:
                self.handed_row_s = moving_average(self.handed_row_s, seconds / rows)

    def read(self, seconds: float) -> None:
        """Learn how long it took to plan a stored read."""
        with self._lock:
            self.stored_read_s = moving_average(self.stored_read_s, seconds)
