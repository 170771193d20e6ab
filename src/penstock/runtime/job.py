"""`Job`: the units and rows of one job in flight; `Emitted`: results for sinks."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
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
    merged: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)
    """Partial aggregates that the job merges with new ones, by the operator that made them."""
    copies: dict[Edge, list[Edge]] = field(default_factory=dict)
    """Queues that got a copy of another's rows since the job began, because a query was dropped."""

    def onward(self, edge: Edge) -> list[Edge]:
        """Return an edge and its copies."""
        return [edge, *self.copies.get(edge, ())]

    def results_by_unit(self, outcome: Outcome) -> Iterator[tuple[Unit, int, int, int]]:
        """Yield each unit of which results are counted, with its rows, its results and their bytes."""
        rows = {unit.name: self._rows_of(self._entries(unit)) for unit in self.counted}
        if outcome.written is not None:
            for unit in self.counted:
                yield unit, rows[unit.name], round(outcome.written.rows * rows[unit.name] / max(self.rows, 1)), 0
            return
        outputs = {unit.name: self._outputs(unit, outcome) for unit in self.counted}
        sharing: dict[str, int] = defaultdict(int)  # the rows of both streams of a join make the same results
        for unit in self.counted:
            for name in outputs[unit.name]:
                sharing[name] += rows[unit.name]
        for unit in self.counted:
            shares = {name: rows[unit.name] / max(sharing[name], 1) for name in outputs[unit.name]}
            count = sum(share * outcome.rows[name].num_rows for name, share in shares.items())
            size = sum(share * outcome.rows[name].nbytes for name, share in shares.items())
            yield unit, rows[unit.name], round(count), round(size)

    def _entries(self, unit: Unit) -> list[Edge]:
        return [edge for edge in unit.entries if edge in self.taken]

    def _outputs(self, unit: Unit, outcome: Outcome) -> list[str]:
        """Return the operators whose output a unit makes in this job."""
        names = leaving(self.work.plan, self._entries(unit), self.work.through)
        return [name for name in names if name in outcome.rows]

    def _rows_of(self, edges: Iterable[Edge]) -> int:
        return sum(chunk.rows for edge in edges for chunk in self.taken[edge])

    @property
    def files(self) -> Iterator[tuple[str, Segment]]:
        """The files that the job reads, each with its stream."""
        taken = (chunk.place for chunks in self.taken.values() for chunk in chunks)
        probed = (rows for window in self.work.probes.values() for rows in window.stored)
        panes = (rows for closing in self.work.closing.values() for rows in closing.stored)
        for rows in (*taken, *probed, *panes):
            if isinstance(rows, StoredRows):
                for segment in rows.segments:
                    yield rows.batch.stream.name, segment

    @property
    def rows(self) -> int:
        """Rows taken, all entries together."""
        return self._rows_of(self.taken)

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
