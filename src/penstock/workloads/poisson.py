"""Poisson arrivals: independent of each other, at a constant average rate.

    P(gap > t) = e^(−rate·t)

The baseline for bursty streams: the count in every interval has its mean as variance. P04
§6.1 and the two-stream variant of SCLP08 §9.1.12 use it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.workloads.arrivals import BATCH, Times
from penstock.workloads.checks import generator, rate_of


@dataclass(frozen=True)
class Poisson:
    """Arrivals with exponential gaps of mean 1 ÷ `rate` seconds.

    >>> times = next(Poisson(rate=1000).batches(seed=1))
    >>> len(times), round(float(times[-1]), 1)
    (8192, 8.2)
    """

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", rate_of(self.rate, "a Poisson process"))

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times without end, the same number in every batch."""
        random = generator(seed)
        last = 0.0
        while True:
            times = last + random.standard_exponential(BATCH).cumsum() / self.rate
            last = float(times[-1])
            yield times


def poisson_steps(random: np.random.Generator, knots: Times, rates: Times) -> Times:
    """Return Poisson arrivals at ``rates[i]`` from ``knots[i]`` to ``knots[i + 1]``.

    If time is scaled so that the rate is 1, arrivals are uniform. The running sum of exponentials over their total
    gives sorted uniform numbers, which is cheaper than sorting.
    """
    expected = np.concatenate([[0.0], np.cumsum(rates * np.diff(knots))])
    count = int(random.poisson(expected[-1]))
    sums = random.standard_exponential(count + 1).cumsum()
    times = np.interp(sums[:-1] * (expected[-1] / sums[-1]), expected, knots)
    ordered: Times = np.maximum.accumulate(times)  # rounding may put the last bits out of order
    return ordered.clip(max=knots[-1])
