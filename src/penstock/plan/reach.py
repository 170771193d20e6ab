"""What a run of a unit reaches in a plan: its joins, and the operators whose output leaves it."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from penstock.network import Edge
from penstock.plan.plan import Plan
from penstock.plan.steps import Join, Order


@dataclass(frozen=True)
class Reach:
    """From one entry of a unit: the joins that a run reaches, and whether other output leaves it."""

    joins: tuple[Edge, ...]
    other: bool

    @cached_property
    def is_free(self) -> bool:
        """Whether rows may run at any time: some output of the run waits for no other stream."""
        return self.other or not self.joins


def reach_from(plan: Plan, entry: Edge, through: Set[Edge]) -> Reach:
    """Return the reach of a run from an entry up to the joins. Operators behind joins wait for other streams."""
    reached = list(_walk(plan, [entry], through, past_joins=False))
    joins = tuple(edge for edge in reached if isinstance(plan.steps[edge.target], Join))
    return Reach(joins, any(_leaves(plan, edge.target, through) for edge in reached if edge not in joins))


def joins_from(plan: Plan, entry: Edge, through: Set[Edge]) -> Iterator[Edge]:
    """Return the edges into joins that a run passes after an entry."""
    for edge in _walk(plan, [entry], through):
        if isinstance(plan.steps[edge.target], Join):
            yield edge


def own_operators(plan: Plan, query: str) -> set[str]:
    """Return the operators of a query of the network, without those of the derived streams that it reads."""
    if query not in plan.network.query_by_name:
        return set()
    pending, found = [plan.network.query(query).root], set()
    while pending:
        name = pending.pop()
        step = plan.steps.get(name)
        if step is not None and not isinstance(step, Order) and name not in found:
            found.add(name)
            pending += plan.network.operator(name).inputs
    return found


def leaving(plan: Plan, entries: Iterable[Edge], through: Set[Edge]) -> list[str]:
    """Return the operators whose output leaves the run, as results or into queues."""
    reached = dict.fromkeys(edge.target for edge in _walk(plan, entries, through))
    return [name for name in reached if _leaves(plan, name, through)]


def _leaves(plan: Plan, operator: str, through: Set[Edge]) -> bool:
    return operator in plan.roots or any(edge not in through for edge in plan.network.out_edges.get(operator, ()))


def _walk(plan: Plan, entries: Iterable[Edge], through: Set[Edge], *, past_joins: bool = True) -> Iterator[Edge]:
    pending = list(entries)
    seen = set(pending)
    while pending:
        edge = pending.pop()
        yield edge
        if past_joins or not isinstance(plan.steps[edge.target], Join):
            onward = plan.network.out_edges.get(edge.target, ())
            fresh = [each for each in onward if each in through and each not in seen]
            seen.update(fresh)
            pending += fresh
