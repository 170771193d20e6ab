"""The unit of numbers in a stream's times, reported once if the script does not set it."""

from collections.abc import Callable

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
            unit = next((each for each in table.column(UNIT).unique().to_pylist() if each is not None), None)
            if unit is not None:
                self._is_reported = True
                self._tell(self._message(unit))
        return table.drop_columns([UNIT])

    def _message(self, unit: str) -> str:
        name = self._stream.time_column
        return (
            f"stream {self._stream.name}: numbers in {name} are read as {_WORDS[unit]} since 1970, judging by "
            f"their size; set timestamp_unit = '{unit}' to make this explicit"
        )
