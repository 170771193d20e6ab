"""The shortest course: static priorities, one stream, every tuple through its whole lane.

Lanes of one rank start together and take turns, for the oldest tuple goes first and then the lower place. So a
rank needs a number and whose turn it is, and a bit that says whether something waits: an arrival sets them all.
First come first served is one rank of all lanes. Results are those of `lanes` to the last bit.
"""

import numpy as np

from penstock.simulator.compiled.bits import clear_bit, first_bit
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
from penstock.simulator.compiled.bundles import RankArrays, StateArrays
from penstock.simulator.compiled.compile import compiled
from penstock.simulator.compiled.fates import bits_of
from penstock.simulator.compiled.intrinsics import borrowed
from penstock.simulator.compiled.kernel import ARRIVED, DECISIONS, FINISHED, PAUSED
from penstock.simulator.compiled.records import NONE, Floats


@compiled
def run_ranks(given: RankArrays, time: Floats, state: StateArrays, pause: int) -> int:
    """Go on until nothing is left or `pause` decisions were made."""
    # Python keeps these alive.
    given, time, state = borrowed(given), borrowed(time), borrowed(state)
    tracks, parts, ranks = given.tracks, given.parts, given.ranks
    bits, summary, full = given.bits, given.summary, given.full
    memory_each, size = given.streams[0].memory, given.size
    floats, ints, stats, bins = state.floats, state.ints, state.stats, state.bins
    total = len(time)
    stop_at = ints[DECISIONS] + pause
    now, memory, since = floats[NOW], floats[MEMORY], floats[SINCE]
    area, peak, bin_end = floats[AREA], floats[PEAK], floats[BIN_END]
    here = int(floats[BIN])
    bin_area, bin_peak = bins[here, BIN_AREA], bins[here, BIN_PEAK]
    decisions, arrived = ints[DECISIONS], ints[ARRIVED]
    coming = time[arrived] if arrived < total else np.inf
    counted = arrived
    while decisions < stop_at:
        if coming <= now:
            while coming <= now:
                if arrived >= counted:
                    memory += memory_each
                arrived += 1
                coming = time[arrived] if arrived < total else np.inf
            for word in range(len(bits)):
                bits[word] = full[word]
                summary[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
        peak = max(peak, memory)
        rank = first_bit(bits, summary)
        end = coming
        number = lane = 0
        passed = False
        if rank != NONE:
            decisions += 1
            number, lane = ranks[rank].number, ranks[rank].first + ranks[rank].turn
            ranks[rank].turn += 1
            if ranks[rank].turn == ranks[rank].count:
                ranks[rank].turn = 0
                ranks[rank].number += 1
                if ranks[rank].number == arrived:
                    clear_bit(bits, summary, rank)
            identity = np.uint64(number) + np.uint64(1)
            moment = 0.0
            passed = True
            for part in range(tracks[lane].part_from, tracks[lane].part_to):
                moment += parts[part].cost
                if bits_of(identity, parts[part].salt) >= parts[part].bar:
                    passed = False
                    break
            end = now + moment
        elif arrived == total:
            break
        if coming < end or end >= bin_end:
            floats[MEMORY], floats[SINCE], floats[AREA] = memory, since, area
            bins[here, BIN_AREA], bins[here, BIN_PEAK] = bin_area, bin_peak
            later = arrived
            while later < total and time[later] < end:
                pass_memory(bins, floats, time[later])
                floats[MEMORY] += memory_each
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
        if rank != NONE:
            memory -= size
        if passed:
            response = end - time[number]
            slowdown = 1.0 + (response - tracks[lane].alone) / tracks[lane].ideal
            record(stats, tracks[lane].row, response, slowdown)
            record(bins, here, response, slowdown)
    floats[NOW], floats[MEMORY], floats[SINCE] = now, memory, since
    floats[AREA], floats[PEAK], floats[BIN], floats[BIN_END] = area, peak, here, bin_end
    bins[here, BIN_AREA], bins[here, BIN_PEAK] = bin_area, bin_peak
    ints[DECISIONS], ints[ARRIVED] = decisions, arrived
    return PAUSED if decisions >= stop_at else FINISHED
