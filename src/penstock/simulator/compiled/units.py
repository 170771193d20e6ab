"""The current rank of a unit: by its queues, the service discipline, set-up costs and adaptive statistics."""

import numpy as np

from penstock.simulator.compiled.bits import clear_bit, set_bit
from penstock.simulator.compiled.bundles import KernelOptions, NetworkArrays, PlanArrays, TermArrays
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import chance
from penstock.simulator.compiled.queues import head_of, is_ready, waiting_in
from penstock.simulator.compiled.records import (
    CYCLE,
    EXHAUSTIVE,
    LIMITED,
    NOBODY,
    NONE,
    Floats,
    Ints,
    Records,
)
from penstock.simulator.compiled.terms import C, S, copy_row, evaluated, gain_of


@lean
def drawn(operators: Records, values: Floats, operator: int, number: int, identity: np.uint64) -> float:
    """Return the number that an operator compares with its selectivity: a hash, or from an attribute."""
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
def limit_of(options: KernelOptions, waiting: int) -> float:
    """Return how many tuples a run may take by the service discipline."""
    if options.service == LIMITED:
        return options.limit
    if options.service == EXHAUSTIVE:
        return np.inf
    share = max(waiting * options.limit, 1.0)
    return share if options.threshold < share < waiting else float(waiting)


@lean
def refresh(network: NetworkArrays, numbers: Ints, nodes: Records, plan: PlanArrays, unit: int) -> int:
    """Update the length and head of a unit; return the change in the number of units that have work."""
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
def with_setup(units: Records, options: KernelOptions, static: float, cost: float, unit: int) -> float:
    """Return the static part with the set-up cost of a run: n·gain ÷ (c0 + n·cost)."""
    if np.isnan(cost):
        return static
    batch = min(float(units[unit].length), limit_of(options, units[unit].length))
    return static * (cost / (options.setup / batch + cost))


@lean
def learn(operators: Records, options: KernelOptions, operator: int) -> bool:
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
    """Compute the static part of a unit from the current estimates of selectivities."""
    edges, operators, scratch = network.edges, network.operators, terms.scratch
    s, c = 1.0, 0.0
    for back in range(units[unit].route_to - 1, units[unit].route_from - 1, -1):
        edge = network.lists[back]
        made = operators[edges[edge].operator].estimate
        s, c = made * s, edges[edge].cost + made * c
    copy_row(scratch, terms.features, units[unit].path_from)
    scratch[S], scratch[C] = s, c
    static = gain_of(terms.gain, scratch)
    if len(terms.cost) > 0:
        units[unit].cost = evaluated(terms.cost, scratch)
        static /= units[unit].cost
    units[unit].static = static
