"""`StreamLog`: a stream so far. It has the watermark, the drop box, and the chunks that windows still need."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.language.statements import StreamDef, WindowDef
from penstock.plan.columns import Micros, arrow_type, numbers
from penstock.plan.steps import ARRIVAL, TIME, seq
from penstock.runtime.admission import Admitted
from penstock.runtime.chunk import Chunk, Place
from penstock.runtime.lateness import watermark_of
from penstock.runtime.row_times import RowTimes
from penstock.runtime.rows.job_input import WindowRows
from penstock.runtime.rows.row_window import EXPIRES, row_window, stored_near
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.window_cache import WindowCache
from penstock.shedding.drop_box import DropBox

MOST_WATERMARKS = 10_000
"""Watermarks of which a stream remembers when they were reached."""


@dataclass
class StreamLog:
    """A stream so far: its sequence numbers, times and watermark, and the chunks that windows still need."""

    definition: StreamDef
    chunks: list[Chunk] = field(default_factory=list)
    next_sequence: int = 0
    newest: int | None = None
    """The latest time of any row so far."""
    oldest: int | None = None
    """The earliest."""
    source_watermark: int | None = None
    """The watermark by the source itself, if it knows one: generated streams do, by the clock."""
    ended: bool = False
    continues: bool = False
    """Whether a later run may continue a stream that has ended: its windows are kept for that."""
    _newest_counted: int | None = None
    """The time of the newest row that was kept."""
    _cache: WindowCache = field(default_factory=WindowCache)
    kept: int = 0
    """Rows that were kept so far."""
    row_times: RowTimes | None = None
    """The times of rows, if windows of rows need them."""
    _passed: list[tuple[float, int]] = field(default_factory=list)
    """Recent watermarks, each with the time when it was reached."""

    @cached_property
    def box(self) -> DropBox:
        """The drop box: only what it keeps reaches queues and windows."""
        return DropBox(self.definition.name)

    @property
    def keep(self) -> float:
        """The share of rows that the drop box keeps now."""
        return self.box.keep

    @property
    def watermark(self) -> float:
        """No later row will have a time at or before this."""
        return math.inf if self.ended else self.lasting_watermark

    @property
    def lasting_watermark(self) -> float:
        """The watermark as if the stream had not ended."""
        known = -math.inf if self.source_watermark is None else self.source_watermark
        if self.newest is None or self.source_watermark is not None:
            return known
        return watermark_of(self.newest, self.definition.lateness_us)

    def place(self, rows: Place) -> int:
        """Count admitted rows, before `advance` is told of them all; return the position of the first."""
        position = self.kept
        if self.row_times is not None:
            self.row_times.add(rows, position, self._newest_counted)
        self._newest_counted = rows.last_time
        self.kept += rows.rows
        return position

    def count_by(self, pane: int) -> None:
        """Keep the times of rows from now on, where panes of so many rows begin and end."""
        if self.row_times is None:
            self.row_times = RowTimes(pane, self.kept)
        self.row_times.pane = gcd(self.row_times.pane, pane)

    def restore_row_times(
        self, pane: int, first_newest: int, positions: Sequence[int], times: Sequence[int]
    ) -> None:
        """Continue with the times of rows of an earlier process."""
        self.row_times = RowTimes(pane, first_newest, list(positions), list(times), len(positions))
        self._newest_counted = self.newest

    @property
    def counted(self) -> int:
        """How many rows have a time that the watermark has reached; their times must be kept."""
        assert self.row_times is not None
        return self.row_times.until(self.watermark, self._newest_counted, self.kept)

    def refuse_before(self, time: int) -> None:
        """Let rows from before a time be late, if any can still come: their windows have closed."""
        if self.continues or not self.ended:
            self.newest = max(self.newest or time, time + self.definition.lateness_us)

    def notice_watermark(self, now_us: int) -> None:
        """Remember when the watermark was reached, if it has moved."""
        if not self._passed or self.watermark > self._passed[-1][0]:
            self._passed.append((self.watermark, now_us))
            del self._passed[:-MOST_WATERMARKS]

    def passed_at(self, times: Micros) -> Micros:
        """Return when the watermark reached each of these times, as far as that is remembered."""
        watermarks = np.array([watermark for watermark, _ in self._passed])
        when = np.array([now_us for _, now_us in self._passed], dtype=np.int64)
        return when[np.minimum(np.searchsorted(watermarks, times), len(when) - 1)]

    def advance(self, passed: Admitted) -> None:
        """Take the sequence number, the newest time and the dropped rows after an admission."""
        self.next_sequence, self.newest = passed.next_sequence, passed.newest
        self.box.dropped += passed.dropped
        if self.oldest is None and passed.kept is not None:
            self.oldest = passed.kept.first_time

    @property
    def span_s(self) -> float:
        """Seconds between the earliest and the latest time so far."""
        return 0.0 if self.newest is None or self.oldest is None else (self.newest - self.oldest) / 1e6

    @property
    def bytes(self) -> int:
        """Bytes of the rows held for windows."""
        return sum(chunk.bytes for chunk in self.chunks)

    @property
    def rows(self) -> int:
        """Rows held for windows."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def held_span_s(self) -> float:
        """The time between the earliest and the latest row held for windows, in seconds."""
        if not self.chunks:
            return 0.0
        first = min(chunk.first_time for chunk in self.chunks)
        return (max(chunk.last_time for chunk in self.chunks) - first) / 1e6

    @property
    def held_share(self) -> float:
        """The share that the drop box kept of the rows among which the held ones are."""
        if not self.chunks:
            return self.box.keep
        return self.box.mean(self.chunks[0].place.first_sequence, self.chunks[-1].place.end_sequence)

    def newest_rows(self, count: int) -> pa.Table | None:
        """Return the newest rows held for windows, at most so many; None if there are none."""
        newest: list[pa.Table] = []
        missing = count
        for chunk in reversed(self.chunks):
            if missing <= 0:
                break
            rows = chunk.place.sample_rows if isinstance(chunk.place, StoredRows) else chunk.table
            newest.append(rows.select(self._names).slice(max(rows.num_rows - missing, 0)))
            missing -= rows.num_rows
        return pa.concat_tables(newest) if newest else None

    @cached_property
    def _names(self) -> list[str]:
        return [column.name for column in self.definition.columns]

    def window(
        self,
        window: WindowDef,
        low: int,
        high: int,
        columns: Iterable[str],
        start: int = 0,
        end: int | None = None,
        keys: Mapping[str, pa.ChunkedArray] | None = None,
    ) -> WindowRows:
        """Return the rows that a row with a time between `low` and `high` can find in the window.

        They carry the column ``__x`` if it is a row window. Rows before number `start` and from `end` on do
        not exist. Resident rows without one of the values that `keys` have for a column are left out. With such
        keys, rows of not too large files are resident, too.
        """
        back = low - window.size if window.kind == "range" else -math.inf
        chunks = [chunk for chunk in self.chunks if chunk.last_time >= back]
        if keys:
            chunks = self._cache.resident(chunks, self.chunks)
        if window.kind == "rows" and any(chunk.is_stored for chunk in chunks):
            return row_window(self, chunks, window.size, low, high, columns, start, end)
        resident = [chunk for chunk in chunks if not chunk.is_stored]
        table = matching(self._resident(window, resident, low, high, columns, start, end), keys or {})
        stored = stored_near(chunks, back, high)
        return WindowRows(table, stored, int(back) if stored else None, 0, high, start, end)

    def _resident(
        self,
        window: WindowDef,
        chunks: list[Chunk],
        low: int,
        high: int,
        columns: Iterable[str],
        start: int,
        end: int | None,
    ) -> pa.Table:
        """Return the resident rows of a window; of a row window, all rows are resident."""
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
            first = int(np.searchsorted(times, low - window.size, side="left"))
        else:
            first = max(0, int(np.searchsorted(times, low, side="left")) - window.size)
        return self._with_expiry(table, window, times, first, stop)

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
        """Return how many of the oldest chunks no row with a time of `low` or later can find in the window."""
        if low == math.inf:
            return len(self.chunks)
        lasts = np.array([chunk.last_time for chunk in self.chunks])
        if window.kind == "range":
            passed = lasts < low - window.size
        elif any(chunk.is_stored for chunk in self.chunks):
            # The same as below by the times of chunks alone: some chunks stay longer than they must
            firsts = np.array([chunk.first_time for chunk in self.chunks])
            counts = np.array([chunk.rows for chunk in self.chunks])
            after = np.array([counts[firsts <= last].sum() for last in lasts])
            passed = counts[lasts < low].sum() - after >= window.size
        else:
            # A chunk is pushed out by rows after its last one and before any row that may still probe
            times = np.concatenate([numbers(chunk.table, TIME) for chunk in self.chunks])
            if self.definition.lateness_us:
                times.sort()
            before = np.searchsorted(times, low, side="left")
            passed = before - np.searchsorted(times, lasts, side="right") >= window.size
        return len(passed) if passed.all() else int(np.argmin(passed))


def matching(table: pa.Table, keys: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return the rows whose columns have one of the given values; NULL equals nothing."""
    for name, values in keys.items():
        column = table.column(name)
        if column.type != values.type:
            if not (pa.types.is_integer(column.type) and pa.types.is_integer(values.type)):
                continue
            column, values = column.cast(pa.int64()), values.cast(pa.int64())
        known = pc.drop_null(pc.unique(values))
        table = table.filter(pc.is_in(column, value_set=known))
    return table
