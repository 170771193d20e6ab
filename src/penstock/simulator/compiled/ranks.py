"""The shortest loop: static priorities, one stream, every tuple passes its whole lane.

Lanes of one rank take turns: the oldest tuple is served first, and among equals the lower place. So a rank needs
only the number of a tuple, the lane whose turn it is, and a bit that says whether tuples wait. An arrival sets all
bits. First come, first served is one rank of all lanes. Results are those of `lanes`, to the last bit.
"""

import numpy as np

from penstock.simulator.compiled.bits import clear_bit, first_bit
from penstock.simulator.compiled.bundles import ArrivalArrays, RankArrays, StateArrays
from penstock.simulator.compiled.compile import compiled
from penstock.simulator.compiled.fates import pass_parts
from penstock.simulator.compiled.intrinsics import borrowed
from penstock.simulator.compiled.places import ARRIVED, DECISIONS, FINISHED, NOW, PAUSED
from penstock.simulator.compiled.recording import (
    advanced,
    memory_level,
    pass_arrivals,
    raised,
    record,
    store_level,
    with_peak,
)
from penstock.simulator.compiled.records import NONE


@compiled
def run_ranks(given: RankArrays, arrivals: ArrivalArrays, state: StateArrays, pause: int) -> int:
    """Go on until nothing is left or `pause` decisions were made."""
    # Python keeps these alive.
    given, arrivals, state = borrowed(given), borrowed(arrivals), borrowed(state)
    time, floats, ints = arrivals.time, state.floats, state.ints
    tracks, ranks, bits, summary = given.tracks, given.ranks, given.bits, given.summary
    total = len(time)
    now, level = floats[NOW], memory_level(state)
    decisions, arrived = ints[DECISIONS], ints[ARRIVED]
    stop_at = decisions + pause
    counted = arrived  # so many arrivals are in the memory level already
    coming = time[arrived] if arrived < total else np.inf
    while decisions < stop_at:
        if coming <= now:
            while coming <= now:
                if arrived >= counted:
                    level = raised(level, given.streams[0].memory)
                arrived += 1
                coming = time[arrived] if arrived < total else np.inf
            for word in range(len(bits)):
                bits[word] = given.full[word]
                summary[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
        level = with_peak(level)
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
            passed, spent = pass_parts(given.parts, tracks[lane].part_from, tracks[lane].part_to, number)
            end = now + spent
        elif arrived == total:
            break
        if coming < end or end >= level.bin_end:
            store_level(state, level)
            counted = pass_arrivals(given.streams, arrivals, state, arrived, end)
            level = memory_level(state)
        else:
            level = advanced(level, end)
        now = end
        if rank != NONE:
            level = raised(level, -given.size)
        if passed:
            response = end - time[number]
            slowdown = 1.0 + (response - tracks[lane].alone) / tracks[lane].ideal
            record(state.stats, tracks[lane].row, response, slowdown)
            record(state.bins, level.bin, response, slowdown)
    store_level(state, level)
    floats[NOW] = now
    ints[DECISIONS], ints[ARRIVED] = decisions, arrived
    return PAUSED if decisions >= stop_at else FINISHED
