"""`QueryState`: a query since it was created, and the rows it sees."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.language.statements import QueryDef
from penstock.plan.columns import numbers
from penstock.plan.derived import Starts
from penstock.plan.steps import seq

_ALL = (None, None)
Status = Literal["running", "ending", "ended", "stopped", "failed"]


@dataclass
class QueryState:
    """A query since it was created. It sees rows from `starts` up to `ends`, without the latter."""

    definition: QueryDef
    starts: dict[str, int]
    since: Starts = field(default_factory=Starts)
    """Where it began, and the derived streams that began with it."""
    ends: dict[str, int] | None = None
    dropped_before: dict[str, int] = field(default_factory=dict)
    """Rows of each stream that drop boxes had dropped when the query began."""
    dropped_until: dict[str, int] | None = None
    """The same when it ended."""
    status: Status = "running"
    reason: str = ""
    end_window: int | None = None
    """Once it was dropped: windows that begin at this or later have no results."""

    @property
    def name(self) -> str:
        """The query's name."""
        return self.definition.name

    @property
    def first_window(self) -> int | None:
        """Of a query with aggregates: the earliest beginning of a window that it sees; None: it sees all."""
        return self.since.windows.get(self.name)

    @property
    def live(self) -> bool:
        """Whether it still makes results."""
        return self.status in ("running", "ending")

    def seen(self, table: pa.Table) -> pa.Table:
        """Return the rows made only of rows that the query sees: from its start, up to its end."""
        bounds = [(place, first, end) for place, (first, end) in enumerate(self.bounds) if (first, end) != _ALL]
        if not bounds:
            return table
        mask = np.ones(table.num_rows, dtype=bool)
        for place, first, end in bounds:
            sequence = numbers(table, seq(place))
            if first is not None:
                mask &= sequence >= first
            if end is not None:
                mask &= sequence < end
        return table if mask.all() else table.filter(pa.array(mask))

    @property
    def bounds(self) -> tuple[tuple[int | None, int | None], ...]:
        """For each stream, the first number that the query sees and the first that it no longer sees.

        Rows have sequence numbers. The number of a result of aggregates is the beginning of its window.
        """
        if self.definition.aggregation is not None:
            return ((self.first_window, self.end_window),)
        names = [item.relation.name for item in self.definition.streams]
        ends = self.ends or {}
        return tuple((self.starts[name] or None, ends.get(name)) for name in names)
