"""Serving a tuple: it leaves its queue and passes operators; results depart, or wait behind the unit.

Only the loop in `kernel` makes arrays larger. What is here is given enough room, and becomes part of that loop.
"""

import numpy as np

from penstock.simulator.compiled.admission import mark
from penstock.simulator.compiled.bundles import (
    ArrivalArrays,
    KernelOptions,
    NetworkArrays,
    PlanArrays,
    StateArrays,
    UnitArrays,
)
from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.fates import identity_of, pair
from penstock.simulator.compiled.foresight import foresee_at, foresight_of
from penstock.simulator.compiled.joins import forget_old, joined
from penstock.simulator.compiled.places import DEPARTURES, MEMORY
from penstock.simulator.compiled.queues import drop_first, head_of, is_ready, keep, put, taken
from penstock.simulator.compiled.recording import bin_of, note, record
from penstock.simulator.compiled.records import COPIES, FILTER, JOIN, NOBODY, NONE, Floats, Ints, Records
from penstock.simulator.compiled.units import copies_of, drawn, learn, rank_again


@inlined
def oldest_entry(
    network: NetworkArrays, numbers: Ints, nodes: Records, given: UnitArrays, unit: int
) -> tuple[int, int]:
    """Return the entry of a unit that has the oldest tuple that may be served, or NONE; and the tuple's number."""
    edges, streams, units = network.edges, network.streams, given.units
    found, number = NONE, NOBODY
    for entry in range(units[unit].entry_from, units[unit].entry_to):
        edge = given.entries[entry].edge
        head = head_of(edges, streams, numbers, nodes, edge)
        if head < number and is_ready(edges, streams, numbers, nodes, network.lists, edge):
            found, number = entry, head
    return found, number


@inlined
def take(edges: Records, nodes: Records, free: Ints, edge: int, number: int) -> tuple[float, np.uint64]:
    """Take the oldest tuple out of a queue; return the time it would have taken alone so far, and its identity."""
    alone, identity = 0.0, identity_of(number)
    if edges[edge].stream != NONE:
        edges[edge].cursor += 1
    else:
        node = edges[edge].first
        alone, identity = nodes[node].alone, nodes[node].identity
        drop_first(edges, nodes, free, edge)
    return alone, identity


@inlined
def tell_servers(
    network: NetworkArrays,
    values: Floats,
    plan: PlanArrays,
    ints: Ints,
    edge: int,
    number: int,
    identity: np.uint64,
    sign: float,
) -> None:
    """Mark the units that serve a queue to which a tuple has come, or from which one was taken (sign −1)."""
    doors = plan.units.doors
    for place in range(doors[edge].unit_from, doors[edge].unit_to):
        unit = network.lists[place]
        if plan.policy.oracle:
            foresee_at(foresight_of(network, values, plan), edge, unit, number, identity, sign)
        mark(plan.units.units, plan.work.changed, ints, unit)


@inlined
def put_back(
    network: NetworkArrays,
    values: Floats,
    plan: PlanArrays,
    state: StateArrays,
    nodes: Records,
    left: Records,
    count: int,
) -> None:
    """Put results that are to wait into their queues."""
    edges, ints = network.edges, state.ints
    for place in range(count):
        edge = left[place].after
        number, identity = left[place].number, left[place].identity
        put(edges, nodes, taken(nodes, ints, number, left[place].alone, identity), edge)
        state.floats[MEMORY] += edges[edge].size
        tell_servers(network, values, plan, ints, edge, number, identity, 1.0)


@lean
def most_made(network: NetworkArrays, edge: int) -> int:
    """Return how many tuples the operator of a queue can make of one, at most."""
    edges, operator = network.edges, network.edges[edge].operator
    if network.operators[operator].kind == JOIN:
        return edges[edges[edge].other].kept
    return int(network.operators[operator].selectivity) + 1


@inlined
def process(
    arrivals: ArrivalArrays,
    network: NetworkArrays,
    nodes: Records,
    out: Records,
    free: Ints,
    edge: int,
    number: int,
    alone: float,
    identity: np.uint64,
) -> int:
    """Let the operator of a queue process a tuple; write what it makes to `out`, and return how many."""
    operators, values, operator = network.operators, arrivals.values, network.edges[edge].operator
    made = 0
    if operators[operator].kind == FILTER:
        if drawn(operators, values, operator, number, identity) < operators[operator].selectivity:
            made = 1
            out[0].number, out[0].alone, out[0].identity = number, alone, identity
    elif operators[operator].kind == COPIES:
        made = copies_of(operators, values, operator, number, identity)
        for copy in range(made):
            out[copy].number, out[copy].alone = number, alone
            out[copy].identity = pair(identity, operators[operator].salt + np.uint64(copy))
    else:
        made = joined(network, nodes, arrivals.time, out, edge, number, alone, identity)
        keep(network.edges, nodes, taken(nodes, free, number, alone, identity), edge)
        forget_old(network, arrivals.numbers, nodes, arrivals.time, free, edge)
    return made


@inlined
def count_work(
    network: NetworkArrays, plan: PlanArrays, options: KernelOptions, ints: Ints, operator: int, made: int
) -> None:
    """Count what an operator took and made; at the end of a window, rank again by what was learnt."""
    operators, units, terms = network.operators, plan.units.units, plan.terms
    operators[operator].taken += 1
    operators[operator].made += made
    if options.adaptive and learn(operators, options, operator):
        for place in range(terms.below_from[operator], terms.below_from[operator + 1]):
            rank_again(network, units, terms, terms.below[place])
            mark(units, plan.work.changed, ints, terms.below[place])


@inlined
def measured(
    network: NetworkArrays, time: Floats, out: Records, place: int, query: int, leaves: float
) -> tuple[float, float]:
    """Return response and slowdown of a result of a query."""
    response = leaves - time[out[place].number]
    return response, 1.0 + (response - out[place].alone) / network.ideal[query]


@inlined
def depart(
    network: NetworkArrays, time: Floats, state: StateArrays, out: Records, operator: int, made: int, leaves: float
) -> None:
    """Record what an operator made as results of the queries whose root it is."""
    operators = network.operators
    for result in range(operators[operator].result_from, operators[operator].result_to):
        query = network.lists[result]
        for place in range(made):
            response, slowdown = measured(network, time, out, place, query, leaves)
            record(state.stats, query, response, slowdown)
            record(state.bins, bin_of(state.bins, state.floats, leaves), response, slowdown)


@compiled
def note_results(
    network: NetworkArrays,
    time: Floats,
    logs: list[Floats],
    ints: Ints,
    out: Records,
    operator: int,
    made: int,
    leaves: float,
) -> None:
    """Write the same results to the log of departures."""
    operators = network.operators
    for result in range(operators[operator].result_from, operators[operator].result_to):
        query = network.lists[result]
        for place in range(made):
            response, slowdown = measured(network, time, out, place, query, leaves)
            line = (leaves, float(query), float(out[place].number), response, slowdown)
            note(logs, DEPARTURES, ints, line)


@lean
def stack_waiting(
    lists: Ints, steps: Records, step: int, out: Records, made: int, left: Records, used: int
) -> int:
    """Add what a step made to the tuples that will wait, with their queues; return how many those are."""
    for wait in range(steps[step].wait_from, steps[step].wait_to):
        for place in range(made):
            left[used] = out[place]
            left[used].after = lists[wait]
            used += 1
    return used


@lean
def stack_onward(lists: Ints, steps: Records, step: int, out: Records, made: int, todo: Records, used: int) -> int:
    """Put what a step made on the stack of tuples that go on, with their steps; return how many those are."""
    for place in range(made - 1, -1, -1):
        for child in range(steps[step].child_to - 1, steps[step].child_from - 1, -1):
            todo[used] = out[place]
            todo[used].after = lists[child]
            used += 1
    return used
