"""Poisson arrivals whose rate is redrawn every few seconds, sometimes steady and sometimes bursty (P04 §6.1).

    mean of a period = steady · u · (burst with probability share, else 1)     u uniform in 1 − spread … 1 + spread
    rate = steady · (1 + share · (burst − 1))

P04 says: other Poisson means every 5 seconds, and bursty times of about twice the rate of the others. (Earlier it
calls a stream bursty if its rate rises by an order of magnitude: ``burst=10``.) It does not say how means are
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
"""The minimum expected arrivals in a batch; below, nearly all periods would be empty."""


@dataclass(frozen=True)
class Redrawn:
    """`rate` arrivals per second on average; the rate is drawn again after `every` seconds.

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
                f"{self.rate:g} arrivals per second are too few for means redrawn every {self.every:g} seconds"
            )

    @property
    def steady(self) -> float:
        """Average arrivals per second in a period without a burst."""
        return self.rate / (1 + self.share * (self.burst - 1))

    @property
    def periods(self) -> int:
        """The number of periods drawn at once: about `BATCH` arrivals, at most `BATCH` periods."""
        peak = self.steady * self.burst * (1 + self.spread)
        wanted = min(BATCH / self.rate, LARGEST_BATCH / peak) / self.every
        return int(min(max(wanted, 1), BATCH))

    def means(self, random: np.random.Generator, count: int) -> Times:
        """Return the rates of `count` periods."""
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
    """Yield the periods as they are, or a single long one in parts of at most `BATCH` expected arrivals.

    >>> [part.tolist() for part, _ in _parts(np.array([5.0, 10.0]), np.array([0.4 * BATCH]))]
    [[5.0, 7.5], [7.5, 10.0]]
    """
    parts = ceil(float(means[0] * (knots[1] - knots[0])) / BATCH)
    if len(means) > 1 or parts <= 1:
        yield knots, means
        return
    for part in range(parts):
        yield knots[0] + (knots[1] - knots[0]) * np.array([part, part + 1]) / parts, means
