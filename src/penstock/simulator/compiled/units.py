"""What a unit is worth now: what waits at it, what an oracle sees, what statistics have learnt."""

import numpy as np

from penstock.simulator.compiled.bits import clear_bit, set_bit
from penstock.simulator.compiled.bundles import NetworkArrays, PlanArrays, RunOptions, TermArrays
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import chance, pair
from penstock.simulator.compiled.queues import head_of, is_ready, waiting_in
from penstock.simulator.compiled.records import (
    COPIES,
    CYCLE,
    EXHAUSTIVE,
    LIMITED,
    NOBODY,
    NONE,
    Floats,
    Ints,
    Records,
)
from penstock.simulator.compiled.terms import C, S, evaluated, gain_of


@lean
def drawn(operators: Records, values: Floats, operator: int, number: int, identity: np.uint64) -> float:
    """Return the number that an operator compares with its selectivity: a hash, or where an attribute lies."""
    column = operators[operator].column
    if column == NONE:
        return chance(identity, operators[operator].salt)
    value = values[number, column] - operators[operator].low
    return value + 1.0 if value < 0.0 else value


@lean
def copies_of(operators: Records, values: Floats, operator: int, number: int, identity: np.uint64) -> int:
    """Return how many tuples an operator that is no window join makes of one."""
    selectivity = operators[operator].selectivity
    whole = int(selectivity)
    return whole + (1 if drawn(operators, values, operator, number, identity) < selectivity - whole else 0)


@lean
def limit_of(options: RunOptions, waiting: int) -> float:
    """Return how many tuples a run may take, as the service disciplines have it."""
    if options.service == LIMITED:
        return options.limit
    if options.service == EXHAUSTIVE:
        return np.inf
    share = max(waiting * options.limit, 1.0)
    return share if options.threshold < share < waiting else float(waiting)


@compiled
def foresee(
    network: NetworkArrays, values: Floats, plan: PlanArrays, unit: int, step: int, number: int,
    identity: np.uint64, sign: float,
) -> None:  # fmt: skip
    """Add (or take away) what a tuple will bring its unit on each way, and the time it will need."""
    edges, operators, lists = network.edges, network.operators, network.lists
    units, steps = plan.units.units, plan.units.steps
    way_query, made = plan.terms.way_query, plan.terms.made_ahead
    todo = [(step, identity)]
    while len(todo) > 0:
        here, mine = todo.pop()
        edge = steps[here].edge
        operator = edges[edge].operator
        units[unit].needed += sign * edges[edge].cost
        copies = copies_of(operators, values, operator, number, mine)
        for result in range(operators[operator].result_from, operators[operator].result_to):
            for way in range(units[unit].way_from, units[unit].way_to):
                if way_query[way] == lists[result]:
                    made[way] += sign * copies
        for copy in range(copies):
            own = mine
            if operators[operator].kind == COPIES:
                own = pair(mine, operators[operator].salt + np.uint64(copy))
            for child in range(steps[here].child_from, steps[here].child_to):
                todo.append((lists[child], own))  # noqa: PERF401


@compiled
def foreseen(units: Records, terms: TermArrays, unit: int) -> tuple[float, float]:
    """Return static part and cost by what the waiting tuples will really bring and need (SCLP08 §9.1.11)."""
    made, cost, scratch = terms.made_ahead, terms.cost, terms.scratch
    length = units[unit].length
    time = units[unit].needed / length
    gained = total = 0.0
    for way in range(units[unit].way_from, units[unit].way_to):
        scratch[:] = terms.features[way]
        scratch[S], scratch[C] = made[way] / length, time
        gained += gain_of(terms.gain, scratch)
        total += made[way]
    if len(cost) == 0:
        return gained, np.nan
    scratch[:] = terms.whole[unit]
    scratch[S], scratch[C] = total / length, time
    paid = evaluated(cost, scratch)
    return gained / paid, paid


@lean
def look(network: NetworkArrays, numbers: Ints, nodes: Records, plan: PlanArrays, unit: int) -> int:
    """See what waits at a unit; return by how many the units with something to do have changed."""
    edges, streams, lists = network.edges, network.streams, network.lists
    units, entries, clusters = plan.units.units, plan.units.entries, plan.units.clusters
    holders, bits, summary = plan.turns.holders, plan.turns.bits, plan.turns.summary
    oldest = NOBODY
    length = 0
    for entry in range(units[unit].entry_from, units[unit].entry_to):
        edge = entries[entry].edge
        length += waiting_in(edges, streams, edge)
        head = head_of(edges, streams, numbers, nodes, edge)
        if head < oldest and is_ready(edges, streams, numbers, nodes, lists, edge):
            oldest = head
    units[unit].head, units[unit].length = oldest, length
    waits = 1 if oldest != NOBODY else 0
    change = waits - units[unit].waiting
    if change != 0:
        units[unit].waiting = waits
        if units[unit].cluster != NONE:
            clusters[units[unit].cluster].waiting += change
        if plan.ranking.chooser == CYCLE:
            for place in range(units[unit].holder_from, units[unit].holder_to):
                holder = lists[place]
                holders[holder].waiting += change
                if holders[holder].waiting == 0:
                    clear_bit(bits, summary, holder)
                else:
                    set_bit(bits, summary, holder)
    return change


@lean
def with_setup(units: Records, options: RunOptions, static: float, cost: float, unit: int) -> float:
    """Return the static part with what a run costs before its first tuple: n·gain ÷ (c0 + n·cost)."""
    if np.isnan(cost):
        return static
    batch = min(float(units[unit].length), limit_of(options, units[unit].length))
    return static * (cost / (options.setup / batch + cost))


@lean
def learn(operators: Records, options: RunOptions, operator: int) -> bool:
    """End the window of an operator, if it is full; return whether its selectivity has changed (SCLP08 §6.3)."""
    if operators[operator].taken < options.window:
        return False
    seen = operators[operator].made / operators[operator].taken
    old = operators[operator].estimate
    operators[operator].estimate = (1 - options.alpha) * old + options.alpha * seen
    operators[operator].taken = operators[operator].made = 0
    return operators[operator].estimate != old


@compiled
def rank_again(network: NetworkArrays, units: Records, terms: TermArrays, unit: int) -> None:
    """Compute the static part of a unit from the selectivities as they are known now."""
    edges, operators, scratch = network.edges, network.operators, terms.scratch
    s, c = 1.0, 0.0
    for back in range(units[unit].route_to - 1, units[unit].route_from - 1, -1):
        edge = network.lists[back]
        made = operators[edges[edge].operator].estimate
        s, c = made * s, edges[edge].cost + made * c
    scratch[:] = terms.features[units[unit].way_from]
    scratch[S], scratch[C] = s, c
    static = gain_of(terms.gain, scratch)
    if len(terms.cost) > 0:
        units[unit].cost = evaluated(terms.cost, scratch)
        static /= units[unit].cost
    units[unit].static = static
