"""Lateness: which rows of a stream are late, and the watermark that follows from the newest time."""

import numpy as np
from numpy.typing import NDArray

from penstock.plan.columns import Micros


def late_rows(
    times: Micros, fits: NDArray[np.bool_], newest: int | None, lateness_us: int
) -> tuple[NDArray[np.bool_], Micros]:
    """Return which rows are late, and the newest time before each row.

    A row is late if its time is more than the lateness before the newest time of the rows before it, dropped ones
    included. Rows that do not fit are neither late nor do they count. So this depends on the sequence alone, and a
    replay decides alike.

    >>> times, fits = np.array([10, 4, 12, 7]), np.array([True, True, True, True])
    >>> late_rows(times, fits, newest=None, lateness_us=5)[0].tolist()
    [False, True, False, False]
    """
    before = _newest_before(times, fits, newest)
    late: NDArray[np.bool_] = fits & (times < before - lateness_us)
    return late, before


def watermark_of(newest: int, lateness_us: int) -> int:
    """Return the time at or before which no later row will be admitted."""
    return newest - lateness_us - 1


def _newest_before(times: Micros, fits: NDArray[np.bool_], newest: int | None) -> Micros:
    """Return for every row the latest time of the rows before it."""
    least = np.iinfo(np.int64).min // 2
    seen = np.where(fits, times, least)
    before = np.empty_like(seen)
    if len(seen):
        before[0] = least if newest is None else newest
        np.maximum.accumulate(seen[:-1], out=before[1:])
        np.maximum(before, before[0], out=before)
    return before
