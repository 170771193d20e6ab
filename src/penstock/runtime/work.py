"""`Work` and `Outcome`: what a job is given and what it returns, as values. `spark/` turns one into the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from penstock.network import Edge
from penstock.plan.columns import Micros, counted_from, numbers
from penstock.plan.plan import Plan
from penstock.plan.steps import BLOCK, PANE, TIME, VARIANT, Columns
from penstock.runtime.result_limits import Limit
from penstock.runtime.rows.job_input import BothSides, InputRows, WindowRows
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.written import WriteTarget, WrittenResults
from penstock.shedding.drop_box import Boxes

_SPREAD = np.int64(-7046029254386353131)
"""Beginnings times this number, plus sizes of blocks, are hardly ever the same. `joined` checks that."""
PARTITION_ROWS = 50_000
"""Rows of a window that one task reads."""


@dataclass(frozen=True, eq=False)
class ClosingPanes:
    """Windows that close, once for each of their panes, and partial aggregates, among them all of these panes."""

    windows: pa.Table
    rows: pa.Table
    """Those that are resident."""
    stored: tuple[StoredRows, ...] = ()

    @property
    def num_rows(self) -> int:
        """How many partial aggregates there are."""
        return int(self.rows.num_rows) + sum(each.rows for each in self.stored)

    def joined(self) -> pa.Table:
        """Return resident partial aggregates, each once for every window that it is in, with columns of both."""
        same = [(TIME, PANE), (BLOCK, BLOCK)]
        same += [(VARIANT, VARIANT)] if VARIANT in self.rows.column_names else []
        keys = pane_keys(self.rows, TIME)
        order = np.argsort(keys, kind="stable")
        wanted = pane_keys(self.windows, PANE)
        low = np.searchsorted(keys, wanted, sorter=order)
        counts = np.searchsorted(keys, wanted, side="right", sorter=order) - low
        whose = np.repeat(np.arange(len(wanted)), counts)
        which = order[counted_from(low, counts)]
        pairs = [(numbers(self.rows, part)[which], numbers(self.windows, window)[whose]) for part, window in same]
        equal = np.logical_and.reduce([part == window for part, window in pairs])
        found = self.windows.take(pa.array(whose[equal]))
        parts = self.rows.take(pa.array(which[equal]))
        for name in parts.column_names:
            if name not in found.column_names:
                found = found.append_column(name, parts.column(name))
        return found

    @cached_property
    def most_rows(self) -> int:
        """How many partial aggregates are merged, each counted once for every window: the most results."""
        panes, counts = np.unique(pane_keys(self.rows, TIME), return_counts=True)
        wanted = pane_keys(self.windows, PANE)
        places = np.minimum(np.searchsorted(panes, wanted), len(panes) - 1)
        found = int(counts[places][panes[places] == wanted].sum()) if len(panes) else 0
        often = int(np.unique(wanted, return_counts=True)[1].max()) if len(wanted) else 0
        return found + often * sum(each.rows for each in self.stored)


def pane_keys(rows: pa.Table, begins: str) -> Micros:
    """Return a number for each pane or block, by its beginning and the size of its block."""
    keys: Micros = numbers(rows, begins) * _SPREAD + numbers(rows, BLOCK)
    return keys


@dataclass(frozen=True)
class Work:
    """Everything a job needs: rows by entry, the edges that they pass, and the windows that they probe.

    `probes` are, for every join, port and other port, the rows of the other's window.
    """

    plan: Plan
    takes: Mapping[Edge, InputRows]
    through: frozenset[Edge]
    probes: Mapping[tuple[str, int, int], WindowRows] = field(default_factory=dict)
    wanted: Mapping[Edge, Columns] = field(default_factory=dict)
    constants: Mapping[str, pa.Table] = field(default_factory=dict)
    """The table of constants of each group, by its name."""
    partitions: int = 1
    """Partitions of the rows of an entry."""
    only: frozenset[str] | None = None
    """The operators whose output is returned; None: all that have one."""
    spans: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """For every join and port, the seconds of stream time that the probing rows span."""
    symmetric: Mapping[str, BothSides] = field(default_factory=dict)
    """Joins of two streams of which the job takes rows of both, all stored: each file is read once."""
    numbered: bool = True
    """Whether sequence numbers matter: to a join, to what waits further on, or to a query's start or end."""
    target: WriteTarget | None = None
    """Where executors write the results; None: they are returned."""
    discard: bool = False
    """Whether the results are computed and thrown away, to see whether that works."""
    limit: Limit | None = None
    """How many results the job may make; None: it cannot make too many."""
    closing: Mapping[str, ClosingPanes] = field(default_factory=dict)
    """For each operator that closes windows: which windows, and the partial aggregates of which they consist."""
    merged: Mapping[str, pa.Table] = field(default_factory=dict)
    """For each operator that makes partial aggregates: older ones, which are merged with the new ones."""
    boxes: Mapping[str, Boxes] = field(default_factory=dict)
    """For each operator that makes scaled partial aggregates: the shares that drop boxes kept of its rows."""

    @property
    def windows(self) -> Iterator[tuple[str, WindowRows]]:
        """The windows that are read in addition to the rows taken, each with its join."""
        for (join, _, other), window in self.probes.items():
            yield join, self.symmetric[join].others[other] if join in self.symmetric else window


@dataclass(frozen=True)
class Outcome:
    """What a job made: its output rows by operator, and how many rows each operator took and made."""

    rows: Mapping[str, pa.Table]
    taken: Mapping[str, int]
    made: Mapping[str, int]
    window_rows: int
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Rows that joins took, by port."""
    written: WrittenResults | None = None
    """The results, if executors wrote them."""
