"""The loop of a simulation, compiled: admit, choose, serve, record, until nothing is left.

All state is in arrays, so that the loop can stop anywhere between two decisions and go on: to change between the
policies of a threshold or a selection, to let Python see a Ctrl-C, or to show progress. Arrays that may grow are
in lists, so that their users need not be counted while they do not.
"""

import numpy as np

from penstock.simulator.compiled.admission import admit, tell_blocked, tell_units
from penstock.simulator.compiled.bundles import (
    GrowingArrays,
    KernelOptions,
    NetworkArrays,
    PlanArrays,
    Simulation,
    StateArrays,
    UnitArrays,
)
from penstock.simulator.compiled.choosers import best_unit, candidates_seen, oldest_unit
from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.foresight import foresee_all, foreseen, foresight_of
from penstock.simulator.compiled.intrinsics import borrowed
from penstock.simulator.compiled.places import (
    AREA,
    ARRIVED,
    CHANGED,
    CHANGED_MODE,
    DECISIONS,
    DEPARTURES,
    FINISHED,
    FREE_COUNT,
    LAST_HOLDER,
    LEFT,
    MEMORY,
    MODE,
    NEXT_CHECK,
    NOW,
    OUT,
    PAUSED,
    PEAK,
    POOL,
    RECHECK,
    RUNS,
    SAMPLES,
    START,
    SWEEP,
    TODO,
    WAITING,
)
from penstock.simulator.compiled.priorities import turns_of
from penstock.simulator.compiled.queues import grown, waiting_in
from penstock.simulator.compiled.recording import note, pass_memory
from penstock.simulator.compiled.records import (
    AGGREGATE,
    CLOSE,
    FILTER,
    NODE,
    NONE,
    ORDER,
    Floats,
    Ints,
    Records,
)
from penstock.simulator.compiled.serving import (
    count_work,
    depart,
    most_made,
    note_results,
    oldest_entry,
    process,
    put_back,
    stack_onward,
    stack_waiting,
    take,
    tell_servers,
)
from penstock.simulator.compiled.tournament import place_all, place_unit
from penstock.simulator.compiled.units import limit_of, refresh, with_setup
from penstock.simulator.compiled.windows import close_above, close_all, finish, merge, rows_in, sum_up


@compiled
def ensure(buffers: list[Records], which: int, count: int) -> None:
    """Make a buffer large enough for so many tuples."""
    while count > len(buffers[which]):
        buffer = buffers[which]
        more = np.empty(2 * len(buffer), buffer.dtype)
        for place in range(len(buffer)):
            more[place] = buffer[place]
        buffers[which] = more


@compiled
def ensure_free(buffers: list[Records], ints: Ints, count: int) -> None:
    """Make the pool large enough for so many more tuples."""
    while ints[FREE_COUNT] < count:
        buffers[POOL] = grown(buffers[POOL], ints)


@compiled
def run(sim: Simulation, growing: GrowingArrays, pause: int) -> tuple[int, GrowingArrays]:
    """Go on until nothing is left, another policy must take over, or `pause` decisions were made."""
    sim = borrowed(sim)  # Python keeps its arrays alive
    arrivals, network, plan, options, state = sim.arrivals, sim.network, sim.plan, sim.options, sim.state
    time, values, streams, lists = arrivals.time, arrivals.values, network.streams, network.lists
    edges, operators, entries, steps = network.edges, network.operators, plan.units.entries, plan.units.steps
    floats, ints, bins, detail = state.floats, state.ints, state.bins, options.detail
    windows = sim.windows
    windowed = len(windows.closes) > 0
    total, stop_at = len(time), ints[DECISIONS] + pause
    buffers = [growing.nodes, np.empty(64, NODE), np.empty(64, NODE), np.empty(64, NODE)]
    nodes, out = borrowed(buffers[POOL]), borrowed(buffers[OUT])
    left, todo = borrowed(buffers[LEFT]), borrowed(buffers[TODO])
    logs = [growing.departures, growing.samples, growing.runs]
    see_anew(sim, nodes)
    while True:
        now = floats[NOW]
        if now >= options.until:
            reason = PAUSED
            break
        if ints[ARRIVED] < total and time[ints[ARRIVED]] <= now:
            admit(streams, arrivals, state, now, True, logs, detail)
        if windowed and streams[windows.clock].fresh > 0:
            close_all(sim, buffers)
            nodes = borrowed(buffers[POOL])
        floats[PEAK] = max(floats[PEAK], floats[MEMORY])
        if options.memory < np.inf and now >= floats[NEXT_CHECK] and changes_mode(options, state):
            reason = CHANGED_MODE
            break
        tell_units(arrivals, network, plan, ints)
        tell_blocked(network, plan, ints)
        rank_changed(sim, nodes, now)
        if ints[DECISIONS] >= stop_at:
            reason = PAUSED
            break
        unit = choose(plan, time, ints, now)
        if unit == NONE:
            if ints[ARRIVED] == total:
                reason = FINISHED
                break
            floats[NOW] = min(time[ints[ARRIVED]], options.until)
            pass_memory(bins, floats, floats[NOW])
            continue
        if detail:
            note(logs, RUNS, ints, (now, float(unit)))
        together = choose_mates(plan, lists, unit)
        end = now + overhead(plan, options, lists, ints[WAITING])
        if end > now:
            comes = ints[ARRIVED] < total and time[ints[ARRIVED]] <= end
            if comes:
                admit(streams, arrivals, state, end, False, logs, detail)
            pass_memory(bins, floats, end)
            if comes:
                admit(streams, arrivals, state, end, True, logs, detail)
                if windowed and streams[windows.clock].fresh > 0:
                    close_all(sim, buffers)
                    nodes = borrowed(buffers[POOL])
            floats[NOW] = end
            floats[PEAK] = max(floats[PEAK], floats[MEMORY])

        for which in range(together):
            unit = plan.work.chosen[which]
            room = limit_of(options, waiting_at(network, plan.units, unit))
            while room > 0:
                entry, number = oldest_entry(network, arrivals.numbers, nodes, plan.units, unit)
                if entry == NONE:
                    break
                room -= 1
                first = entries[entry].edge
                alone, identity = take(edges, nodes, ints, first, number)
                tell_servers(network, values, plan, ints, first, number, identity, -1.0)
                grown_by, window = 0.0, int(identity) - 1
                if windowed and edges[first].stream != NONE:
                    identity = windows.identities[number]

                # Let it pass the operators of the unit, depth first.
                start, spent = floats[NOW], 0.0
                step, lefts, todos = entries[entry].step, 0, 0
                while True:
                    edge = steps[step].edge
                    operator = edges[edge].operator
                    kind, cost, rows = operators[operator].kind, edges[edge].cost, 1
                    if kind == CLOSE:
                        rows = rows_in(windows, windows.of_operator[operator], window)
                        cost *= rows
                    spent += cost
                    alone += cost
                    if kind != FILTER:
                        ensure(buffers, OUT, rows if kind >= AGGREGATE else most_made(network, edge))
                        ensure_free(buffers, ints, 1)
                        nodes, out = borrowed(buffers[POOL]), borrowed(buffers[OUT])
                    if kind < AGGREGATE:
                        made = process(arrivals, network, nodes, out, ints, edge, number, alone, identity)
                    elif kind == CLOSE:
                        made = merge(windows, nodes, out, windows.of_operator[operator], number, alone, identity)
                        operators[operator].taken += rows - 1
                    else:
                        summed = windows.of_operator[operator]
                        rows = sum_up(windows, arrivals, streams, nodes, ints, summed, number, identity)
                        grown_by += rows * windows.aggregates[summed].size
                        operators[operator].made += rows
                        made = 0
                    if options.adaptive or options.counted:
                        count_work(network, plan, options, ints, operator, made)
                    if made > 0:
                        depart(network, time, state, out, operator, made, start + spent)
                        if detail and operators[operator].result_to > operators[operator].result_from:
                            note_results(network, time, logs, ints, out, operator, made, start + spent)
                        waits = steps[step].wait_to - steps[step].wait_from
                        onward = steps[step].child_to - steps[step].child_from
                        if lefts + made * waits > len(left) or todos + made * onward > len(todo):
                            ensure(buffers, LEFT, lefts + made * waits)
                            ensure(buffers, TODO, todos + made * onward)
                            left, todo = borrowed(buffers[LEFT]), borrowed(buffers[TODO])
                        lefts = stack_waiting(lists, steps, step, out, made, left, lefts)
                        if made == 1 and onward == 1:
                            step = lists[steps[step].child_from]
                            number, alone, identity = out[0].number, out[0].alone, out[0].identity
                            continue
                        todos = stack_onward(lists, steps, step, out, made, todo, todos)
                    if todos == 0:
                        break
                    todos -= 1
                    step, number = todo[todos].after, todo[todos].number
                    alone, identity = todo[todos].alone, todo[todos].identity

                # Let the time pass; then what it made waits where it must.
                end = start + spent
                if ints[ARRIVED] < total and time[ints[ARRIVED]] < end:
                    admit(streams, arrivals, state, end, False, logs, detail)
                pass_memory(bins, floats, end)
                floats[NOW] = end
                floats[MEMORY] -= edges[first].size
                if ints[FREE_COUNT] < lefts:
                    ensure_free(buffers, ints, lefts)
                    nodes = borrowed(buffers[POOL])
                if windowed and operators[edges[first].operator].kind == CLOSE:
                    which_close = windows.of_operator[edges[first].operator]
                    size = windows.aggregates[windows.closes[which_close].aggregate].size
                    floats[MEMORY] -= finish(windows, nodes, ints, which_close, window) * size
                put_back(network, values, plan, state, nodes, left, lefts)
                if windowed:
                    floats[MEMORY] += grown_by
                    close_above(sim, buffers, first)
                    nodes = borrowed(buffers[POOL])
                if detail:
                    note(logs, SAMPLES, ints, (end, floats[MEMORY]))
                if room > 0 or which + 1 < together:
                    if ints[ARRIVED] < total and time[ints[ARRIVED]] <= end:
                        admit(streams, arrivals, state, end, True, logs, detail)
                    if windowed and streams[windows.clock].fresh > 0:
                        close_all(sim, buffers)
                        nodes = borrowed(buffers[POOL])
                    floats[PEAK] = max(floats[PEAK], floats[MEMORY])
        ints[RECHECK] = 1 if len(network.blocked) > 0 else 0
    return reason, GrowingArrays(buffers[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS])


@lean
def waiting_at(network: NetworkArrays, given: UnitArrays, unit: int) -> int:
    """Return how many tuples wait at a unit."""
    length = 0
    for entry in range(given.units[unit].entry_from, given.units[unit].entry_to):
        length += waiting_in(network.edges, network.streams, given.entries[entry].edge)
    return length


@inlined
def see_anew(sim: Simulation, nodes: Records) -> None:
    """Forget what is known of waiting tuples, and mark every unit."""
    plan, ints = sim.plan, sim.state.ints
    units, clusters, turns = plan.units.units, plan.units.clusters, plan.turns
    ints[WAITING] = ints[RECHECK] = 0
    for word in range(len(turns.bits)):
        turns.bits[word] = 0
    for word in range(len(turns.summary)):
        turns.summary[word] = 0
    for place in range(len(turns.holders)):
        turns.holders[place].waiting = 0
    for place in range(len(clusters)):
        clusters[place].waiting = 0
    for unit in range(len(units)):
        units[unit].waiting, units[unit].dirty = 0, 1
        plan.work.changed[unit] = unit
    ints[CHANGED] = len(units)
    if plan.policy.oracle:
        ahead = foresight_of(sim.network, sim.arrivals.values, plan)
        foresee_all(ahead, sim.arrivals, sim.network.streams, nodes)


@lean
def changes_mode(options: KernelOptions, state: StateArrays) -> bool:
    """Compare memory with the thresholds; return whether to begin saving it, or to stop (JC03 (3.3))."""
    floats, ints, limit = state.floats, state.ints, options.memory
    now, current = floats[NOW], floats[MEMORY]
    passed = now - floats[START]
    mean = floats[AREA] / passed if passed > 0 else current
    highest = min((1 + mean / limit) / 2 * limit, options.beta * limit)
    saves = current >= highest if ints[MODE] == 0 else current > min(mean, options.beta * highest)
    free = max(0.0, 1 - current / limit)
    floats[NEXT_CHECK] = now + max(options.shortest, options.longest * free)
    if saves == (ints[MODE] == 1):
        return False
    ints[MODE] = 1 if saves else 0
    return True


@inlined
def rank_changed(sim: Simulation, nodes: Records, now: float) -> None:
    """Count what waits at the units that were marked, and put them where the search will find them."""
    plan, options, ints = sim.plan, sim.options, sim.state.ints
    units, unit_at, changed_units = plan.units.units, plan.units.unit_at, plan.work.changed
    minds_setup = options.setup > 0.0 and plan.policy.minds_setup
    changed = ints[CHANGED]
    for place in range(changed):
        unit = changed_units[place]
        units[unit].dirty = 0
        ints[WAITING] += refresh(sim.network, sim.arrivals.numbers, nodes, plan, unit)
        if plan.ranking.chooser != ORDER and units[unit].waiting:
            static, cost = units[unit].static, units[unit].cost
            if plan.policy.oracle:
                static, cost = foreseen(units, plan.terms, unit)
            units[unit].rank = with_setup(units, options, static, cost, unit) if minds_setup else static
    if changed * 8 > len(unit_at):
        place_all(plan.ranking, unit_at, now)
    else:
        for place in range(changed):
            place_unit(plan.ranking, changed_units[place], now)
    ints[CHANGED] = 0


@inlined
def choose(plan: PlanArrays, time: Floats, ints: Ints, now: float) -> int:
    """Return the unit to run next and count the decision; NONE if nothing waits."""
    units, turns, mode = plan.units.units, plan.turns, ints[MODE]
    last_holder, sweep = ints[LAST_HOLDER + mode], ints[SWEEP + mode]
    turn = ints[DECISIONS] + 1
    by_age = plan.policy.every > 0 and turn % plan.policy.every == 0
    if by_age:
        unit = oldest_unit(units, time)
    else:
        unit = best_unit(plan.ranking, turns, plan.units.unit_at, plan.work.stack, last_holder, sweep, now)
    if unit != NONE:
        ints[DECISIONS] = turn
        if len(turns.holders) > 0 and not by_age:
            _, ints[LAST_HOLDER + mode], ints[SWEEP + mode] = turns_of(turns, units, last_holder, sweep, unit)
    return unit


@lean
def choose_mates(plan: PlanArrays, lists: Ints, unit: int) -> int:
    """Write down the units that run: the one chosen, and those of its cluster with the same oldest tuple."""
    units, clusters, chosen = plan.units.units, plan.units.clusters, plan.work.chosen
    chosen[0] = unit
    together = 1
    if plan.policy.together:
        cluster = units[unit].cluster
        for place in range(clusters[cluster].unit_from, clusters[cluster].unit_to):
            mate = lists[place]
            if mate != unit and units[mate].waiting and units[mate].head == units[unit].head:
                chosen[together] = mate
                together += 1
    return together


@inlined
def overhead(plan: PlanArrays, options: KernelOptions, lists: Ints, waiting: int) -> float:
    """Return the time of the set-up and of the decision."""
    lost = options.setup
    if options.decision > 0.0:
        if len(plan.units.clusters) > 0:
            waiting = candidates_seen(plan.units.units, plan.units.clusters, lists, options.fagin)
        lost += options.decision * (2 * waiting - 1)
    return lost
