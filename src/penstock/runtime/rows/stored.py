"""`StoredRows`: rows in segments. Queues, logs and windows work on their numbers; executors read them by path."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.plan.columns import Micros, stamped, typed
from penstock.plan.steps import ARRIVAL, TIME, seq
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.stored_batch import Span, StoredBatch

Flags = NDArray[np.bool_]

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Consecutive rows of a batch, by position: from `first` up to `end`."""

    batch: StoredBatch
    first: int
    end: int

    @classmethod
    def of(cls, batch: StoredBatch) -> "StoredRows":
        """Return all rows of a batch."""
        return cls(batch, 0, batch.rows)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.end - self.first

    @property
    def bytes(self) -> int:
        """Their bytes in memory, if they were there."""
        return int(self.rows * self.batch.bytes_per_row)

    @cached_property
    def _bounds(self) -> tuple[int, int]:
        return self.batch.index.bounds(self.first, self.end)

    @property
    def first_time(self) -> int:
        """A lower bound of the earliest time; it is exact for whole blocks."""
        return self._bounds[0]

    @property
    def last_time(self) -> int:
        """An upper bound of the latest time; it is exact for whole blocks."""
        return self._bounds[1]

    @property
    def arrival(self) -> int:
        """The arrival of the row that has waited longest."""
        return self.batch.arrival_us

    @property
    def mean_arrival(self) -> float:
        """When the rows arrived, on average."""
        return self.batch.mean_arrival or float(self.batch.arrival_us)

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The rows, file by file."""
        return tuple(self.batch.spans(self.first, self.end))

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The files that hold the rows."""
        return tuple(span.file.segment for span in self.spans)

    @property
    def first_sequence(self) -> int:
        """The sequence number of the first row, or a smaller one of the same batch."""
        span = self.spans[0]
        return span.file.segment.base + (0 if span.file.segment.numbered else span.first)

    @property
    def end_sequence(self) -> int:
        """A number after the sequence number of the last row, and not after that of a row of a later batch."""
        span = self.spans[-1]
        segment = span.file.segment
        return segment.last_sequence + 1 if segment.numbered else segment.base + span.end

    def cut(self, rows: int) -> tuple["StoredRows", "StoredRows"]:
        """Return the first rows and the rest."""
        middle = self.first + rows
        return StoredRows(self.batch, self.first, middle), StoredRows(self.batch, middle, self.end)

    def ready(self, bound: float) -> int:
        """Return how many rows precede the first with a time above the bound."""
        index = self.batch.index
        if self.last_time <= bound:
            return self.rows
        if index.is_constant:
            return 0
        here = index.blocks(self.first, self.end)
        block = here.start + int(np.argmax(index.highs[here] > bound))
        while block < here.stop:  # the rows of the first block above the bound may be cut off or before the first
            low, high = max(block * index.block_rows, self.first), min((block + 1) * index.block_rows, self.end)
            if index.lows[block] > bound:
                return int(low) - self.first
            above = self._times(low, high) > bound
            if above.any():
                return int(low + np.argmax(above)) - self.first
            later = index.highs[block + 1 : here.stop] > bound
            if not later.any():
                break
            block += 1 + int(np.argmax(later))
        return self.rows

    def between(self, low: float, high: float) -> tuple[Micros, Micros]:
        """Return times and sequence numbers of the rows with a time from `low` to `high`, in their order."""
        index = self.batch.index
        if index.is_constant:
            some = low <= index.lows[0] <= high
            all_of_it = self._sequences(self.first, self.end) if some else _NONE
            return np.full(len(all_of_it), index.lows[0]), all_of_it
        here = index.blocks(self.first, self.end)
        meets = (index.lows[here] <= high) & (index.highs[here] >= low)
        times, numbers = [_NONE], [_NONE]
        for first, end in _runs(meets):
            start = max((here.start + first) * index.block_rows, self.first)
            stop = min((here.start + end) * index.block_rows, self.end)
            found = self._times(start, stop)
            inside = (found >= low) & (found <= high)
            times.append(found[inside])
            numbers.append(self._sequences(start, stop)[inside])
        return np.concatenate(times), np.concatenate(numbers)

    def near(self, low: float, high: float) -> "StoredRows | None":
        """Return the rows of the files that may hold times from `low` to `high`; None if there are none.

        Files are not cut: executors read a part of a file no faster than all of it.
        """
        index = self.batch.index
        here = index.blocks(self.first, self.end)
        meets = np.flatnonzero((index.lows[here] <= high) & (index.highs[here] >= low))
        if not len(meets):
            return None
        if index.is_constant:
            return self
        first = max((here.start + int(meets[0])) * index.block_rows, self.first)
        last = min((here.start + int(meets[-1]) + 1) * index.block_rows, self.end) - 1
        starts = np.concatenate([[0], self.batch.ends])
        begin = int(starts[np.searchsorted(starts, first, side="right") - 1])
        stop = int(starts[np.searchsorted(starts, last, side="right")])
        return StoredRows(self.batch, max(begin, self.first), min(stop, self.end))

    def count_below(self, time: float) -> int:
        """Return how many rows have a time below this."""
        below, partly, starts, stops = self._blocks_below(time)
        count = int((stops - starts)[below].sum())
        for start, stop in zip(starts[partly].tolist(), stops[partly].tolist(), strict=True):
            count += int((self._times(start, stop) < time).sum())
        return count

    def count_bounds(self, time: float) -> tuple[int, int]:
        """Return how many rows have a time below this, by the index: at least, and at most."""
        below, partly, starts, stops = self._blocks_below(time)
        least = int((stops - starts)[below].sum())
        return least, least + int((stops - starts)[partly].sum())

    def _blocks_below(self, time: float) -> tuple[Flags, Flags, Micros, Micros]:
        """Return which blocks are below a time, which partly, and where the rows of each begin and end."""
        index = self.batch.index
        if index.is_constant:
            below = index.highs < time
            return below, np.zeros(1, dtype=bool), np.array([self.first]), np.array([self.end])
        here = index.blocks(self.first, self.end)
        below = index.highs[here] < time
        partly = ~below & (index.lows[here] < time)
        places = np.arange(here.start, here.stop + 1) * index.block_rows
        return below, partly, np.maximum(places[:-1], self.first), np.minimum(places[1:], self.end)

    def _times(self, first: int, end: int) -> Micros:
        """Read the times of rows, by position."""
        index = self.batch.index
        if index.is_constant:
            return np.full(end - first, index.lows[0])
        parts = []
        for span, places in self._places(first, end):
            read = [each for _, each, _ in span.file.segment.times(int(places[0]), int(places[-1]) + 1)]
            parts.append(np.concatenate(read)[places - places[0]])
        return np.concatenate(parts)

    def _sequences(self, first: int, end: int) -> Micros:
        """Return the sequence numbers of rows, by position."""
        parts = [_NONE]
        for span, places in self._places(first, end):
            segment = span.file.segment
            if segment.numbered:
                parts.append(np.asarray(segment.read(places, [seq(0)]).column(0).to_numpy(), np.int64))
            else:
                parts.append(segment.base + places)
        return np.concatenate(parts)

    def _places(self, first: int, end: int) -> Iterator[tuple[Span, Micros]]:
        for span in self.batch.spans(first, end):
            places = np.arange(span.first, span.end, dtype=np.int64)
            if span.rows < len(places):
                whole = span.file.places(self.batch.stream.name)
                places = whole[(whole >= span.first) & (whole < span.end)]
            yield span, places

    def table(self) -> pa.Table:
        """Read the rows into memory, with the hidden columns: for small numbers of rows."""
        columns = self.batch.stream.columns
        tables = []
        for span, places in self._places(self.first, self.end):
            segment = span.file.segment
            names = [self.batch.names[column.name] for column in columns]
            hidden = [seq(0), TIME, ARRIVAL] if segment.numbered else []
            rows = segment.read(places, [*names, *hidden])
            table = pa.table([rows.column(name) for name in names], [column.name for column in columns])
            table = typed(table, columns)
            if segment.numbered:
                for name in hidden:
                    table = table.append_column(name, rows.column(name).cast(pa.int64()))
            else:
                start = int(self.batch.ends[self.batch.files.index(span.file)]) - span.file.kept
                position = start + int(np.searchsorted(span.file.places(self.batch.stream.name), places[0]))
                times = self._times(position, position + len(places))
                table = stamped(table, segment.base + places, times, np.full(len(places), self.arrival))
            tables.append(table)
        return pa.concat_tables(tables)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Read those of these columns that the files have, of all rows of files that Penstock wrote."""
        tables = [pq.ParquetFile(segment.path) for segment in self.segments]
        return pa.concat_tables(
            [file.read([name for name in names if name in file.schema_arrow.names]) for file in tables]
        )

    @cached_property
    def sample_rows(self) -> pa.Table:
        """Some of the newest rows, with the declared columns."""
        return self._sample(20_000)

    def _sample(self, count: int) -> pa.Table:
        columns = self.batch.stream.columns
        segment = self.spans[-1].file.segment
        rows = segment.sample(count, list({self.batch.names[column.name]: None for column in columns}))
        named = pa.table(
            [rows.column(self.batch.names[column.name]) for column in columns], [column.name for column in columns]
        )
        return typed(named, columns)

    def without(self, lost: Set[Segment]) -> list["StoredRows"]:
        """Return the rows that are not in these files, as runs of consecutive rows."""
        found: list[StoredRows] = []
        start = 0
        for file, stop in zip(self.batch.files, self.batch.ends.tolist(), strict=True):
            low, high = max(self.first, start), min(self.end, stop)
            if low < high and file.segment not in lost:
                if found and found[-1].end == low:
                    low = found.pop().first
                found.append(StoredRows(self.batch, low, high))
            start = stop
        return found

    def minus(self, others: Iterable["StoredRows"]) -> list["StoredRows"]:
        """Return the rows that are not among others, as runs of consecutive rows."""
        found: list[StoredRows] = []
        start = self.first
        for other in sorted((each for each in others if each.batch is self.batch), key=lambda each: each.first):
            if start < min(other.first, self.end):
                found.append(StoredRows(self.batch, start, min(other.first, self.end)))
            start = max(start, other.end)
        if start < self.end:
            found.append(StoredRows(self.batch, start, self.end))
        return found


def _runs(flags: Flags) -> Iterator[tuple[int, int]]:
    """Yield the runs of true flags, each as its first place and the place after its last.

    >>> list(_runs(np.array([True, True, False, True])))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
