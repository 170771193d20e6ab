"""The unit of numbers in a stream's times, reported once if the script does not set it."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from penstock.language.statements import StreamDef
from penstock.spark.sources.text_parser import UNIT

_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class TimeUnit:
    """Reports in which unit numbers in a stream's times are read, when the first of them arrive."""

    def __init__(self, stream: StreamDef, tell: Callable[[str], object]) -> None:
        self._stream = stream
        self._tell = tell
        self._is_reported = False

    def reported(self, table: pa.Table) -> pa.Table:
        """Return parsed rows without the column of the unit; report the unit of the first."""
        if UNIT not in table.column_names:
            return table
        if not self._is_reported:
            self.report([each for each in table.column(UNIT).unique().to_pylist() if each is not None])
        return table.drop_columns([UNIT])

    def report(self, units: Sequence[str]) -> None:
        """Report the first of the units in which rows were read, unless one was reported before."""
        if units and not self._is_reported:
            self._is_reported = True
            self._tell(self._message(units[0]))

    def _message(self, unit: str) -> str:
        name = self._stream.time_column
        return (
            f"stream {self._stream.name}: numbers in {name} are read as {_WORDS[unit]} since 1970, judging by "
            f"their size; set timestamp_unit = '{unit}' to make this explicit"
        )
