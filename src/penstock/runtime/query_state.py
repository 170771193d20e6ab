"""What the engine keeps of a query and of a run, as values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.language.statements import QueryDef
from penstock.network import Edge
from penstock.plan.columns import numbers
from penstock.plan.steps import seq
from penstock.policies import Unit
from penstock.runtime.cost_model import Spread
from penstock.runtime.stream_log import Chunk
from penstock.spark.job import Work

Status = Literal["running", "ending", "ended", "stopped", "failed"]


@dataclass
class QueryState:
    """A query since it was created: the rows it sees, how it fares."""

    definition: QueryDef
    starts: dict[str, int]
    ends: dict[str, int] | None = None
    dropped_before: dict[str, int] = field(default_factory=dict)
    """Rows of each stream that its drop box had dropped when the query began, if any."""
    dropped_until: dict[str, int] | None = None
    """And when it ended."""
    status: Status = "running"
    reason: str = ""
    outputs: int = 0
    response: Spread = field(default_factory=Spread)
    slowdown: Spread = field(default_factory=Spread)

    @property
    def name(self) -> str:
        """The query's name."""
        return self.definition.name

    @property
    def live(self) -> bool:
        """Whether it still makes results."""
        return self.status in ("running", "ending")

    def seen(self, table: pa.Table) -> pa.Table:
        """Return the rows made only of rows that the query sees: from its start, up to its end."""
        streams = [item.relation.name for item in self.definition.streams]
        if self.ends is None and not any(self.starts[name] for name in streams):
            return table
        mask = np.ones(table.num_rows, dtype=bool)
        for place, name in enumerate(streams):
            sequence = numbers(table, seq(place))
            mask &= sequence >= self.starts[name]
            if self.ends is not None:
                mask &= sequence < self.ends[name]
        return table if mask.all() else table.filter(pa.array(mask))


@dataclass(frozen=True, eq=False)
class Job:
    """A unit on its way: what it took, and the work for the job."""

    units: tuple[Unit, ...]
    taken: Mapping[Edge, tuple[Chunk, ...]]
    work: Work
    multiplying: tuple[Unit, ...] = ()
    """The units that can make several results of a row."""
    copies: dict[Edge, list[Edge]] = field(default_factory=dict)
    """Queues that took over what others hold since the run began: a query was dropped meanwhile."""

    def onward(self, edge: Edge) -> list[Edge]:
        """Return the queues that what waits at an edge belongs to by now."""
        return [edge, *self.copies.get(edge, ())]

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
    """Results: of a query, or of a group, whose rows say in a column `query` whose they are."""

    name: str
    rows: pa.Table
    of_group: bool = False
