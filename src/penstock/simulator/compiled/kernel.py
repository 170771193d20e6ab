"""The course of a simulation, compiled: admit, choose, serve, record, until nothing is left.

All state is in arrays, so that the loop can stop anywhere between two decisions and go on: to change between the
policies of a threshold or a selection, to let Python see a Ctrl-C, or to show progress.
"""

import numpy as np

from penstock.simulator.compiled.books import (
    AREA,
    MEMORY,
    NEXT_LOOK,
    NOW,
    PEAK,
    START,
    bin_of,
    longer,
    pass_memory,
    record,
)
from penstock.simulator.compiled.bundles import (
    ArrivalArrays,
    GrowingArrays,
    NetworkArrays,
    PlanArrays,
    RunOptions,
    StateArrays,
)
from penstock.simulator.compiled.choosers import best_unit, looked_at, oldest_unit
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import chance, pair
from penstock.simulator.compiled.intrinsics import borrowed
from penstock.simulator.compiled.priorities import turns_of
from penstock.simulator.compiled.queues import (
    FREE_COUNT,
    drop_first,
    forget_first,
    grown,
    head_of,
    is_ready,
    keep,
    put,
    still_to_come,
    taken,
    waiting_in,
)
from penstock.simulator.compiled.records import (
    COPIES,
    FILTER,
    NOBODY,
    NODE,
    NONE,
    ORDER,
    Floats,
    Ints,
    Records,
)
from penstock.simulator.compiled.tournament import place_all, place_unit
from penstock.simulator.compiled.units import (
    copies_of,
    drawn,
    foresee,
    foreseen,
    learn,
    limit_of,
    look,
    rank_again,
    with_setup,
)

ARRIVED, DECISIONS, MODE, WAITING, DEPARTED, SAMPLED, RAN, FRESH = range(2, 10)
"""Places of the whole numbers that a run keeps, behind those of the pool; the last holders of turns follow."""
LAST_HOLDER, SWEEP = 10, 12
"""Of each mode: who was served last, and in which sweep of the cycle."""
FINISHED, CHANGED_MODE, PAUSED = 0, 1, 2

POOL, OUT, LEFT, TODO = range(4)
DEPARTURES, SAMPLES, RUNS = range(3)
"""Arrays that may grow stand in lists, so that nobody counts their users while they do not."""


@compiled
def note(logs: list[Floats], which: int, ints: Ints, values: tuple[float, ...]) -> None:
    """Write a line of a log."""
    used = ints[DEPARTED + which]
    logs[which] = longer(logs[which], used)
    line = logs[which][used]
    for place in range(len(values)):
        line[place] = values[place]
    ints[DEPARTED + which] += 1


@compiled
def admit(
    streams: Records,
    arrivals: ArrivalArrays,
    state: StateArrays,
    until: float,
    also_then: bool,
    logs: list[Floats],
    detail: bool,
) -> None:
    """Let in what arrives before `until`, or then too."""
    time, floats, ints = arrivals.time, state.floats, state.ints
    arrived, total = ints[ARRIVED], len(time)
    while arrived < total and (time[arrived] < until or (also_then and time[arrived] == until)):
        moment = time[arrived]
        pass_memory(state.bins, floats, moment)
        stream = arrivals.stream_of[arrived]
        streams[stream].admitted += 1
        streams[stream].fresh += 1
        ints[FRESH] = 1
        floats[MEMORY] += streams[stream].memory
        arrived += 1
        if arrived == total or time[arrived] > moment:
            if moment < until:
                floats[PEAK] = max(floats[PEAK], floats[MEMORY])
            if detail:
                note(logs, SAMPLES, ints, (moment, floats[MEMORY]))
    ints[ARRIVED] = arrived


@compiled
def twice(values: Records) -> Records:
    """Return an array of twice the size that begins with `values`."""
    more = np.empty(2 * len(values), values.dtype)
    more[: len(values)] = values
    return more


@lean
def marked(units: Records, changed_units: Ints, changed: int, unit: int) -> int:
    """Note that a unit must be looked at again; return how many must."""
    if units[unit].dirty:
        return changed
    units[unit].dirty = 1
    changed_units[changed] = unit
    return changed + 1


@compiled
def joined(
    network: NetworkArrays, nodes: Records, time: Floats, out: Records, edge: int, number: int, alone: float,
    identity: np.uint64,
) -> int:  # fmt: skip
    """Match a tuple with what a window join keeps of its other input; write down the matches, return how many.

    Alone on the processor, the later of two would wait at most until the earlier one is done (SCLP08 §5.1.2).
    """
    edges, operators = network.edges, network.operators
    other, operator = edges[edge].other, edges[edge].operator
    salt, share = operators[operator].salt, operators[operator].selectivity
    made = 0
    node = edges[other].kept_first
    for _ in range(edges[other].kept):
        theirs = nodes[node].number
        gap = time[number] - time[theirs]
        is_last = number >= theirs
        if (gap <= edges[other].range) if is_last else (-gap <= edges[edge].range):
            first, second = identity, nodes[node].identity
            both = pair(first, second) if edge < other else pair(second, first)
            if chance(both, salt) < share:
                if is_last:
                    behind = nodes[node].alone - gap
                    out[made].alone = max(0.0, behind) + alone
                else:
                    behind = alone + gap
                    out[made].alone = max(0.0, behind) + nodes[node].alone
                out[made].number, out[made].identity = max(number, theirs), both
                made += 1
        node = nodes[node].after
    return made


@compiled
def run(
    arrivals: ArrivalArrays,
    network: NetworkArrays,
    plan: PlanArrays,
    options: RunOptions,
    state: StateArrays,
    growing: GrowingArrays,
    pause: int,
) -> tuple[int, GrowingArrays]:
    """Go on until nothing is left, another policy must take over, or `pause` decisions were made."""
    # Python keeps these alive.
    arrivals, network, plan, state = borrowed(arrivals), borrowed(network), borrowed(plan), borrowed(state)
    time, numbers, values = arrivals.time, arrivals.numbers, arrivals.values
    streams, edges, operators, lists = network.streams, network.edges, network.operators, network.lists
    blocked = network.blocked
    units, unit_at, entries, steps = plan.units.units, plan.units.unit_at, plan.units.entries, plan.units.steps
    doors, clusters, holders = plan.units.doors, plan.units.clusters, plan.turns.holders
    ranking, turns, terms, policy = plan.ranking, plan.turns, plan.terms, plan.policy
    changed_units, chosen = plan.work.changed, plan.work.chosen
    floats, ints, stats, bins = state.floats, state.ints, state.stats, state.bins
    total = len(time)
    chooser = ranking.chooser
    detail, oracle, adaptive = options.detail, policy.oracle, options.adaptive
    minds_setup = options.setup > 0.0 and policy.minds_setup
    grow = [growing.nodes, np.empty(64, NODE), np.empty(64, NODE), np.empty(64, NODE)]
    nodes, out, left, todo = borrowed(grow[POOL]), borrowed(grow[OUT]), borrowed(grow[LEFT]), borrowed(grow[TODO])
    logs = [growing.departures, growing.samples, growing.runs]
    last_holder, sweep = LAST_HOLDER + ints[MODE], SWEEP + ints[MODE]
    stop_at = ints[DECISIONS] + pause
    recheck = False  # whether joins that wait for their inputs may go on

    # See everything anew.
    ints[WAITING] = 0
    turns.bits[:], turns.summary[:] = 0, 0
    for place in range(len(holders)):
        holders[place].waiting = 0
    for place in range(len(clusters)):
        clusters[place].waiting = 0
    for unit in range(len(units)):
        units[unit].waiting, units[unit].dirty = 0, 1
    if oracle:
        terms.made_ahead[:] = 0.0
        for unit in range(len(units)):
            units[unit].needed = 0.0
            for entry in range(units[unit].entry_from, units[unit].entry_to):
                edge, step = entries[entry].edge, entries[entry].foresight
                stream = edges[edge].stream
                if stream != NONE:
                    for place in range(edges[edge].cursor, streams[stream].admitted - streams[stream].fresh):
                        number = numbers[streams[stream].start + place]
                        foresee(network, values, plan, unit, step, number, np.uint64(number) + np.uint64(1), 1.0)
                else:
                    node = edges[edge].first
                    for _ in range(edges[edge].count):
                        foresee(network, values, plan, unit, step, nodes[node].number, nodes[node].identity, 1.0)
                        node = nodes[node].after
    changed = len(units)
    for unit in range(changed):
        changed_units[unit] = unit

    while True:
        now = floats[NOW]
        if now >= options.until:
            return PAUSED, GrowingArrays(grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS])
        if ints[ARRIVED] < total and time[ints[ARRIVED]] <= now:
            admit(streams, arrivals, state, now, True, logs, detail)
        floats[PEAK] = max(floats[PEAK], floats[MEMORY])
        if options.memory < np.inf and now >= floats[NEXT_LOOK]:
            current, passed = floats[MEMORY], now - floats[START]
            mean = floats[AREA] / passed if passed > 0 else current
            highest = min((1 + mean / options.memory) / 2 * options.memory, options.beta * options.memory)
            saves = current >= highest if ints[MODE] == 0 else current > min(mean, options.beta * highest)
            free = max(0.0, 1 - current / options.memory)
            floats[NEXT_LOOK] = now + max(options.shortest, options.longest * free)
            if saves != (ints[MODE] == 1):
                ints[MODE] = 1 if saves else 0
                return CHANGED_MODE, GrowingArrays(grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS])

        # Let the units see what has come from the streams since they last looked.
        for stream in range(len(streams) if ints[FRESH] else 0):
            came = streams[stream].fresh
            if came == 0:
                continue
            streams[stream].fresh = 0
            for leaf in range(streams[stream].leaf_from, streams[stream].leaf_to):
                edge = lists[leaf]
                for place in range(doors[edge].unit_from, doors[edge].unit_to):
                    unit = lists[place]
                    if oracle:
                        for entry in range(units[unit].entry_from, units[unit].entry_to):
                            if entries[entry].edge == edge:
                                for late in range(streams[stream].admitted - came, streams[stream].admitted):
                                    number = numbers[streams[stream].start + late]
                                    foresee(
                                        network,
                                        values,
                                        plan,
                                        unit,
                                        entries[entry].foresight,
                                        number,
                                        np.uint64(number) + np.uint64(1),
                                        1.0,
                                    )
                    if units[unit].waiting == 0 or policy.by_length:
                        changed = marked(units, changed_units, changed, unit)
        recheck = recheck or (ints[FRESH] != 0 and len(blocked) > 0)
        ints[FRESH] = 0
        for place in range(len(blocked) if recheck else 0):
            edge = blocked[place]
            for at in range(doors[edge].unit_from, doors[edge].unit_to):
                changed = marked(units, changed_units, changed, lists[at])
        recheck = False
        for place in range(changed):
            unit = changed_units[place]
            units[unit].dirty = 0
            ints[WAITING] += look(network, numbers, nodes, plan, unit)
            if chooser != ORDER and units[unit].waiting:
                static, price = units[unit].static, units[unit].cost
                if oracle:
                    static, price = foreseen(units, terms, unit)
                units[unit].rank = with_setup(units, options, static, price, unit) if minds_setup else static
        if changed * 8 > len(unit_at):
            place_all(ranking, unit_at, now)
        else:
            for place in range(changed):
                place_unit(ranking, changed_units[place], now)
        changed = 0

        # Choose.
        if ints[DECISIONS] >= stop_at:
            return PAUSED, GrowingArrays(grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS])
        turn = ints[DECISIONS] + 1
        by_age = policy.every > 0 and turn % policy.every == 0
        if by_age:
            unit = oldest_unit(units, time)
        else:
            unit = best_unit(ranking, turns, unit_at, plan.work.stack, ints[last_holder], ints[sweep], now)
        if unit == NONE:
            if ints[ARRIVED] == total:
                return FINISHED, GrowingArrays(grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS])
            floats[NOW] = min(time[ints[ARRIVED]], options.until)
            pass_memory(bins, floats, floats[NOW])
            continue
        ints[DECISIONS] = turn
        if len(holders) > 0 and not by_age:
            _, ints[last_holder], ints[sweep] = turns_of(turns, units, ints[last_holder], ints[sweep], unit)
        chosen[0] = unit
        together = 1
        if policy.together:
            cluster = units[unit].cluster
            for place in range(clusters[cluster].unit_from, clusters[cluster].unit_to):
                mate = lists[place]
                if mate != unit and units[mate].waiting and units[mate].head == units[unit].head:
                    chosen[together] = mate
                    together += 1
        if detail:
            note(logs, RUNS, ints, (now, float(unit)))
        lost = options.setup
        if options.decision > 0.0:
            seen = looked_at(units, clusters, lists, options.fagin) if len(clusters) > 0 else ints[WAITING]
            lost += options.decision * (2 * seen - 1)
        if lost > 0.0:
            end = now + lost
            admit(streams, arrivals, state, end, False, logs, detail)
            pass_memory(bins, floats, end)
            admit(streams, arrivals, state, end, True, logs, detail)
            floats[NOW] = end
            floats[PEAK] = max(floats[PEAK], floats[MEMORY])

        # Serve.
        for which in range(together):
            unit = chosen[which]
            entry_from, entry_to = units[unit].entry_from, units[unit].entry_to
            length = 0
            for entry in range(entry_from, entry_to):
                length += waiting_in(edges, streams, entries[entry].edge)
            room = limit_of(options, length)
            while room > 0:
                # Take the oldest tuple that may be served.
                first_entry, number = NONE, NOBODY
                for entry in range(entry_from, entry_to):
                    edge = entries[entry].edge
                    head = head_of(edges, streams, numbers, nodes, edge)
                    if head < number and is_ready(edges, streams, numbers, nodes, lists, edge):
                        first_entry, number = entry, head
                if first_entry == NONE:
                    break
                room -= 1
                first_edge = entries[first_entry].edge
                alone, identity = 0.0, np.uint64(number) + np.uint64(1)
                if edges[first_edge].stream != NONE:
                    edges[first_edge].cursor += 1
                else:
                    node = edges[first_edge].first
                    alone, identity = nodes[node].alone, nodes[node].identity
                    drop_first(edges, nodes, ints, first_edge)
                for place in range(doors[first_edge].unit_from, doors[first_edge].unit_to):
                    other_unit = lists[place]
                    if oracle:
                        for entry in range(units[other_unit].entry_from, units[other_unit].entry_to):
                            if entries[entry].edge == first_edge:
                                foresee(
                                    network,
                                    values,
                                    plan,
                                    other_unit,
                                    entries[entry].foresight,
                                    number,
                                    identity,
                                    -1.0,
                                )
                    changed = marked(units, changed_units, changed, other_unit)

                # Let it pass the operators of the unit.
                start, moment = floats[NOW], 0.0
                lefts = todos = 0
                step = entries[first_entry].step
                while True:
                    edge = steps[step].edge
                    operator = edges[edge].operator
                    moment += edges[edge].cost
                    alone += edges[edge].cost
                    kind = operators[operator].kind
                    if kind == FILTER:
                        made = 0
                        if drawn(operators, values, operator, number, identity) < operators[operator].selectivity:
                            made = 1
                            out[0].number, out[0].alone, out[0].identity = number, alone, identity
                    elif kind == COPIES:
                        made = copies_of(operators, values, operator, number, identity)
                        while made > len(out):
                            grow[OUT] = twice(grow[OUT])
                            out = borrowed(grow[OUT])
                        for copy in range(made):
                            out[copy].number, out[copy].alone = number, alone
                            out[copy].identity = pair(identity, operators[operator].salt + np.uint64(copy))
                    else:
                        while edges[edges[edge].other].kept > len(out):
                            grow[OUT] = twice(grow[OUT])
                            out = borrowed(grow[OUT])
                        made = joined(network, nodes, time, out, edge, number, alone, identity)
                        if ints[FREE_COUNT] < 1:
                            grow[POOL] = grown(grow[POOL], ints)
                            nodes = borrowed(grow[POOL])
                        keep(edges, nodes, taken(nodes, ints, number, alone, identity), edge)
                        other = edges[edge].other
                        frontier = still_to_come(edges, streams, numbers, nodes, lists, time, other)
                        while edges[edge].kept > edges[edge].rows or (
                            edges[edge].kept > 0
                            and frontier - time[nodes[edges[edge].kept_first].number] > edges[edge].range
                        ):
                            forget_first(edges, nodes, ints, edge)
                    if adaptive or options.counted:
                        operators[operator].taken += 1
                        operators[operator].made += made
                        if adaptive and learn(operators, options, operator):
                            for place in range(terms.below_from[operator], terms.below_from[operator + 1]):
                                other_unit = terms.below[place]
                                rank_again(network, units, terms, other_unit)
                                changed = marked(units, changed_units, changed, other_unit)
                    if made > 0:
                        leaves = start + moment
                        for result in range(operators[operator].result_from, operators[operator].result_to):
                            query = lists[result]
                            for place in range(made):
                                response = leaves - time[out[place].number]
                                slowdown = 1.0 + (response - out[place].alone) / network.ideal[query]
                                record(stats, query, response, slowdown)
                                record(bins, bin_of(bins, floats, leaves), response, slowdown)
                                if detail:
                                    line = (leaves, float(query), float(out[place].number), response, slowdown)
                                    note(logs, DEPARTURES, ints, line)
                        for wait in range(steps[step].wait_from, steps[step].wait_to):
                            for place in range(made):
                                if lefts == len(left):
                                    grow[LEFT] = twice(grow[LEFT])
                                    left = borrowed(grow[LEFT])
                                left[lefts] = out[place]
                                left[lefts].after = lists[wait]
                                lefts += 1
                        child_from, child_to = steps[step].child_from, steps[step].child_to
                        if made == 1 and child_to - child_from == 1:
                            step = lists[child_from]
                            number, alone, identity = out[0].number, out[0].alone, out[0].identity
                            continue
                        for place in range(made - 1, -1, -1):
                            for child in range(child_to - 1, child_from - 1, -1):
                                if todos == len(todo):
                                    grow[TODO] = twice(grow[TODO])
                                    todo = borrowed(grow[TODO])
                                todo[todos] = out[place]
                                todo[todos].after = lists[child]
                                todos += 1
                    if todos == 0:
                        break
                    todos -= 1
                    step, number = todo[todos].after, todo[todos].number
                    alone, identity = todo[todos].alone, todo[todos].identity

                # Let the time pass; then what it made waits where it must.
                end = start + moment
                if ints[ARRIVED] < total and time[ints[ARRIVED]] < end:
                    admit(streams, arrivals, state, end, False, logs, detail)
                pass_memory(bins, floats, end)
                floats[NOW] = end
                floats[MEMORY] -= edges[first_edge].size
                while ints[FREE_COUNT] < lefts:
                    grow[POOL] = grown(grow[POOL], ints)
                    nodes = borrowed(grow[POOL])
                for place in range(lefts):
                    edge = left[place].after
                    node = taken(nodes, ints, left[place].number, left[place].alone, left[place].identity)
                    put(edges, nodes, node, edge)
                    floats[MEMORY] += edges[edge].size
                    for at in range(doors[edge].unit_from, doors[edge].unit_to):
                        other_unit = lists[at]
                        if oracle:
                            for entry in range(units[other_unit].entry_from, units[other_unit].entry_to):
                                if entries[entry].edge == edge:
                                    foresee(
                                        network,
                                        values,
                                        plan,
                                        other_unit,
                                        entries[entry].foresight,
                                        left[place].number,
                                        left[place].identity,
                                        1.0,
                                    )
                        changed = marked(units, changed_units, changed, other_unit)
                if detail:
                    note(logs, SAMPLES, ints, (end, floats[MEMORY]))
                if room > 0 or which + 1 < together:
                    if ints[ARRIVED] < total and time[ints[ARRIVED]] <= end:
                        admit(streams, arrivals, state, end, True, logs, detail)
                    floats[PEAK] = max(floats[PEAK], floats[MEMORY])
        recheck = len(blocked) > 0
