"""The same course for the commonest networks, where it can be much shorter: lanes.

A lane is a unit with one queue, a row of operators that pass a tuple or not, and one way out: to the next lane or
to the result. Where a network has no joins, no shared operators and no operator that makes several tuples of one,
every unit of every policy is a lane. Then a tuple is its number alone: how long it would have taken so far and
what becomes of it follow from where it is. The decisions are those of `kernel`, and the results are the same to
the last bit.
"""

import numpy as np

from penstock.simulator.compiled.bits import clear_bit, set_bit
from penstock.simulator.compiled.books import (
    AREA,
    BIN,
    BIN_AREA,
    BIN_END,
    BIN_PEAK,
    MEMORY,
    NOW,
    PEAK,
    SINCE,
    pass_memory,
    record,
)
from penstock.simulator.compiled.bundles import ArrivalArrays, LaneArrays, Ranking, StateArrays, TurnArrays
from penstock.simulator.compiled.choosers import best_unit
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import bits_of
from penstock.simulator.compiled.intrinsics import borrowed
from penstock.simulator.compiled.kernel import ARRIVED, DECISIONS, FINISHED, LAST_HOLDER, PAUSED
from penstock.simulator.compiled.priorities import turns_of
from penstock.simulator.compiled.queues import FREE, FREE_COUNT
from penstock.simulator.compiled.records import (
    CYCLE,
    NOBODY,
    NONE,
    Ints,
    Records,
)
from penstock.simulator.compiled.tournament import place_all, place_unit


@compiled
def more_links(links: Ints, ints: Ints) -> Ints:
    """Return a pool of twice the size, the new half free."""
    size = len(links)
    more = np.empty((2 * size, 2), np.int64)
    more[:size] = links
    for node in range(size, 2 * size):
        more[node, 1] = node + 1 if node + 1 < 2 * size else ints[FREE]
    ints[FREE] = size
    ints[FREE_COUNT] += size
    return more


@lean
def wake(turns: TurnArrays, lanes: Records, cycle: bool, lane: int) -> None:
    """Note that something waits again."""
    lanes[lane].waiting = 1
    if cycle:
        for place in range(lanes[lane].holder_from, lanes[lane].holder_to):
            holder = turns.lists[place]
            turns.holders[holder].waiting += 1
            set_bit(turns.bits, turns.summary, holder)


@lean
def sleep(turns: TurnArrays, lanes: Records, cycle: bool, lane: int) -> None:
    """Note that nothing waits any more."""
    lanes[lane].waiting, lanes[lane].head = 0, NOBODY
    if cycle:
        for place in range(lanes[lane].holder_from, lanes[lane].holder_to):
            holder = turns.lists[place]
            turns.holders[holder].waiting -= 1
            if turns.holders[holder].waiting == 0:
                clear_bit(turns.bits, turns.summary, holder)


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
    time, stream_of, numbers = arrivals.time, arrivals.stream_of, arrivals.numbers
    streams, parts, unit_at, stack = given.streams, given.parts, given.unit_at, given.stack
    lanes, holders, lists = ranking.units, turns.holders, turns.lists
    floats, ints, stats, bins = state.floats, state.ints, state.stats, state.bins
    grow = [links]
    links = borrowed(grow[0])
    total = len(time)
    chooser, by_length = ranking.chooser, given.by_length
    cycle = chooser == CYCLE
    stop_at = ints[DECISIONS] + pause
    now, memory, since = floats[NOW], floats[MEMORY], floats[SINCE]
    area, peak, bin_end = floats[AREA], floats[PEAK], floats[BIN_END]
    here = int(floats[BIN])
    bin_area, bin_peak = bins[here, BIN_AREA], bins[here, BIN_PEAK]
    decisions, arrived = ints[DECISIONS], ints[ARRIVED]
    coming = time[arrived] if arrived < total else np.inf
    counted = arrived
    while True:
        # Let in what has come by now, and let the lanes see it.
        if coming <= now:
            woken = 0
            while coming <= now:
                stream = stream_of[arrived]
                if arrived >= counted:
                    memory += streams[stream].memory
                streams[stream].admitted += 1
                for place in range(streams[stream].leaf_from, streams[stream].leaf_to):
                    lane = lists[place]
                    if lanes[lane].waiting == 0:
                        lanes[lane].head = arrived
                        wake(turns, lanes, cycle, lane)
                        stack[woken] = lane
                        woken += 1
                    lanes[lane].length += 1
                arrived += 1
                coming = time[arrived] if arrived < total else np.inf
            if by_length or woken * 8 > len(unit_at):
                place_all(ranking, unit_at, now)
            else:
                for place in range(woken):
                    place_unit(ranking, stack[place], now)
        peak = max(peak, memory)

        # Choose.
        if decisions >= stop_at:
            break
        lane = best_unit(ranking, turns, unit_at, stack, ints[LAST_HOLDER], 0, now)
        if lane == NONE:
            if arrived == total:
                break
            now = coming
            floats[MEMORY], floats[SINCE], floats[AREA], floats[BIN], floats[BIN_END] = (
                memory, since, area, here, bin_end
            )  # fmt: skip
            bins[here, BIN_AREA], bins[here, BIN_PEAK] = bin_area, bin_peak
            pass_memory(bins, floats, now)
            since, area, bin_end, here = floats[SINCE], floats[AREA], floats[BIN_END], int(floats[BIN])
            bin_area, bin_peak = bins[here, BIN_AREA], bins[here, BIN_PEAK]
            continue
        decisions += 1
        if len(holders) > 0:
            _, ints[LAST_HOLDER], _ = turns_of(turns, lanes, ints[LAST_HOLDER], 0, lane)

        # Serve: the oldest tuple passes the operators of the lane.
        number = lanes[lane].head
        identity = np.uint64(number) + np.uint64(1)
        moment = 0.0
        passed = True
        for part in range(lanes[lane].part_from, lanes[lane].part_to):
            moment += parts[part].cost
            if bits_of(identity, parts[part].salt) >= parts[part].bar:
                passed = False
                break
        end = now + moment

        # Let the time pass.
        if coming < end or end >= bin_end:
            floats[MEMORY], floats[SINCE], floats[AREA], floats[BIN], floats[BIN_END] = (
                memory, since, area, here, bin_end
            )  # fmt: skip
            bins[here, BIN_AREA], bins[here, BIN_PEAK] = bin_area, bin_peak
            later = arrived
            while later < total and time[later] < end:
                pass_memory(bins, floats, time[later])
                floats[MEMORY] += streams[stream_of[later]].memory
                later += 1
                peak = max(peak, floats[MEMORY])
            pass_memory(bins, floats, end)
            counted, memory = later, floats[MEMORY]
            since, area, bin_end, here = floats[SINCE], floats[AREA], floats[BIN_END], int(floats[BIN])
            bin_area, bin_peak = bins[here, BIN_AREA], bins[here, BIN_PEAK]
        else:
            area += memory * (end - since)
            bin_area += memory * (end - since)
            bin_peak = max(bin_peak, memory)
            since = end
        now = end
        memory -= lanes[lane].size

        # The next tuple of the lane comes to its head.
        stream = lanes[lane].stream
        lanes[lane].length -= 1
        if lanes[lane].length == 0:
            sleep(turns, lanes, cycle, lane)
            if stream != NONE:
                lanes[lane].cursor += 1
        elif stream != NONE:
            lanes[lane].cursor += 1
            lanes[lane].head = numbers[streams[stream].start + lanes[lane].cursor]
        else:
            lanes[lane].head = links[links[lanes[lane].cursor, 1], 0]
        if stream == NONE:
            node = lanes[lane].cursor
            lanes[lane].cursor = links[node, 1]
            links[node, 1] = ints[FREE]
            ints[FREE] = node
            ints[FREE_COUNT] += 1
        if chooser != CYCLE:
            place_unit(ranking, lane, now)

        # What passed leaves, or waits at the next lane.
        if not passed:
            continue
        after = lanes[lane].next
        if after == NONE:
            query = lanes[lane].query
            response = end - time[number]
            slowdown = 1.0 + (response - lanes[lane].alone) / given.ideal[query]
            record(stats, query, response, slowdown)
            record(bins, here, response, slowdown)
            continue
        if ints[FREE_COUNT] == 0:
            grow[0] = more_links(grow[0], ints)
            links = borrowed(grow[0])
        node = ints[FREE]
        ints[FREE] = links[node, 1]
        ints[FREE_COUNT] -= 1
        links[node, 0] = number
        memory += lanes[after].size
        if lanes[after].length == 0:
            lanes[after].cursor, lanes[after].head = node, number
            wake(turns, lanes, cycle, after)
        else:
            links[lanes[after].last, 1] = node
        lanes[after].last = node
        lanes[after].length += 1
        if chooser != CYCLE and (by_length or lanes[after].length == 1):
            place_unit(ranking, after, now)
    floats[NOW], floats[MEMORY], floats[SINCE] = now, memory, since
    floats[AREA], floats[PEAK], floats[BIN], floats[BIN_END] = area, peak, here, bin_end
    bins[here, BIN_AREA], bins[here, BIN_PEAK] = bin_area, bin_peak
    ints[DECISIONS], ints[ARRIVED] = decisions, arrived
    return (PAUSED if decisions >= stop_at else FINISHED), grow[0]
