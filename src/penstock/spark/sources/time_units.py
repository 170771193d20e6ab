"""The unit of a stream's times, told once where the script does not say it."""

from collections.abc import Callable

import pyarrow as pa

from penstock.language.statements import StreamDef
from penstock.spark.sources.text_parser import UNIT

_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


class TimeUnit:
    """Tells a person what numbers in a stream's times were taken for, when the first of them come."""

    def __init__(self, stream: StreamDef, tell: Callable[[str], object]) -> None:
        self._stream = stream
        self._tell = tell
        self._told = False

    def told(self, table: pa.Table) -> pa.Table:
        """Return parsed rows without the column that tells the unit."""
        if UNIT not in table.column_names:
            return table
        if not self._told:
            unit = next((each for each in table.column(UNIT).unique().to_pylist() if each is not None), None)
            if unit is not None:
                self._told = True
                self._tell(self._sentence(unit))
        return table.drop_columns([UNIT])

    def _sentence(self, unit: str) -> str:
        name = self._stream.time_column
        return (
            f"stream {self._stream.name}: numbers in {name} are read as {_WORDS[unit]} since 1970, judging by "
            f"their size; set timestamp_unit = '{unit}' to make this explicit"
        )
