"""Recording: memory over time, results per query and per interval, and every event where that is wanted."""

import numpy as np

from penstock.simulator.compiled.bundles import ArrivalArrays, MemoryLevel, StateArrays
from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.places import (
    AREA,
    BIN,
    BIN_AREA,
    BIN_END,
    BIN_PEAK,
    BIN_WIDTH,
    COUNT,
    DEPARTED,
    MAX_H,
    MAX_R,
    MEMORY,
    PEAK,
    SINCE,
    SQUARES_H,
    SQUARES_R,
    START,
    SUM_H,
    SUM_R,
)
from penstock.simulator.compiled.records import Floats, Ints, Records


@lean
def halve(bins: Floats, floats: Floats) -> None:
    """Make every interval twice as long, because the run takes longer than estimated."""
    half = len(bins) // 2
    for place in range(half):
        for field in range(bins.shape[1]):
            left, right = bins[2 * place, field], bins[2 * place + 1, field]
            largest = field in (MAX_R, MAX_H, BIN_PEAK)
            bins[place, field] = max(left, right) if largest else left + right
    bins[half:] = 0.0
    floats[BIN_WIDTH] *= 2
    floats[BIN_END] = -np.inf


@lean
def bin_of(bins: Floats, floats: Floats, time: float) -> int:
    """Return the interval of a time; mostly the current one."""
    if time < floats[BIN_END] and time >= floats[SINCE]:
        return int(floats[BIN])
    place = int((time - floats[START]) / floats[BIN_WIDTH])
    while place >= len(bins):
        halve(bins, floats)
        place = int((time - floats[START]) / floats[BIN_WIDTH])
    return place


@lean
def pass_memory(bins: Floats, floats: Floats, time: float) -> None:
    """Advance time at constant memory, and add to its area, in all and by interval."""
    memory, since = floats[MEMORY], floats[SINCE]
    if time <= since:
        return
    floats[AREA] += memory * (time - since)
    if time >= floats[BIN_END]:
        here = bin_of(bins, floats, time)
        place = int((since - floats[START]) / floats[BIN_WIDTH])
        while place < here:
            end = floats[START] + (place + 1) * floats[BIN_WIDTH]
            bins[place, BIN_AREA] += memory * max(0.0, end - since)
            bins[place, BIN_PEAK] = max(bins[place, BIN_PEAK], memory)
            since = max(since, end)
            place += 1
        floats[BIN], floats[BIN_END] = here, floats[START] + (here + 1) * floats[BIN_WIDTH]
    here = int(floats[BIN])
    bins[here, BIN_AREA] += memory * (time - since)
    bins[here, BIN_PEAK] = max(bins[here, BIN_PEAK], memory)
    floats[SINCE] = time


@lean
def record(into: Floats, place: int, response: float, slowdown: float) -> None:
    """Add a result to the sums of a query or an interval."""
    into[place, COUNT] += 1
    into[place, SUM_R] += response
    into[place, MAX_R] = max(into[place, MAX_R], response)
    into[place, SQUARES_R] += response * response
    into[place, SUM_H] += slowdown
    into[place, MAX_H] = max(into[place, MAX_H], slowdown)
    into[place, SQUARES_H] += slowdown * slowdown


@compiled
def longer(rows: Floats, used: int) -> Floats:
    """Return an array with room for one more row at least."""
    if used < len(rows):
        return rows
    more = np.empty((2 * len(rows), rows.shape[1]))
    for row in range(used):
        for column in range(rows.shape[1]):
            more[row, column] = rows[row, column]
    return more


@compiled
def note(logs: list[Floats], which: int, ints: Ints, values: tuple[float, ...]) -> None:
    """Write a line of a log."""
    used = ints[DEPARTED + which]
    logs[which] = longer(logs[which], used)
    line = logs[which][used]
    for place in range(len(values)):
        line[place] = values[place]
    ints[DEPARTED + which] += 1


# For loops that keep these numbers in variables ---------------------------------------------------------------


@inlined
def memory_level(state: StateArrays) -> MemoryLevel:
    """Return the counters of memory that a loop keeps in variables."""
    floats, bins = state.floats, state.bins
    here = int(floats[BIN])
    return MemoryLevel(
        floats[MEMORY], floats[SINCE], floats[AREA], floats[PEAK], here, floats[BIN_END], bins[here, BIN_AREA],
        bins[here, BIN_PEAK],
    )  # fmt: skip


@inlined
def store_level(state: StateArrays, level: MemoryLevel) -> None:
    """Write these counters back."""
    floats, bins = state.floats, state.bins
    floats[MEMORY], floats[SINCE], floats[AREA], floats[PEAK] = level.memory, level.since, level.area, level.peak
    floats[BIN], floats[BIN_END] = level.bin, level.bin_end
    bins[level.bin, BIN_AREA], bins[level.bin, BIN_PEAK] = level.bin_area, level.bin_peak


@inlined
def advanced(level: MemoryLevel, end: float) -> MemoryLevel:
    """Advance time to `end`, in the current interval."""
    passed = level.memory * (end - level.since)
    peak = max(level.bin_peak, level.memory)
    area, bin_area = level.area + passed, level.bin_area + passed
    return MemoryLevel(level.memory, end, area, level.peak, level.bin, level.bin_end, bin_area, peak)


@inlined
def raised(level: MemoryLevel, size: float) -> MemoryLevel:
    """Add to the memory of queues; subtract, if it is negative."""
    return MemoryLevel(
        level.memory + size, level.since, level.area, level.peak, level.bin, level.bin_end, level.bin_area,
        level.bin_peak,
    )  # fmt: skip


@inlined
def with_peak(level: MemoryLevel) -> MemoryLevel:
    """Count the current memory for the peak."""
    peak = max(level.peak, level.memory)
    return MemoryLevel(
        level.memory, level.since, level.area, peak, level.bin, level.bin_end, level.bin_area, level.bin_peak
    )


@lean
def pass_arrivals(streams: Records, arrivals: ArrivalArrays, state: StateArrays, arrived: int, end: float) -> int:
    """Advance time to `end` while tuples arrive; return how many have arrived before then."""
    time, floats, bins = arrivals.time, state.floats, state.bins
    while arrived < len(time) and time[arrived] < end:
        pass_memory(bins, floats, time[arrived])
        floats[MEMORY] += streams[arrivals.stream_of[arrived]].memory
        arrived += 1
        floats[PEAK] = max(floats[PEAK], floats[MEMORY])
    pass_memory(bins, floats, end)
    return arrived
