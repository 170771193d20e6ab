"""Which rows the queries of a job see, where executors decide it: by sequence numbers, as SQL."""

from collections.abc import Collection

from penstock.network import Edge
from penstock.plan.reach import leaving
from penstock.plan.steps import Aggregate, Columns, Join, Port, seq
from penstock.runtime.query_state import QueryState
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import Taken


def needs_numbers(
    state: RuntimeState, taken: Taken, through: frozenset[Edge], symmetric: Collection[str] = ()
) -> bool:
    """Whether the sequence numbers of the rows of a job matter.

    They do to what waits further on, to queries that see only a part of the rows, and to joins, but for symmetric
    ones of time windows.
    """
    if not any(chunk.is_stored for chunks in taken.values() for chunk in chunks):
        return True
    plan = state.plan
    for name in {edge.target for edge in (*taken, *through)}:
        step = plan.steps[name]
        if isinstance(step, Join) and not (name in symmetric and all(map(_is_by_time, step.ports))):
            return True
        if isinstance(step, Aggregate) and _needs_numbers(step, state.wanted_at(name)):
            return True
    for name in leaving(plan, taken, through):
        if isinstance(plan.steps[name], Aggregate):
            continue
        if any(edge not in through for edge in plan.network.out_edges.get(name, ())):
            return True
        for user in plan.roots.get(name, ()):
            if any(_bounds(state.queries[query]) for query in plan.served_by(user)):
                return True
    return False


def _needs_numbers(step: Aggregate, wanted: Columns) -> bool:
    return step.by == "rows" or any(call.needs_numbers for call in step.wanted_calls(wanted))


def _is_by_time(port: Port) -> bool:
    return port.window.kind == "range" and not port.start and port.end is None


def seen_by_all(state: RuntimeState, name: str) -> str | None:
    """Return the condition on the rows that a query sees, or that all queries of a group see; "" if they see all.

    None if queries of a group see different rows.
    """
    queries = [state.queries[query] for query in state.plan.served_by(name)]
    found = {_bounds(query) for query in queries if query.live}
    return found.pop() if len(found) == 1 else None


def _bounds(query: QueryState) -> str:
    """Return the condition on the rows that a query sees, in the order of the streams in its FROM."""
    conditions = []
    for place, (first, end) in enumerate(query.bounds):
        if first is not None:
            conditions.append(f"{seq(place)} >= {first}L")
        if end is not None:
            conditions.append(f"{seq(place)} < {end}L")
    return " AND ".join(conditions)
