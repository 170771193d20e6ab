"""Rows that wait: pieces, queues of them, and the log of a stream that windows look back into."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.language.statements import StreamDef, WindowDef
from penstock.plan.columns import Micros, arrow_type, numbers
from penstock.plan.steps import ARRIVAL, TIME, seq
from penstock.shedding.drop_box import DropBox

EXPIRES = "__x"
"""The time from which a row is outside a row window: that of the row n later in its stream."""


@dataclass(frozen=True)
class Chunk:
    """Rows that came together; `number` says in which order pieces came."""

    table: pa.Table
    number: int

    @cached_property
    def times(self) -> Micros:
        """The times of the rows, in microseconds."""
        return numbers(self.table, TIME)

    @cached_property
    def first_time(self) -> int:
        """The earliest time."""
        return int(self.times.min())

    @cached_property
    def last_time(self) -> int:
        """The latest time."""
        return int(self.times.max())

    @cached_property
    def arrival(self) -> int:
        """When the row that has waited longest arrived."""
        return int(numbers(self.table, ARRIVAL).min())

    @cached_property
    def mean_arrival(self) -> float:
        """When the rows arrived, on average."""
        return float(numbers(self.table, ARRIVAL).mean())

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    @cached_property
    def bytes(self) -> int:
        """What they take."""
        return int(self.table.nbytes)

    def ready(self, bound: float) -> int:
        """Return how many rows stand before the first whose time is above the bound."""
        if self.last_time <= bound:
            return self.rows
        return int(np.argmax(self.times > bound))

    def cut(self, rows: int) -> tuple["Chunk", "Chunk"]:
        """Return the first rows and the rest."""
        return Chunk(self.table.slice(0, rows), self.number), Chunk(self.table.slice(rows), self.number)


@dataclass
class Queue:
    """What waits at an edge of the network, oldest first."""

    chunks: deque[Chunk] = field(default_factory=deque)
    rows: int = 0
    bytes: int = 0

    def put(self, chunk: Chunk) -> None:
        """Add rows at the end."""
        if chunk.rows:
            self.chunks.append(chunk)
            self.rows += chunk.rows
            self.bytes += chunk.bytes

    def put_back(self, chunks: Iterable[Chunk]) -> None:
        """Return rows to the front, in their order."""
        for chunk in reversed(list(chunks)):
            self.chunks.appendleft(chunk)
            self.rows += chunk.rows
            self.bytes += chunk.bytes

    def copy(self) -> "Queue":
        """Return a queue that holds the same."""
        return Queue(deque(self.chunks), self.rows, self.bytes)

    def ready(self, bound: float) -> int:
        """Return how many rows stand before the first whose time is above the bound."""
        if bound == math.inf:
            return self.rows
        count = 0
        for chunk in self.chunks:
            some = chunk.ready(bound)
            count += some
            if some < chunk.rows:
                break
        return count

    def take(self, bound: float, most: int) -> list[Chunk]:
        """Remove and return the rows before the first above the bound, at most so many."""
        taken: list[Chunk] = []
        left = most
        while self.chunks and left > 0:
            chunk = self.chunks[0]
            some = min(chunk.ready(bound), left)
            if some == 0:
                break
            self.chunks.popleft()
            self.rows -= chunk.rows
            self.bytes -= chunk.bytes
            if some < chunk.rows:
                first, rest = chunk.cut(some)
                taken.append(first)
                self.put_back([rest])
                break
            taken.append(chunk)
            left -= some
        return taken

    @property
    def first_time(self) -> float:
        """The earliest time of a row that waits."""
        return min((chunk.first_time for chunk in self.chunks), default=math.inf)


@dataclass
class StreamLog:
    """A stream so far: where it stands, and the rows that windows still need."""

    definition: StreamDef
    chunks: list[Chunk] = field(default_factory=list)
    next_sequence: int = 0
    newest: int | None = None
    """The latest time of any row so far."""
    oldest: int | None = None
    """The earliest."""
    source_watermark: int | None = None
    """Where the source itself says that no earlier row will come: generated streams, by the clock."""
    ended: bool = False

    @cached_property
    def box(self) -> DropBox:
        """What is kept of the stream: only that comes to queues and windows."""
        return DropBox(self.definition.name)

    @property
    def watermark(self) -> float:
        """No later row will have a time at or before this."""
        if self.ended:
            return math.inf
        known = -math.inf if self.source_watermark is None else self.source_watermark
        if self.newest is None or self.source_watermark is not None:
            return known
        return self.newest - self.definition.lateness_us - 1

    @property
    def span_s(self) -> float:
        """How much of its time a stream has covered, in seconds."""
        return 0.0 if self.newest is None or self.oldest is None else (self.newest - self.oldest) / 1e6

    @property
    def bytes(self) -> int:
        """What the rows kept for windows take."""
        return sum(chunk.bytes for chunk in self.chunks)

    @property
    def rows(self) -> int:
        """Rows kept for windows."""
        return sum(chunk.rows for chunk in self.chunks)

    def window(
        self,
        window: WindowDef,
        low: int,
        high: int,
        columns: Iterable[str],
        start: int = 0,
        end: int | None = None,
        keys: Mapping[str, pa.ChunkedArray] | None = None,
    ) -> pa.Table:
        """Return the rows that a row with a time between `low` and `high` can find in the window.

        They carry the column ``__x`` if it is a row window. Rows before number `start` and from `end` on do
        not exist. Rows without one of the values that `keys` have for a column are left out.
        """
        back = low - window.size if window.kind == "range" else -math.inf
        chunks = [chunk for chunk in self.chunks if chunk.last_time >= back]
        if not chunks:
            return self._with_expiry(self.empty(columns), window, np.empty(0, np.int64), 0, 0)
        names = [*columns, seq(0), TIME, ARRIVAL]
        table = pa.concat_tables([chunk.table.select(names) for chunk in chunks])
        sequence = numbers(table, seq(0))
        if sequence[0] < start or (end is not None and sequence[-1] >= end):
            seen = (sequence >= start) & (True if end is None else sequence < end)
            table = table.filter(pa.array(seen))
        times = numbers(table, TIME)
        if self.definition.lateness_us:
            order = np.lexsort((numbers(table, seq(0)), times))
            table, times = table.take(pa.array(order)), times[order]
        stop = int(np.searchsorted(times, high, side="right"))
        if window.kind == "range":
            first = int(np.searchsorted(times, back, side="left"))
        else:
            first = max(0, int(np.searchsorted(times, low, side="left")) - window.size)
        return matching(self._with_expiry(table, window, times, first, stop), keys or {})

    def empty(self, columns: Iterable[str]) -> pa.Table:
        """Return no rows, with these columns of the stream and Penstock's own."""
        types = {column.name: arrow_type(column.type.name) for column in self.definition.columns}
        names = [*columns, seq(0), TIME, ARRIVAL]
        return pa.schema([pa.field(name, types.get(name, pa.int64())) for name in names]).empty_table()

    @staticmethod
    def _with_expiry(table: pa.Table, window: WindowDef, times: Micros, first: int, stop: int) -> pa.Table:
        found = table.slice(first, max(stop - first, 0))
        if window.kind == "range":
            return found
        later = times[first + window.size : stop + window.size]
        missing = found.num_rows - len(later)
        expires = pa.concat_arrays([pa.array(later, pa.int64()), pa.nulls(missing, pa.int64())])
        return found.append_column(EXPIRES, expires)

    def needed_from(self, window: WindowDef, low: float) -> int:
        """Return how many of the oldest pieces no row with a time of `low` or later can find in the window."""
        if low == math.inf:
            return len(self.chunks)
        lasts = np.array([chunk.last_time for chunk in self.chunks])
        if window.kind == "range":
            passed = lasts < low - window.size
        else:
            # A piece is pushed out by rows later than its last and before whoever can still come to probe
            times = np.concatenate([chunk.times for chunk in self.chunks])
            if self.definition.lateness_us:
                times.sort()
            before = np.searchsorted(times, low, side="left")
            passed = before - np.searchsorted(times, lasts, side="right") >= window.size
        return len(passed) if passed.all() else int(np.argmin(passed))


def matching(table: pa.Table, keys: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return the rows whose columns hold one of the values given for them; NULL is equal to nothing."""
    for name, values in keys.items():
        column = table.column(name)
        if column.type != values.type:
            if not (pa.types.is_integer(column.type) and pa.types.is_integer(values.type)):
                continue
            column, values = column.cast(pa.int64()), values.cast(pa.int64())
        known = pc.drop_null(pc.unique(values))
        table = table.filter(pc.is_in(column, value_set=known))
    return table
