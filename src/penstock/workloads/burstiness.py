"""Measures of burstiness: the index of dispersion at one time scale, the Hurst parameter over many.

    IDC = variance ÷ mean of the counts in intervals of one length        1 for a Poisson process, at any length
    variance of the mean of m intervals ~ m^(2H − 2)                      H = 0.5 for it, towards 1 if self-similar

The second is the aggregated-variance method of Leland, Taqqu, Willinger and Wilson (IEEE/ACM ToN 1994), whom JC03
cites for self-similar traffic.
"""

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError
from penstock.workloads.arrivals import Times
from penstock.workloads.checks import number

FEWEST_BLOCKS = 32
"""The minimum number of block means for a variance."""

MOST_BINS = 50_000_000


def index_of_dispersion(times: Times, bin_seconds: float) -> float:
    """Return variance ÷ mean of the counts in intervals of `bin_seconds`.

    >>> index_of_dispersion(np.arange(0.25, 100, 0.5), bin_seconds=10)  # constant gaps
    0.0
    """
    counts = counts_of(times, bin_seconds)
    if len(counts) < 2:
        raise ArrivalError(f"the arrivals do not fill two intervals of {bin_seconds} seconds")
    return float(counts.var(ddof=1) / counts.mean())


def hurst(times: Times, bin_seconds: float) -> float:
    """Return the Hurst parameter by aggregated variance, from intervals of `bin_seconds` upward.

    Intervals are joined 1, 2, 4, … at a time while 32 blocks are left; a line is fitted to the logarithms.

    >>> from penstock.workloads import Poisson, take
    >>> round(hurst(take(Poisson(rate=100), seed=3, count=200_000), bin_seconds=0.1), 1)
    0.5
    """
    means = counts_of(times, bin_seconds)
    if len(means) < 4 * FEWEST_BLOCKS:
        raise ArrivalError(
            f"the arrivals fill {len(means)} intervals of {bin_seconds} seconds, but a Hurst parameter "
            f"needs {4 * FEWEST_BLOCKS}"
        )
    variances = []
    while len(means) >= FEWEST_BLOCKS:
        variances.append(float(means.var()))
        means = means[: len(means) // 2 * 2].reshape(-1, 2).mean(axis=1)
    if not min(variances) > 0:
        raise ArrivalError("the arrivals are perfectly even: they have no Hurst parameter")
    slope = np.polyfit(np.arange(len(variances)), np.log2(variances), deg=1)[0]
    return float(1 + slope / 2)


def counts_of(times: Times, bin_seconds: float) -> npt.NDArray[np.float64]:
    """Return the number of arrivals in every full interval from the first arrival on.

    >>> counts_of(np.array([5.0, 5.1, 6.2, 7.1, 8.0]), bin_seconds=1)
    array([2., 1., 1.])
    """
    width = number(bin_seconds, "the length of an interval", above=0)
    if len(times) == 0:
        raise ArrivalError("there are no arrivals to count")
    bins = int(np.minimum((times[-1] - times[0]) / width, MOST_BINS + 1))
    if bins > MOST_BINS:
        raise ArrivalError(
            f"{bin_seconds} seconds are too short for arrivals over {times[-1] - times[0]:g} seconds"
        )
    places = ((times - times[0]) / width).astype(np.int64)
    return np.bincount(places[places < bins], minlength=bins).astype(np.float64)
