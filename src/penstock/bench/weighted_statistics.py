"""Statistics of weighted values."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Responses:
    """Average, percentiles, maximum and minimum of responses in seconds, over `outputs` rows."""

    outputs: int
    avg: float | None = None
    median: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None
    min: float | None = None


def percentile(values: Floats, weights: Counts, share: float) -> float:
    """Return the smallest value that at least this share of the weight does not exceed.

    >>> percentile(np.array([3.0, 1.0]), np.array([1, 99]), 0.99)
    1.0
    >>> percentile(np.array([3.0, 1.0]), np.array([2, 98]), 0.99)
    3.0
    """
    return float(np.quantile(values, share, weights=weights, method="inverted_cdf"))


def responses(values: Floats, weights: Counts) -> Responses:
    """Return the statistics of responses, each of which occurred as often as its weight."""
    total = int(weights.sum())
    if total == 0:
        return Responses(0)
    avg = float(np.average(values, weights=weights))
    there = values[weights > 0]
    median, p95, p99 = (percentile(values, weights, share) for share in (0.5, 0.95, 0.99))
    return Responses(total, avg, median, p95, p99, float(there.max()), float(there.min()))
