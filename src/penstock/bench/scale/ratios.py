"""Ratios of medians, with an interval of confidence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_SAMPLES = 2_000
_SHARE = 95.0


@dataclass(frozen=True)
class SpeedRatio:
    """How many times faster one system is than another: the ratio of median times, and its 95 % interval."""

    ratio: float
    low: float
    high: float


def speed_ratio(ours: Sequence[float], theirs: Sequence[float], seed: int = 1) -> SpeedRatio:
    """Return their median time ÷ ours; the interval is a bootstrap's.

    >>> speed_ratio([2.0, 2.0], [3.0, 3.0])
    SpeedRatio(ratio=1.5, low=1.5, high=1.5)
    """
    random = np.random.default_rng(seed)
    drawn = [
        np.median(random.choice(np.asarray(times), (_SAMPLES, len(times))), axis=1) for times in (theirs, ours)
    ]
    low, high = np.percentile(drawn[0] / drawn[1], [(100 - _SHARE) / 2, (100 + _SHARE) / 2])
    return SpeedRatio(float(np.median(theirs) / np.median(ours)), float(low), float(high))
