"""`QueryState`: a query since it was created, and the rows it sees."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.language.statements import QueryDef
from penstock.plan.columns import numbers
from penstock.plan.steps import seq

Status = Literal["running", "ending", "ended", "stopped", "failed"]


@dataclass
class QueryState:
    """A query since it was created. It sees rows from `starts` up to `ends`, without the latter."""

    definition: QueryDef
    starts: dict[str, int]
    ends: dict[str, int] | None = None
    dropped_before: dict[str, int] = field(default_factory=dict)
    """Rows of each stream that drop boxes had dropped when the query began."""
    dropped_until: dict[str, int] | None = None
    """The same when it ended."""
    status: Status = "running"
    reason: str = ""

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
