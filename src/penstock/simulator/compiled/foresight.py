"""What an oracle knows: the results that waiting tuples will bring, and the time they need (SCLP08 §9.1.11)."""

import numpy as np

from penstock.simulator.compiled.bundles import (
    ArrivalArrays,
    ForesightArrays,
    NetworkArrays,
    PlanArrays,
    TermArrays,
)
from penstock.simulator.compiled.compile import compiled, inlined
from penstock.simulator.compiled.fates import identity_of, pair
from penstock.simulator.compiled.records import COPIES, NONE, Floats, Records
from penstock.simulator.compiled.terms import C, S, copy_row, evaluated, gain_of
from penstock.simulator.compiled.units import copies_of


@inlined
def foresight_of(network: NetworkArrays, values: Floats, plan: PlanArrays) -> ForesightArrays:
    """Return the arrays that an oracle needs."""
    units, terms = plan.units, plan.terms
    return ForesightArrays(
        network.edges, network.operators, network.lists, values, units.units, units.entries, units.steps,
        terms.path_query, terms.made_ahead,
    )  # fmt: skip


@compiled
def foresee(ahead: ForesightArrays, unit: int, step: int, number: int, identity: np.uint64, sign: float) -> None:
    """Add (or subtract) the results a tuple will bring its unit on each path, and the time it will need."""
    edges, operators, lists, values = ahead.edges, ahead.operators, ahead.lists, ahead.values
    units, steps, path_query, made = ahead.units, ahead.steps, ahead.path_query, ahead.made
    todo = [(step, identity)]
    while len(todo) > 0:
        here, mine = todo.pop()
        edge = steps[here].edge
        operator = edges[edge].operator
        units[unit].needed += sign * edges[edge].cost
        copies = copies_of(operators, values, operator, number, mine)
        for result in range(operators[operator].result_from, operators[operator].result_to):
            for path in range(units[unit].path_from, units[unit].path_to):
                if path_query[path] == lists[result]:
                    made[path] += sign * copies
        for copy in range(copies):
            own = mine
            if operators[operator].kind == COPIES:
                own = pair(mine, operators[operator].salt + np.uint64(copy))
            for child in range(steps[here].child_from, steps[here].child_to):
                todo.append((lists[child], own))  # noqa: PERF401


@compiled
def foresee_at(
    ahead: ForesightArrays, edge: int, unit: int, number: int, identity: np.uint64, sign: float
) -> None:
    """Add (or subtract) a tuple in a queue that the unit serves: see `foresee`."""
    for entry in range(ahead.units[unit].entry_from, ahead.units[unit].entry_to):
        if ahead.entries[entry].edge == edge:
            foresee(ahead, unit, ahead.entries[entry].foresight, number, identity, sign)


@compiled
def foresee_all(ahead: ForesightArrays, arrivals: ArrivalArrays, streams: Records, nodes: Records) -> None:
    """Compute the same for all waiting tuples, from zero."""
    edges, units, entries = ahead.edges, ahead.units, ahead.entries
    for path in range(len(ahead.made)):
        ahead.made[path] = 0.0
    for unit in range(len(units)):
        units[unit].needed = 0.0
        for entry in range(units[unit].entry_from, units[unit].entry_to):
            edge, step = entries[entry].edge, entries[entry].foresight
            stream = edges[edge].stream
            if stream != NONE:
                for place in range(edges[edge].cursor, streams[stream].admitted - streams[stream].fresh):
                    number = arrivals.numbers[streams[stream].start + place]
                    foresee(ahead, unit, step, number, identity_of(number), 1.0)
            else:
                node = edges[edge].first
                for _ in range(edges[edge].count):
                    foresee(ahead, unit, step, nodes[node].number, nodes[node].identity, 1.0)
                    node = nodes[node].after


@compiled
def foreseen(units: Records, terms: TermArrays, unit: int) -> tuple[float, float]:
    """Return static part and cost by the real results and times of the waiting tuples (SCLP08 §9.1.11)."""
    made, cost, scratch = terms.made_ahead, terms.cost, terms.scratch
    length = units[unit].length
    time = units[unit].needed / length
    gained = total = 0.0
    for path in range(units[unit].path_from, units[unit].path_to):
        copy_row(scratch, terms.features, path)
        scratch[S], scratch[C] = made[path] / length, time
        gained += gain_of(terms.gain, scratch)
        total += made[path]
    if len(cost) == 0:
        return gained, np.nan
    copy_row(scratch, terms.whole, unit)
    scratch[S], scratch[C] = total / length, time
    paid = evaluated(cost, scratch)
    return gained / paid, paid
