"""Book-keeping: memory over time, results per query and per interval, and every event where that is wanted."""

import numpy as np

from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.records import Floats

NOW, MEMORY, AREA, SINCE, PEAK, START, NEXT_LOOK, BIN_WIDTH, BIN, BIN_END = range(10)
"""Places of the real numbers that a run keeps."""

COUNT, SUM_R, MAX_R, SQUARES_R, SUM_H, MAX_H, SQUARES_H, SPARE = range(8)
BIN_AREA, BIN_PEAK = 8, 9
"""Columns of the results of a query, and of an interval: R is response, H slowdown."""


@lean
def halve(bins: Floats, floats: Floats) -> None:
    """Make every interval twice as long: the run goes on longer than was foreseen."""
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
    """Return the interval of a moment; mostly that of the moment before."""
    if time < floats[BIN_END] and time >= floats[SINCE]:
        return int(floats[BIN])
    place = int((time - floats[START]) / floats[BIN_WIDTH])
    while place >= len(bins):
        halve(bins, floats)
        place = int((time - floats[START]) / floats[BIN_WIDTH])
    return place


@lean
def pass_memory(bins: Floats, floats: Floats, time: float) -> None:
    """Let time pass with the memory as it is, and keep its area, in all and by interval."""
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
    """Count a result."""
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
    more[:used] = rows
    return more
