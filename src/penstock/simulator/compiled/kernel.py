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
from penstock.simulator.compiled.choosers import (
    PLACES_MASK,
    best_by_scan,
    best_by_turns,
    catch_up,
    looked_at,
    oldest_unit,
    place_all,
    place_unit,
    turns_of,
)
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import chance, pair
from penstock.simulator.compiled.intrinsics import borrowed
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
    CYCLE,
    FILTER,
    KINETIC,
    LINES,
    NOBODY,
    NODE,
    NONE,
    ORDER,
    Floats,
    Ints,
    Options,
    Policy,
    Records,
    Words,
)
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
def note(
    logs: list[Floats], which: int, ints: Ints, count: int, a: float, b: float, c: float, d: float, e: float
) -> None:
    """Write a line of a log."""
    used = ints[count]
    logs[which] = longer(logs[which], used)
    line = logs[which][used]
    line[0], line[1] = a, b
    if len(line) > 2:
        line[2], line[3], line[4] = c, d, e
    ints[count] += 1


@compiled
def admit(
    streams: Records, time: Floats, stream_of: Ints, bins: Floats, floats: Floats, ints: Ints, until: float,
    also_then: bool, logs: list[Floats], detail: bool,
) -> None:  # fmt: skip
    """Let in what arrives before `until`, or then too."""
    arrived, total = ints[ARRIVED], len(time)
    while arrived < total and (time[arrived] < until or (also_then and time[arrived] == until)):
        moment = time[arrived]
        pass_memory(bins, floats, moment)
        stream = stream_of[arrived]
        streams[stream].admitted += 1
        streams[stream].fresh += 1
        ints[FRESH] = 1
        floats[MEMORY] += streams[stream].memory
        arrived += 1
        if arrived == total or time[arrived] > moment:
            if moment < until:
                floats[PEAK] = max(floats[PEAK], floats[MEMORY])
            if detail:
                note(logs, SAMPLES, ints, SAMPLED, moment, floats[MEMORY], 0.0, 0.0, 0.0)
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
    edges: Records, operators: Records, nodes: Records, time: Floats, out: Records, edge: int, number: int,
    alone: float, identity: np.uint64,
) -> int:  # fmt: skip
    """Match a tuple with what a window join keeps of its other input; write down the matches, return how many.

    Alone on the processor, the later of two would wait at most until the earlier one is done (SCLP08 §5.1.2).
    """
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
    streams: Records, edges: Records, operators: Records, ideal: Floats, lists: Ints, blocked: Ints,
    time: Floats, stream_of: Ints, numbers: Ints, values: Floats,
    units: Records, entries: Records, steps: Records, doors: Records, holders: Records, clusters: Records,
    unit_at: Ints, factors: Ints, ties: Ints,
    way_query: Ints, features: Floats, whole: Floats, gain: Floats, cost: Floats, made_ahead: Floats,
    below_from: Ints, below: Ints, tree: Records, keys: Ints, bits: Words, summary: Words,
    scratch: Floats, stack: Ints, changed_units: Ints, chosen: Ints,
    policy: Policy, options: Options,
    nodes: Records, floats: Floats, ints: Ints, stats: Floats, bins: Floats,
    departures: Floats, samples: Floats, runs: Floats, pause: int,
) -> tuple[int, Records, Floats, Floats, Floats]:  # fmt: skip
    """Go on until nothing is left, another policy must take over, or `pause` decisions were made."""
    # Python keeps these alive.
    streams, edges, operators, ideal, lists = (
        borrowed(streams),
        borrowed(edges),
        borrowed(operators),
        borrowed(ideal),
        borrowed(lists),
    )
    blocked, time, stream_of, numbers, values = (
        borrowed(blocked),
        borrowed(time),
        borrowed(stream_of),
        borrowed(numbers),
        borrowed(values),
    )
    units, entries, steps, doors, holders = (
        borrowed(units),
        borrowed(entries),
        borrowed(steps),
        borrowed(doors),
        borrowed(holders),
    )
    clusters, unit_at, factors, ties, way_query = (
        borrowed(clusters),
        borrowed(unit_at),
        borrowed(factors),
        borrowed(ties),
        borrowed(way_query),
    )
    features, whole, gain, cost, made_ahead = (
        borrowed(features),
        borrowed(whole),
        borrowed(gain),
        borrowed(cost),
        borrowed(made_ahead),
    )
    below_from, below, tree, keys, bits = (
        borrowed(below_from),
        borrowed(below),
        borrowed(tree),
        borrowed(keys),
        borrowed(bits),
    )
    summary, floats, ints, stats, bins = (
        borrowed(summary),
        borrowed(floats),
        borrowed(ints),
        borrowed(stats),
        borrowed(bins),
    )
    scratch, stack, changed_units, chosen = (
        borrowed(scratch), borrowed(stack), borrowed(changed_units), borrowed(chosen)
    )  # fmt: skip
    total = len(time)
    chooser = policy.chooser
    detail, oracle, adaptive = options.detail, policy.oracle, options.adaptive
    minds_setup = options.setup > 0.0 and policy.minds_setup
    grow = [nodes, np.empty(64, NODE), np.empty(64, NODE), np.empty(64, NODE)]
    nodes, out, left, todo = borrowed(grow[POOL]), borrowed(grow[OUT]), borrowed(grow[LEFT]), borrowed(grow[TODO])
    logs = [departures, samples, runs]
    last_holder, sweep = LAST_HOLDER + ints[MODE], SWEEP + ints[MODE]
    stop_at = ints[DECISIONS] + pause
    recheck = False  # whether joins that wait for their inputs may go on

    # See everything anew.
    ints[WAITING] = 0
    bits[:], summary[:] = 0, 0
    for place in range(len(holders)):
        holders[place].waiting = 0
    for place in range(len(clusters)):
        clusters[place].waiting = 0
    for unit in range(len(units)):
        units[unit].waiting, units[unit].dirty = 0, 1
    if oracle:
        made_ahead[:] = 0.0
        for unit in range(len(units)):
            units[unit].needed = 0.0
            for entry in range(units[unit].entry_from, units[unit].entry_to):
                edge, step = entries[entry].edge, entries[entry].foresight
                stream = edges[edge].stream
                if stream != NONE:
                    for place in range(edges[edge].cursor, streams[stream].admitted - streams[stream].fresh):
                        number = numbers[streams[stream].start + place]
                        foresee(
                            edges, operators, units, steps, lists, values, way_query, made_ahead, unit, step,
                            number, np.uint64(number) + np.uint64(1), 1.0,
                        )  # fmt: skip
                else:
                    node = edges[edge].first
                    for _ in range(edges[edge].count):
                        foresee(
                            edges, operators, units, steps, lists, values, way_query, made_ahead, unit, step,
                            nodes[node].number, nodes[node].identity, 1.0,
                        )  # fmt: skip
                        node = nodes[node].after
    changed = len(units)
    for unit in range(changed):
        changed_units[unit] = unit

    while True:
        now = floats[NOW]
        if now >= options.until:
            return PAUSED, grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS]
        if ints[ARRIVED] < total and time[ints[ARRIVED]] <= now:
            admit(streams, time, stream_of, bins, floats, ints, now, True, logs, detail)
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
                return CHANGED_MODE, grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS]

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
                                        edges, operators, units, steps, lists, values, way_query, made_ahead, unit,
                                        entries[entry].foresight, number, np.uint64(number) + np.uint64(1), 1.0,
                                    )  # fmt: skip
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
            ints[WAITING] += look(
                edges, streams, numbers, nodes, lists, units, entries, holders, clusters, bits, summary,
                chooser == CYCLE, unit,
            )  # fmt: skip
            if chooser != ORDER and units[unit].waiting:
                static, price = units[unit].static, units[unit].cost
                if oracle:
                    static, price = foreseen(units, features, whole, gain, cost, made_ahead, unit, scratch)
                units[unit].rank = with_setup(units, options, static, price, unit) if minds_setup else static
        if changed * 8 > len(unit_at):
            place_all(chooser, units, unit_at, factors, ties, tree, keys, time, policy.by_age, now)
        else:
            for place in range(changed):
                place_unit(
                    chooser, units, factors, ties, tree, keys, time, policy.by_age, changed_units[place], now
                )
        changed = 0

        # Choose.
        if ints[DECISIONS] >= stop_at:
            return PAUSED, grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS]
        turn = ints[DECISIONS] + 1
        by_age = policy.every > 0 and turn % policy.every == 0
        if by_age:
            unit = oldest_unit(units, time)
        elif chooser == ORDER:
            unit = NONE if keys[1] == NOBODY else unit_at[keys[1] & PLACES_MASK]
        elif chooser == KINETIC:
            if tree[1].until <= now:
                catch_up(units, factors, ties, tree, time, policy.by_age, stack, now)
            unit = tree[1].unit
        elif chooser == LINES:
            unit = best_by_scan(units, factors, ties, tree, time, policy.by_age, len(unit_at), now)
        else:
            unit = best_by_turns(
                chooser,
                units,
                holders,
                lists,
                factors,
                ties,
                bits,
                summary,
                time,
                policy.sweeps,
                ints[last_holder],
                ints[sweep],
                now,
            )
        if unit == NONE:
            if ints[ARRIVED] == total:
                return FINISHED, grow[POOL], logs[DEPARTURES], logs[SAMPLES], logs[RUNS]
            floats[NOW] = min(time[ints[ARRIVED]], options.until)
            pass_memory(bins, floats, floats[NOW])
            continue
        ints[DECISIONS] = turn
        if len(holders) > 0 and not by_age:
            _, ints[last_holder], ints[sweep] = turns_of(
                units, lists, holders, policy.sweeps, ints[last_holder], ints[sweep], unit
            )
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
            note(logs, RUNS, ints, RAN, now, unit, 0.0, 0.0, 0.0)
        lost = options.setup
        if options.decision > 0.0:
            seen = looked_at(units, clusters, lists, options.fagin) if len(clusters) > 0 else ints[WAITING]
            lost += options.decision * (2 * seen - 1)
        if lost > 0.0:
            end = now + lost
            admit(streams, time, stream_of, bins, floats, ints, end, False, logs, detail)
            pass_memory(bins, floats, end)
            admit(streams, time, stream_of, bins, floats, ints, end, True, logs, detail)
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
                                    edges, operators, units, steps, lists, values, way_query, made_ahead,
                                    other_unit, entries[entry].foresight, number, identity, -1.0,
                                )  # fmt: skip
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
                        made = joined(edges, operators, nodes, time, out, edge, number, alone, identity)
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
                            for place in range(below_from[operator], below_from[operator + 1]):
                                other_unit = below[place]
                                rank_again(
                                    edges, operators, units, lists, features, gain, cost, other_unit, scratch
                                )
                                changed = marked(units, changed_units, changed, other_unit)
                    if made > 0:
                        leaves = start + moment
                        for result in range(operators[operator].result_from, operators[operator].result_to):
                            query = lists[result]
                            for place in range(made):
                                response = leaves - time[out[place].number]
                                slowdown = 1.0 + (response - out[place].alone) / ideal[query]
                                record(stats, query, response, slowdown)
                                record(bins, bin_of(bins, floats, leaves), response, slowdown)
                                if detail:
                                    note(
                                        logs, DEPARTURES, ints, DEPARTED,
                                        leaves, query, out[place].number, response, slowdown,
                                    )  # fmt: skip
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
                    admit(streams, time, stream_of, bins, floats, ints, end, False, logs, detail)
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
                                        edges, operators, units, steps, lists, values, way_query, made_ahead,
                                        other_unit, entries[entry].foresight, left[place].number,
                                        left[place].identity, 1.0,
                                    )  # fmt: skip
                        changed = marked(units, changed_units, changed, other_unit)
                if detail:
                    note(logs, SAMPLES, ints, SAMPLED, end, floats[MEMORY], 0.0, 0.0, 0.0)
                if room > 0 or which + 1 < together:
                    if ints[ARRIVED] < total and time[ints[ARRIVED]] <= end:
                        admit(streams, time, stream_of, bins, floats, ints, end, True, logs, detail)
                    floats[PEAK] = max(floats[PEAK], floats[MEMORY])
        recheck = len(blocked) > 0
