"""A column of times in a Parquet or CSV file, read in batches and checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from penstock.errors import ArrivalError, nearest
from penstock.workloads.arrivals import BATCH, Times

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Ticks per second, by the unit of a type or the end of a column's name."""

TIMES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_duration,
)
"""The types of columns that can be times."""

PIECE = 8 * BATCH


@dataclass(frozen=True)
class TimeFile:
    """The times in `column` of the file at `path`."""

    path: Path
    column: str

    @classmethod
    def found(cls, path: object, column: str | None) -> "TimeFile":
        """Return the file and its column of times, or raise if either does not exist."""
        if not isinstance(path, str | PathLike):
            raise ArrivalError(f"the path of a trace must be a file, not {path!r}")
        file = Path(path)
        if not file.is_file():
            raise ArrivalError(f"there is no trace file {file}")
        with _explained(file):
            schema = _schema(file)
        empty = [
            part.name for part in schema if pa.types.is_null(part.type)
        ]  # in a file without rows, for example
        usable = [part.name for part in schema if _is_time(part.type)] or empty
        if column is None:
            if not usable:
                raise ArrivalError(f"the trace {file} has no column of numbers or timestamps, but {schema.names}")
            return cls(file, "time" if "time" in usable else usable[0])
        if column not in schema.names:
            hint = nearest(column, schema.names) or f" There are {', '.join(schema.names)}."
            raise ArrivalError(f"the trace {file} has no column {column!r}.{hint}")
        if column not in usable + empty:
            kind = schema.field(column).type
            raise ArrivalError(f"column {column!r} of the trace {file} has the type {kind}, which is not a time")
        return cls(file, column)

    def batches(self) -> Iterator[Times]:
        """Yield the times in seconds after the first one, or raise at the first row that is out of order."""
        first: Any = None
        last, row = 0.0, 0
        with _explained(self.path):
            for piece in _pieces(self.path, self.column):
                values, ticks = self._values(piece, row)
                if len(values) == 0:
                    continue
                if first is None:
                    first = values[0]
                    self._check_first(first, piece.type)
                times = (values - first) / ticks
                self._check_order(times, last, row)
                last, row = float(times[-1]), row + len(times)
                yield from (times[at : at + BATCH] for at in range(0, len(times), BATCH))

    def _values(self, piece: pa.Array, row: int) -> tuple[Any, int]:
        """Return a batch of the column in ticks, and the number of ticks per second."""
        ticks = _ticks(self.column, piece.type)
        for is_bad, what in ((pc.is_null, "nothing"), (_is_nan, "no number")):
            bad = pc.index(is_bad(piece), True).as_py()
            if bad >= 0:
                raise ArrivalError(
                    f"column {self.column!r} of the trace {self.path} has {what} in row {row + bad + 1}"
                )
        if pa.types.is_date32(piece.type):
            piece = piece.cast(pa.timestamp("s"))
        if pa.types.is_time32(piece.type):
            piece = piece.cast(pa.int32())
        exact = not (pa.types.is_floating(piece.type) or pa.types.is_decimal(piece.type))
        return piece.cast(pa.int64() if exact else pa.float64()).to_numpy(zero_copy_only=False), ticks

    def _check_first(self, value: float, kind: pa.DataType) -> None:
        if value < 0 and not pa.types.is_temporal(kind):  # a timestamp may be before 1970
            raise ArrivalError(
                f"column {self.column!r} of the trace {self.path} begins with the negative time {value:g}; "
                "times must be at least 0"
            )

    def _check_order(self, times: Times, last: float, row: int) -> None:
        before = np.concatenate([[last], times[:-1]])
        early = np.flatnonzero(times < before)
        if len(early):
            at = int(early[0])
            raise ArrivalError(
                f"the trace {self.path} is not in order: row {row + at + 1} of column {self.column!r}, at "
                f"{times[at]:g} seconds from the first, comes after one at {before[at]:g}"
            )


def _is_time(kind: pa.DataType) -> bool:
    return any(of_type(kind) for of_type in TIMES)


def _ticks(column: str, kind: pa.DataType) -> int:
    if pa.types.is_date32(kind):
        return UNITS["s"]
    if pa.types.is_date64(kind):
        return UNITS["ms"]
    if pa.types.is_temporal(kind):
        return UNITS[kind.unit]
    return UNITS.get(column.rpartition("_")[2], 1) if "_" in column else 1


def _is_nan(piece: pa.Array) -> pa.Array:
    return pc.invert(pc.is_finite(piece)) if pa.types.is_floating(piece.type) else pc.is_null(piece)


def _is_csv(file: Path) -> bool:
    if file.suffix not in (".parquet", ".csv"):
        raise ArrivalError(f"a trace must be a .parquet or a .csv file, but {file} is neither")
    return file.suffix == ".csv"


def _schema(file: Path) -> pa.Schema:
    if not _is_csv(file):
        return parquet.read_schema(file)
    with csv.open_csv(file) as reader:
        if any(_is_number(name) for name in reader.schema.names):
            raise ArrivalError(f"the first line of the trace {file} must name its columns, but it has numbers")
        return reader.schema


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _pieces(file: Path, column: str) -> Iterator[pa.Array]:
    if _is_csv(file):
        with csv.open_csv(file, convert_options=csv.ConvertOptions(include_columns=[column])) as reader:
            for piece in reader:
                yield piece.column(0)
        return
    with parquet.ParquetFile(file) as reader:
        for piece in reader.iter_batches(batch_size=PIECE, columns=[column]):
            yield piece.column(0)


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Turn Arrow's errors about a file that it cannot read into an `ArrivalError`."""
    try:
        yield
    except (pa.ArrowException, OSError) as trouble:
        raise ArrivalError(f"the trace {file} cannot be read: {str(trouble).splitlines()[0]}") from trouble
