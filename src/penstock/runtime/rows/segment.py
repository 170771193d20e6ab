"""`Segment`: a parquet file that executors read by path, and what the driver reads of it."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as attribute
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.plan.columns import Micros
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.runtime.rows.recent_times import RecentTimes

SEGMENT_CODEC = "snappy"
"""Compression of segments. Not LZ4: Spark fails on dictionaries of more than 8 KB (parquet-java issue 3478)."""
_FOOTER_BYTES = 4096
"""Bytes at the end of a file that are part of its stamp: counts and statistics are there."""
_BATCH_ROWS = 64 * 1024


@dataclass(frozen=True)
class FileStamp:
    """What a file looked like when it was admitted. Spark would silently read another file of the same name."""

    size: int
    written_ns: int
    inode: int
    footer: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        """Return the stamp of a file as it is now; raise OSError if it is gone."""
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            file.seek(max(status.st_size - _FOOTER_BYTES, 0))
            footer = crc32(file.read())
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, footer)


class LostSegmentError(Exception):
    """A file cannot be read any more."""

    def __init__(self, segment: "Segment", reason: str) -> None:
        super().__init__(reason)
        self.segment = segment


@dataclass(frozen=True, eq=False)
class Segment:
    """A parquet file with rows of a stream.

    Row i of the file has the sequence number `base` + i. A file that Penstock wrote of admitted rows is
    `numbered`: its rows have their sequence numbers, times and arrivals in the hidden columns.
    """

    path: Path
    rows: int
    bytes: int
    """Bytes of its rows in memory, as the footer tells."""
    stamp: FileStamp
    time_column: str | None = None
    """The column of the file with the rows' times; None if all rows have the time of their arrival."""
    base: int = 0
    stream: str = ""
    has_bad: bool = False
    """Whether it holds malformed rows, marked in the column ``__bad``."""
    numbered: bool = False
    owned: bool = False
    """Whether Penstock wrote the file for this run, and removes it when nothing needs it any more."""
    last_sequence: int = 0
    """Of a numbered file: the sequence number of its last row."""

    def trouble(self) -> str | None:
        """Return what has happened to the file since it was admitted; None if it is unchanged."""
        try:
            return None if FileStamp.of(self.path) == self.stamp else "has changed since it was admitted"
        except FileNotFoundError:
            return "has vanished since it was admitted"
        except OSError as error:
            return f"cannot be read any more: {error.strerror or error}"

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise LostSegmentError(self, str(error).partition("\n")[0]) from error

    def times(self, first: int = 0, end: int | None = None) -> Iterator[tuple[int, Micros, NDArray[np.bool_]]]:
        """Yield the times of rows in microseconds, in batches: the first row, times, and which are known."""
        assert self.time_column is not None
        end = self.rows if end is None else end
        recent = _RECENT.find(self, first, end)
        if recent is not None:
            yield recent
            return
        with self._reading(), pq.ParquetFile(self.path) as file:
            for start, group in _groups(file, first, end):
                place = start
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=[group], columns=[self.time_column]):
                    if place >= end:
                        break
                    TRAFFIC.add(read=_value_bytes(batch.column(0)))
                    if place + batch.num_rows > first:
                        times, known = _micros(batch.column(0))
                        _RECENT.add(self, (place, times, known))
                        some = slice(max(first - place, 0), end - place)
                        yield max(first, place), times[some], known[some]
                    place += batch.num_rows

    def read(self, places: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        """Return rows of the file by their places, which are sorted; other row groups are not read."""
        tables = []
        with self._reading(), pq.ParquetFile(self.path) as file:
            for start, group in _groups(file, 0, self.rows):
                count = file.metadata.row_group(group).num_rows
                here = places[np.searchsorted(places, start) : np.searchsorted(places, start + count)]
                if len(here):
                    rows = file.read_row_group(group, columns=list(dict.fromkeys(columns)))
                    TRAFFIC.add(read=rows.nbytes)
                    tables.append(_in_micros(rows.take(pa.array(here - start))))
            schema = file.schema_arrow
        if tables:
            return pa.concat_tables(tables)
        return pa.schema([schema.field(name) for name in dict.fromkeys(columns)]).empty_table()

    def places_with(self, name: str) -> NDArray[np.int64]:
        """Return the places of rows with a value in a column; row groups known to have none are not read."""
        places = [np.empty(0, np.int64)]
        with self._reading(), pq.ParquetFile(self.path) as file:
            for start, group in _groups(file, 0, self.rows):
                about = statistics_of(file.metadata, group, name)
                count = file.metadata.row_group(group).num_rows
                if about is not None and about.has_null_count and about.null_count == count:
                    continue
                values = file.read_row_group(group, columns=[name]).column(name)
                TRAFFIC.add(read=values.nbytes)
                places.append(start + np.flatnonzero(pc.is_valid(values).to_numpy()))
        return np.concatenate(places)

    def sample(self, count: int, columns: Sequence[str]) -> pa.Table:
        """Return some of the newest rows: the first ones of the last row group that has any."""
        with self._reading(), pq.ParquetFile(self.path) as file:
            groups = [group for _, group in _groups(file, 0, self.rows)]
            if not groups:
                raise LostSegmentError(self, "it has no rows any more")
            batch = next(file.iter_batches(count, row_groups=groups[-1:], columns=list(columns)))
        TRAFFIC.add(read=batch.nbytes)
        return _in_micros(pa.Table.from_batches([batch]))


_RECENT = RecentTimes[Segment]()


@dataclass(frozen=True)
class ArrivedFiles:
    """Files whose rows arrived together, in the order of their rows."""

    segments: tuple[Segment, ...]
    arrival_us: int
    names: dict[str, str] = attribute(default_factory=dict)
    """The column of the files for each declared column."""


def statistics_of(metadata: pq.FileMetaData, group: int, name: str) -> pq.Statistics | None:
    """Return the statistics of a top-level column in a row group, or None."""
    chunks = metadata.row_group(group)
    found = (chunks.column(place) for place in range(chunks.num_columns))
    return next((chunk.statistics for chunk in found if chunk.path_in_schema == name), None)


def _groups(file: pq.ParquetFile, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the row groups that hold rows from `first` up to `end`, each with its first row."""
    start = 0
    for group in range(file.metadata.num_row_groups):
        count = file.metadata.row_group(group).num_rows
        if start < end and start + count > first:
            yield start, group
        start += count


def _in_micros(rows: pa.Table) -> pa.Table:
    """Return rows with times in microseconds, rounded down as Spark rounds them."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            floored = pc.floor_temporal(rows.column(place), unit="microsecond")
            rows = rows.set_column(place, field.name, floored.cast(pa.timestamp("us", field.type.tz), safe=False))
    return rows


def _value_bytes(column: pa.Array) -> int:
    """Return the bytes of values, without the bits that Arrow has for them even where none is NULL."""
    return int(column.nbytes) - (0 if column.null_count else -(-len(column) // 8))


def _micros(column: pa.Array) -> tuple[Micros, NDArray[np.bool_]]:
    known = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False), dtype=bool)
    if pa.types.is_timestamp(column.type):
        if column.type.unit == "ns":  # times before 1970 are rounded down, too
            column = pc.floor_temporal(column, unit="microsecond")
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    filled = column.fill_null(0) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64), known
