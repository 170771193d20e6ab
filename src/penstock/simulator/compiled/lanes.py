"""The loop for the commonest networks, which is much shorter than the general one: lanes.

A lane is a unit with one queue, a row of filters, and one exit: to the next lane or to the result. Where a network
has no joins, no shared operators and no operator that makes several tuples of one, every unit of every policy is a
lane. Then the number of a tuple is enough: the time it would have taken alone, and its fate, follow from the lane
where it waits. Decisions and results are those of `kernel`, to the last bit.
"""

import numpy as np

from penstock.simulator.compiled.bits import clear_bit, set_bit
from penstock.simulator.compiled.bundles import (
    ArrivalArrays,
    LaneArrays,
    Ranking,
    StateArrays,
    TurnArrays,
)
from penstock.simulator.compiled.choosers import best_unit
from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.fates import pass_parts
from penstock.simulator.compiled.intrinsics import borrowed
from penstock.simulator.compiled.places import (
    ARRIVED,
    DECISIONS,
    FINISHED,
    FREE,
    FREE_COUNT,
    LAST_HOLDER,
    NOW,
    PAUSED,
)
from penstock.simulator.compiled.priorities import turns_of
from penstock.simulator.compiled.recording import (
    advanced,
    memory_level,
    pass_arrivals,
    pass_memory,
    raised,
    record,
    store_level,
    with_peak,
)
from penstock.simulator.compiled.records import CYCLE, NOBODY, NONE, Ints, Records
from penstock.simulator.compiled.tournament import place_all, place_unit


@compiled
def more_links(links: Ints, ints: Ints) -> Ints:
    """Return a pool of twice the size, the new half free."""
    size = len(links)
    more = np.empty((2 * size, 2), np.int64)
    for node in range(size):
        more[node, 0], more[node, 1] = links[node, 0], links[node, 1]
    for node in range(size, 2 * size):
        more[node, 1] = node + 1 if node + 1 < 2 * size else ints[FREE]
    ints[FREE] = size
    ints[FREE_COUNT] += size
    return more


@lean
def wake(turns: TurnArrays, lanes: Records, cycle: bool, lane: int) -> None:
    """Mark a lane as waiting."""
    lanes[lane].waiting = 1
    if cycle:
        for place in range(lanes[lane].holder_from, lanes[lane].holder_to):
            holder = turns.lists[place]
            turns.holders[holder].waiting += 1
            set_bit(turns.bits, turns.summary, holder)


@lean
def sleep(turns: TurnArrays, lanes: Records, cycle: bool, lane: int) -> None:
    """Mark a lane as empty."""
    lanes[lane].waiting, lanes[lane].head = 0, NOBODY
    if cycle:
        for place in range(lanes[lane].holder_from, lanes[lane].holder_to):
            holder = turns.lists[place]
            turns.holders[holder].waiting -= 1
            if turns.holders[holder].waiting == 0:
                clear_bit(turns.bits, turns.summary, holder)


@inlined
def admit_to_lanes(
    given: LaneArrays, arrivals: ArrivalArrays, ranking: Ranking, turns: TurnArrays, arrived: int, now: float
) -> int:
    """Admit the tuples that have arrived by now, and rank their lanes; return how many have arrived in all."""
    time, streams, stack, lanes = arrivals.time, given.streams, given.stack, ranking.units
    woken = 0
    while arrived < len(time) and time[arrived] <= now:
        stream = arrivals.stream_of[arrived]
        streams[stream].admitted += 1
        for place in range(streams[stream].leaf_from, streams[stream].leaf_to):
            lane = turns.lists[place]
            if lanes[lane].waiting == 0:
                lanes[lane].head = arrived
                wake(turns, lanes, ranking.chooser == CYCLE, lane)
                stack[woken] = lane
                woken += 1
            lanes[lane].length += 1
        arrived += 1
    if given.by_length or woken * 8 > len(given.unit_at):
        place_all(ranking, given.unit_at, now)
    else:
        for place in range(woken):
            place_unit(ranking, stack[place], now)
    return arrived


@inlined
def next_head(
    given: LaneArrays, arrivals: ArrivalArrays, ranking: Ranking, turns: TurnArrays, links: Ints, ints: Ints,
    lane: int,
) -> None:  # fmt: skip
    """Take the oldest tuple out of a lane, so that the next one comes to its head."""
    lanes = ranking.units
    stream = lanes[lane].stream
    lanes[lane].length -= 1
    if lanes[lane].length == 0:
        sleep(turns, lanes, ranking.chooser == CYCLE, lane)
        if stream != NONE:
            lanes[lane].cursor += 1
    elif stream != NONE:
        lanes[lane].cursor += 1
        lanes[lane].head = arrivals.numbers[given.streams[stream].start + lanes[lane].cursor]
    else:
        lanes[lane].head = links[links[lanes[lane].cursor, 1], 0]
    if stream == NONE:
        node = lanes[lane].cursor
        lanes[lane].cursor = links[node, 1]
        links[node, 1] = ints[FREE]
        ints[FREE] = node
        ints[FREE_COUNT] += 1


@inlined
def wait_at(ranking: Ranking, turns: TurnArrays, links: Ints, ints: Ints, lane: int, number: int) -> None:
    """Put a tuple behind those that wait at a lane."""
    lanes = ranking.units
    node = ints[FREE]
    ints[FREE] = links[node, 1]
    ints[FREE_COUNT] -= 1
    links[node, 0] = number
    if lanes[lane].length == 0:
        lanes[lane].cursor, lanes[lane].head = node, number
        wake(turns, lanes, ranking.chooser == CYCLE, lane)
    else:
        links[lanes[lane].last, 1] = node
    lanes[lane].last = node
    lanes[lane].length += 1


@compiled
def run_lanes(
    arrivals: ArrivalArrays,
    given: LaneArrays,
    ranking: Ranking,
    turns: TurnArrays,
    state: StateArrays,
    links: Ints,
    pause: int,
) -> tuple[int, Ints]:
    """Go on until nothing is left or `pause` decisions were made."""
    # Python keeps these alive.
    arrivals, given, ranking = borrowed(arrivals), borrowed(given), borrowed(ranking)
    turns, state = borrowed(turns), borrowed(state)
    time, streams, unit_at, stack = arrivals.time, given.streams, given.unit_at, given.stack
    lanes, floats, ints = ranking.units, state.floats, state.ints
    grow = [links]
    links = borrowed(grow[0])
    total = len(time)
    in_cycle = ranking.chooser == CYCLE
    now, level = floats[NOW], memory_level(state)
    decisions, arrived = ints[DECISIONS], ints[ARRIVED]
    stop_at = decisions + pause
    counted = arrived  # so many arrivals are in the memory level already
    coming = time[arrived] if arrived < total else np.inf
    while True:
        if coming <= now:
            before = max(arrived, counted)
            arrived = admit_to_lanes(given, arrivals, ranking, turns, arrived, now)
            for number in range(before, arrived):
                level = raised(level, streams[arrivals.stream_of[number]].memory)
            coming = time[arrived] if arrived < total else np.inf
        level = with_peak(level)
        if decisions >= stop_at:
            break
        lane = best_unit(ranking, turns, unit_at, stack, ints[LAST_HOLDER], 0, now)
        if lane == NONE:
            if arrived == total:
                break
            now = coming
            store_level(state, level)
            pass_memory(state.bins, floats, now)
            level = memory_level(state)
            continue
        decisions += 1
        if len(turns.holders) > 0:
            _, ints[LAST_HOLDER], _ = turns_of(turns, lanes, ints[LAST_HOLDER], 0, lane)

        # Serve: the oldest tuple passes the operators of the lane.
        number = lanes[lane].head
        passed, spent = pass_parts(given.parts, lanes[lane].part_from, lanes[lane].part_to, number)
        now += spent
        if coming < now or now >= level.bin_end:
            store_level(state, level)
            counted = pass_arrivals(streams, arrivals, state, arrived, now)
            level = memory_level(state)
        else:
            level = advanced(level, now)
        level = raised(level, -lanes[lane].size)
        next_head(given, arrivals, ranking, turns, links, ints, lane)
        if not in_cycle:
            place_unit(ranking, lane, now)

        # What passed leaves, or waits at the next lane.
        if not passed:
            continue
        after = lanes[lane].next
        if after == NONE:
            query, response = lanes[lane].query, now - time[number]
            slowdown = 1.0 + (response - lanes[lane].alone) / given.ideal[query]
            record(state.stats, query, response, slowdown)
            record(state.bins, level.bin, response, slowdown)
            continue
        if ints[FREE_COUNT] == 0:
            grow[0] = more_links(grow[0], ints)
            links = borrowed(grow[0])
        level = raised(level, lanes[after].size)
        wait_at(ranking, turns, links, ints, after, number)
        if not in_cycle and (given.by_length or lanes[after].length == 1):
            place_unit(ranking, after, now)
    store_level(state, level)
    floats[NOW] = now
    ints[DECISIONS], ints[ARRIVED] = decisions, arrived
    return (PAUSED if decisions >= stop_at else FINISHED), grow[0]
