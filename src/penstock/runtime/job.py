"""`Job`: the units and rows of one job in flight; `Emitted`: results for sinks."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.network import Edge
from penstock.plan.reach import leaving
from penstock.policies import Unit
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.written import WrittenResults
from penstock.runtime.work import Outcome, Work


@dataclass(frozen=True, eq=False)
class Job:
    """A job in flight: its units, the chunks taken from queues, and its work."""

    units: tuple[Unit, ...]
    taken: Mapping[Edge, tuple[Chunk, ...]]
    work: Work
    counted: tuple[Unit, ...] = ()
    """The units whose results are counted, to expect as many of later rows."""
    copies: dict[Edge, list[Edge]] = field(default_factory=dict)
    """Queues that got a copy of another's rows since the job began, because a query was dropped."""

    def onward(self, edge: Edge) -> list[Edge]:
        """Return an edge and its copies."""
        return [edge, *self.copies.get(edge, ())]

    def results_by_unit(self, outcome: Outcome) -> Iterator[tuple[Unit, int, int, int]]:
        """Yield each unit of which results are counted, with its rows, its results and their bytes."""
        for unit in self.counted:
            entries = [edge for edge in unit.entries if edge in self.taken]
            rows = sum(chunk.rows for edge in entries for chunk in self.taken[edge])
            if outcome.written is not None:  # several units write the same output
                yield unit, rows, round(outcome.written.rows * rows / max(self.rows, 1)), 0
                continue
            made = [outcome.rows.get(name) for name in leaving(self.work.plan, entries, self.work.through)]
            tables = [table for table in made if table is not None]
            yield unit, rows, sum(table.num_rows for table in tables), sum(table.nbytes for table in tables)

    @property
    def files(self) -> Iterator[tuple[str, Segment]]:
        """The files that the job reads, each with its stream."""
        taken = (chunk.place for chunks in self.taken.values() for chunk in chunks)
        probed = (rows for window in self.work.probes.values() for rows in window.stored)
        for rows in (*taken, *probed):
            if isinstance(rows, StoredRows):
                for segment in rows.segments:
                    yield rows.batch.stream.name, segment

    @property
    def rows(self) -> int:
        """Rows taken, all entries together."""
        return sum(chunk.rows for chunks in self.taken.values() for chunk in chunks)

    @property
    def first_time(self) -> float:
        """The earliest time of a row taken."""
        return min((chunk.first_time for chunks in self.taken.values() for chunk in chunks), default=math.inf)


@dataclass(frozen=True)
class Emitted:
    """Results of a query, or of a group, whose rows have the query's name in the column `__query`."""

    name: str
    rows: pa.Table
    of_group: bool = False
    written: WrittenResults | None = None
    """The files that hold the results, if executors wrote them; then `rows` has none."""
