"""Input files, prepared in a staging folder and renamed into place: all at once, or each at its time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.bench.stock.workload import BenchWorkload, Columns, EventTimeSpan, StockWorkload
from penstock.workloads import Bursty, until

ROWS_PER_EVENT_SECOND = 2000
"""Rows per second of event time, all streams together, whatever their arrival."""

SLOT_S = 0.5
"""Paced rows are collected into files of this many seconds."""

BEGIN_US = 1_700_000_000_000_000
"""The event time of the first row."""


@dataclass(frozen=True)
class Batch:
    """Input files of one part: renames, each with its due time in seconds after the start, and their contents."""

    moves: tuple[tuple[float, str, str], ...]
    rows: Mapping[str, int]
    sent_us: int
    """What `sent` is in a row that is due at the start. It never falls from one batch to the next, as a join takes
    the later of two, and windows look back into the batches before."""
    newest_us: tuple[int, ...]
    """The newest event time of the stream when each of the renames is done."""
    outputs: int = 0
    """The results that it adds, of all queries together, where they are counted."""


class InputFiles:
    """Makes the files of a case, in order, and keeps their rows.

    Event time goes on by a second with every `rows_per_event_second` rows of all streams together.
    """

    def __init__(
        self,
        workload: BenchWorkload,
        folder: Path,
        seed: int,
        rows_per_event_second: float = ROWS_PER_EVENT_SECOND,
    ) -> None:
        self._workload = workload
        self._rows_per_event_second = rows_per_event_second
        self._folder = folder
        self._random = np.random.default_rng(seed)
        self._names = [stream.name for stream in workload.streams]
        self._files = 0
        self._event_us = BEGIN_US
        self._sent_us = 0
        self._made: dict[str, list[pa.Table]] = {name: [] for name in self._names}
        (folder / "staged").mkdir()
        for name in self._names:
            (folder / "in" / name).mkdir(parents=True)
        workload.store(folder)

    def backlog(self, files: int, rows: int, closing_us: int = 0, closing_rows: int = 1) -> Batch:
        """Make files that are there at once; the streams share the rows of a file.

        With `closing_us`, another file of `closing_rows` follows, whose event times are later by so much.
        """
        batch = self._batch([(0.0, self._shares(rows)) for _ in range(files)])
        if not closing_us:
            return batch
        self._event_us += closing_us
        last = self._batch([(0.0, dict.fromkeys(self._names, closing_rows))])
        return replace(
            batch,
            moves=batch.moves + last.moves,
            rows={name: batch.rows[name] + last.rows[name] for name in self._names},
            newest_us=batch.newest_us + last.newest_us,
            outputs=batch.outputs + last.outputs,
        )

    def bursty(self, rate: float, seconds: float, seed: int) -> Batch:
        """Make files that come as bursty rows do, collected into slots of half a second."""
        slots = round(seconds / SLOT_S)
        edges = np.arange(slots + 1) * SLOT_S
        counts = [
            np.histogram(until(Bursty(rate / len(self._names)), seed + i, seconds), edges)[0]
            for i in range(len(self._names))
        ]
        arrivals = []
        for slot in range(slots):
            # With several streams, each has at least a heartbeat, so that it never holds the others back
            least = 1 if len(self._names) > 1 else 0
            rows = {name: max(int(some[slot]), least) for name, some in zip(self._names, counts, strict=True)}
            arrivals.append((float(edges[slot + 1]), {name: n for name, n in rows.items() if n}))
        return self._batch(arrivals)

    def steady(self, rows: int, every_s: float, seconds: float) -> Batch:
        """Make files of so many rows, one after another at the same distance."""
        return self._batch([(number * every_s, self._shares(rows)) for number in range(round(seconds / every_s))])

    def columns(self) -> dict[str, Columns]:
        """Return everything that was made so far, by stream."""
        return {name: _columns(tables) for name, tables in self._made.items()}

    def _shares(self, rows: int) -> dict[str, int]:
        share = rows // len(self._names)
        return dict.fromkeys(self._names, share)

    def _batch(self, arrivals: list[tuple[float, dict[str, int]]]) -> Batch:
        moves: list[tuple[float, str, str]] = []
        newest: list[int] = []
        rows = dict.fromkeys(self._names, 0)
        for due_s, counts in arrivals:
            length = int(sum(counts.values()) * 1_000_000 // self._rows_per_event_second) + 2
            span = EventTimeSpan(self._event_us, self._event_us + length)
            for name, count in counts.items():
                moves.append((due_s, *self._file(name, count, span, self._sent_us + round(due_s * 1e6))))
                rows[name] += count
                newest.append(span.end - 1)
            self._event_us = span.end
        sent_us = self._sent_us
        self._sent_us += round(max(due_s for due_s, *_ in moves) * 1e6)
        return Batch(tuple(moves), rows, sent_us, tuple(newest))

    def _file(self, stream: str, count: int, span: EventTimeSpan, sent_us: int) -> tuple[str, str]:
        table = self._workload.rows(stream, count, span, sent_us, self._random)
        self._made[stream].append(table)
        self._files += 1
        name = f"{self._files:06d}.parquet"
        staged = self._folder / "staged" / f"{stream}-{name}"
        pq.write_table(table, staged)
        return str(staged), str(self._folder / "in" / stream / name)


class Inputs(InputFiles):
    """Makes the files of a case, and counts the expected results of the queries."""

    def __init__(self, workload: StockWorkload, folder: Path, seed: int) -> None:
        super().__init__(workload, folder, seed)
        self._counted = workload
        self._outputs = 0

    def expected(self) -> dict[str, int]:
        """Return the results of each query, given everything that was made so far."""
        return self._counted.expected(self.columns())

    def _batch(self, arrivals: list[tuple[float, dict[str, int]]]) -> Batch:
        made = super()._batch(arrivals)
        before, self._outputs = self._outputs, sum(self.expected().values())
        return replace(made, outputs=self._outputs - before)


def _columns(tables: list[pa.Table]) -> Columns:
    """Return tables as one, by column, times as whole microseconds."""
    if not tables:
        return {}
    table = pa.concat_tables(tables)
    return {
        name: (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
