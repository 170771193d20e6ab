"""Poisson arrivals whose mean is redrawn every few seconds, steady at times and bursty at others (P04 §6.1).

    mean of a period = steady · u · (burst with probability share, else 1)     u uniform in 1 − spread … 1 + spread
    rate = steady · (1 + share · (burst − 1))

P04 says: other Poisson means every 5 seconds, and bursty times of about twice the rate of the others. (Earlier it
calls a stream bursty whose rate rises by an order of magnitude: ``burst=10``.) It does not say how means are
drawn, nor how much of the time is bursty: the uniform spread of a quarter and the share of one half are ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from penstock.errors import ArrivalError
from penstock.workloads.arrivals import BATCH, Times
from penstock.workloads.checks import generator, number, rate_of
from penstock.workloads.poisson import poisson_steps

LARGEST_BATCH = 8 * BATCH
"""Expected arrivals in a batch if every period of it bursts."""

FEWEST = 0.01
"""Expected arrivals in a batch; below it, the machine would only be drawing means."""


@dataclass(frozen=True)
class Redrawn:
    """`rate` arrivals per second in the mean, which is drawn anew `every` so many seconds.

    >>> from penstock.workloads import index_of_dispersion, until
    >>> times = until(Redrawn(rate=100), seed=2, seconds=1000)
    >>> index_of_dispersion(times, bin_seconds=5) > 20  # 1 for a Poisson process
    True
    """

    rate: float
    every: float = 5.0
    burst: float = 2.0
    share: float = 0.5
    spread: float = 0.25

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", rate_of(self.rate, "a redrawn process"))
        object.__setattr__(self, "every", number(self.every, "the time between redrawn means", above=0))
        object.__setattr__(self, "burst", number(self.burst, "the burst of a redrawn process", at_least=1))
        for name in ("share", "spread"):
            value = number(getattr(self, name), f"the {name} of a redrawn process", at_least=0)
            if value > 1:
                raise ArrivalError(f"the {name} of a redrawn process must be at most 1, not {value:g}")
            object.__setattr__(self, name, value)
        if self.rate * self.every * self.periods < FEWEST:
            raise ArrivalError(
                f"{self.rate:g} arrivals a second are too few for means redrawn every {self.every:g} seconds"
            )

    @property
    def steady(self) -> float:
        """Arrivals per second in a period without a burst, in the mean."""
        return self.rate / (1 + self.share * (self.burst - 1))

    @property
    def periods(self) -> int:
        """How many periods are drawn at once: about `BATCH` arrivals, never too many, and no more periods."""
        peak = self.steady * self.burst * (1 + self.spread)
        wanted = min(BATCH / self.rate, LARGEST_BATCH / peak) / self.every
        return int(min(max(wanted, 1), BATCH))

    def means(self, random: np.random.Generator, count: int) -> Times:
        """Return the means of so many periods."""
        drawn = self.steady * random.uniform(1 - self.spread, 1 + self.spread, count)
        return drawn * np.where(random.random(count) < self.share, self.burst, 1.0)

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times without end: several periods in a batch, or a period in several batches."""
        random, periods = generator(seed), self.periods
        begun = 0
        while True:
            knots: Times = np.arange(begun, begun + periods + 1, dtype=np.float64) * self.every
            means = self.means(random, periods)
            for part, rates in _parts(knots, means):
                times = poisson_steps(random, part, rates)
                if len(times):
                    yield times
            begun += periods


def _parts(knots: Times, means: Times) -> Iterator[tuple[Times, Times]]:
    """Yield the periods as they are, or a single long one in pieces of at most `BATCH` expected arrivals.

    >>> [part.tolist() for part, _ in _parts(np.array([5.0, 10.0]), np.array([0.4 * BATCH]))]
    [[5.0, 7.5], [7.5, 10.0]]
    """
    pieces = ceil(float(means[0] * (knots[1] - knots[0])) / BATCH)
    if len(means) > 1 or pieces <= 1:
        yield knots, means
        return
    for piece in range(pieces):
        yield knots[0] + (knots[1] - knots[0]) * np.array([piece, piece + 1]) / pieces, means
