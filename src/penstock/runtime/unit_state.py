"""`UnitState`: a unit's queues, the joins it reaches, and how many rows a job takes of it."""

from collections.abc import Mapping
from math import inf, prod
from typing import NamedTuple

import pyarrow as pa

from penstock.network import Edge
from penstock.plan.plan import Plan
from penstock.plan.reach import Reach, leaving, reach_from
from penstock.plan.steps import Aggregate, Close, Join, Lookup, Order
from penstock.policies import Service, Unit
from penstock.runtime.chunk import Chunk
from penstock.runtime.queues import Queue
from penstock.runtime.result_limits import ResultLimits, most_combinations
from penstock.runtime.state import RuntimeState
from penstock.runtime.work import PARTITION_ROWS, Work

MOST_ROWS = 500_000
"""Rows that one job takes at most, even under exhaustive service."""
MOST_STORED_ROWS = 25_000_000
"""The same for stored rows, which the driver does not hand over."""
MOST_EXPIRING_ROWS = 2_000_000
"""The same where rows may leave a `[ROWS n]` window: the driver tells the job when each of them does."""

Taken = Mapping[Edge, tuple[Chunk, ...]]


class Lane(NamedTuple):
    """An entry of a unit: its queue, and what a job reaches from there."""

    edge: Edge
    reach: Reach
    queue: Queue


class UnitState(NamedTuple):
    """A unit's entries, the joins it reaches, and the rows that a job takes at most."""

    lanes: list[Lane]
    joins: list[str]
    most: int
    fitting: int
    """Rows whose results are expected to fill a job."""
    size: int
    """Operators that it reaches at most: each may emit every row. Partial aggregates with blocks count twice."""
    output: str | None
    """The operator whose output is all that a job makes, if that is the results of one query or group."""
    has_row_windows: bool
    """Whether a join that it reaches has a window of rows."""
    has_lookups: bool
    """Whether it joins stored tables or constants of groups, whose matches are not known here."""
    closes: str | None
    """The operator that closes the windows that wait at its entry, if windows wait there."""

    @property
    def has_stored(self) -> bool:
        """Whether the rows that wait longest at some entry are stored."""
        return any(lane.queue.chunks and lane.queue.chunks[0].is_stored for lane in self.lanes)

    @property
    def multiplies(self) -> bool:
        """Whether it can make several results of a row."""
        return bool(self.joins) or self.has_lookups


def unit_state(plan: Plan, queues: Mapping[Edge, Queue], unit: Unit, fitting: int, most: int) -> UnitState:
    """Return the state of a unit. `fitting` rows are expected to fill a job; it takes at most `most`."""
    entries = [
        edge for edge in unit.entries if not isinstance(plan.steps[edge.target], Order)
    ]  # the engine does it
    lanes = [Lane(edge, reach_from(plan, edge, unit.through), queues[edge]) for edge in entries]
    joins = [edge.target for lane in lanes for edge in lane.reach.joins]
    reached = [plan.steps[edge.target] for edge in (*unit.entries, *unit.through)]
    beside = [
        plan.steps[name] for step in reached if isinstance(step, Join) for port in step.ports for name in port.path
    ]
    lookups = any(isinstance(step, Lookup) for step in (*reached, *beside))
    by_rows = any(port.window.kind == "rows" for name in joins for port in plan.join(name).ports)
    names = {edge.target for edge in (*unit.entries, *unit.through)}
    size = len(reached) + sum(_has_blocks(plan, name) for name in names)
    closes = next((edge.target for edge in entries if isinstance(plan.steps[edge.target], Close)), None)
    output = _only_output(plan, unit)
    return UnitState(lanes, joins, min(most, fitting), fitting, size, output, by_rows, lookups, closes)


def _has_blocks(plan: Plan, name: str) -> bool:
    step = plan.steps[name]
    return isinstance(step, Aggregate) and (step.block_column is not None or plan.block_of(name) > 0)


def _only_output(plan: Plan, unit: Unit) -> str | None:
    """Return the operator that makes the results of one query or group, if a job makes nothing else."""
    names = leaving(plan, unit.entries, unit.through)
    if len(names) != 1 or len(plan.roots.get(names[0], ())) != 1 or plan.network.out_edges.get(names[0]):
        return None
    return names[0]


class UnitStates:
    """The states of all units, made when they are first needed."""

    def __init__(self, state: RuntimeState, limits: ResultLimits, service: Service) -> None:
        self.limits = limits
        self._state = state
        self._service = service
        self._known: dict[int, UnitState] = {}
        """By the id() of a unit that the scheduler holds: a unit is slow to hash."""

    def of(self, unit: Unit) -> UnitState:
        """Return the state of a unit."""
        known = self._known.get(id(unit))
        if known is None:
            fitting = self.limits.most_rows(unit.name, float(unit.whole.S))
            known = unit_state(self._state.plan, self._state.queues, unit, fitting, MOST_ROWS)
            self._known[id(unit)] = known
        return known

    def most_rows(self, served: UnitState, waiting: int) -> int:
        """Return how many rows a job may take of a unit, of those that wait."""
        limit = self._service.limit(waiting)
        return served.most if limit is None else min(int(limit), served.most)

    def most_stored_rows(self, unit: Unit, served: UnitState, waiting: int, *, writes: bool) -> int:
        """Return the same for stored rows. If executors write the results, these need no room in the driver."""
        fits = writes and not self.limits.has_exceeded(unit.name)
        most = MOST_EXPIRING_ROWS if served.has_row_windows else MOST_STORED_ROWS
        most = most if fits else min(most, served.fitting)
        limit = self._service.limit(waiting)
        return most if limit is None else min(int(limit), most)

    def expected_results(self, unit: Unit, rows: int) -> float:
        """Return how many results rows of a unit are expected to make."""
        return rows * self.limits.per_row(unit.name, float(unit.whole.S))

    def forget(self, unit: Unit) -> None:
        """Make the state of a unit anew when it is next needed."""
        self._known.pop(id(unit), None)

    def clear(self) -> None:
        """Make all states anew."""
        self._known.clear()


def rows_of(served: UnitState, taken: Taken) -> int:
    """Return how many rows a job took of a unit."""
    return sum(chunk.rows for lane in served.lanes for chunk in taken.get(lane.edge, ()))


def most_results(served: UnitState, taken: Taken, work: Work, *, by_keys: bool = False) -> float:
    """Return how many results a job can make of a unit at most. With `by_keys`, equal keys are counted."""
    if served.has_lookups:
        return inf
    found = float(rows_of(served, taken))
    for lane in served.lanes:
        chunks = taken.get(lane.edge, ())
        closing = work.closing.get(lane.edge.target) if chunks else None
        found += 0 if closing is None else closing.most_rows
        for edge in lane.reach.joins if chunks else ():
            join = work.plan.join(edge.target)
            others = [other for other in range(len(join.ports)) if other != edge.port]
            windows = {each: work.probes.get((edge.target, edge.port, each)) for each in others}
            there = {each: window for each, window in windows.items() if window is not None}
            if len(there) < len(others):
                continue  # the job stops before this join
            in_memory = not any(chunk.is_stored for chunk in chunks) and not any(
                window.stored for window in there.values()
            )
            if by_keys and in_memory:
                rows = pa.concat_tables([chunk.table for chunk in chunks])
                found += most_combinations(join, edge.port, rows, {at: each.table for at, each in there.items()})
            else:
                found += sum(chunk.rows for chunk in chunks) * prod(window.num_rows for window in there.values())
    return found * served.size


def tasks_of(work: Work) -> int:
    """Return how many tasks of a job make results at the same time, if there are slots for all of them."""
    parts: dict[tuple[str, int], int] = {}
    for (join, port, _), window in work.probes.items():
        parts[join, port] = max(parts.get((join, port), work.partitions), 1 + window.num_rows // PARTITION_ROWS)
    return max(sum(parts.values()), work.partitions)
