"""The search space of problems: a problem is a point, the logarithms of its numbers."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from penstock.experiments.an04.study import SELECTIVITIES, WINDOWS
from penstock.optimizer.stream_sets import Floats

SIZES = 1.0, 10_000.0
"""Windows, in tuples, and rates, in tuples per second."""
SHARES = 0.0001, 1.0
"""Selectivities."""
RESOURCES = 0.01, 0.9
"""Shares of what the cheapest plan needs."""
LINKED = 0.6
"""How many pairs of streams have a predicate, on average."""
_DIGITS = 3


@dataclass(frozen=True, eq=False)
class Space:
    """The lowest and the highest logarithm of each number of a problem, equal where it is given.

    First come the windows, then the selectivities of all pairs, the rates, and the resources. Points are columns;
    those made together share windows and selectivities, so that the searches can take them side by side.
    """

    streams: tuple[str, ...]
    low: Floats
    high: Floats

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of streams, in the order of their selectivities."""
        return list(combinations(self.streams, 2))

    @property
    def shared(self) -> int:
        """How many numbers come before the rates."""
        return len(self.streams) + len(self.pairs)

    def anywhere(self, random: np.random.Generator, count: int) -> Floats:
        """Return `count` points at random."""
        points = random.uniform(self.low[:, None], self.high[:, None], (len(self.low), count))
        points[: self.shared] = points[: self.shared, :1]
        return points

    def near(self, random: np.random.Generator, point: Floats, count: int, step: float) -> Floats:
        """Return `count` points that differ from this one by about a step, each in a few of its numbers."""
        moves = random.normal(0, step, (len(point), count)) * (random.random((len(point), count)) < 0.4)
        moves[: self.shared] = moves[: self.shared, :1] * (random.random((self.shared, 1)) < 0.4)
        return np.clip(point[:, None] + moves, self.low[:, None], self.high[:, None])

    def numbers(self, points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return windows, selectivities, and for each column rates and resources, all rounded.

        What is shown of a problem is therefore all of it.
        """
        n, values = len(self.streams), 10**points
        rounded = np.vectorize(lambda value: float(f"{value:.{_DIGITS}g}"), otypes=[float])(values)
        return np.rint(values[:n, 0]), rounded[n : self.shared, 0], rounded[self.shared : -1], rounded[-1]


def own() -> Space:
    """Return AN04's own windows and predicates, with rates of a wider range."""
    streams = tuple(WINDOWS)
    given = np.log10([*WINDOWS.values(), *(SELECTIVITIES.get(pair, 1.0) for pair in combinations(streams, 2))])
    low, high = np.log10([SIZES] * len(streams) + [RESOURCES]).T
    return Space(streams, np.concatenate([given, low]), np.concatenate([given, high]))


def of_streams(count: int, random: np.random.Generator) -> Space:
    """Return windows, rates and selectivities of any size; which pairs have a predicate is drawn."""
    linked = random.random(count * (count - 1) // 2) < LINKED
    predicates = [SHARES if each else (1.0, 1.0) for each in linked]
    low, high = np.log10([SIZES] * count + predicates + [SIZES] * count + [RESOURCES]).T
    return Space(tuple("ABCDEFGH"[:count]), low, high)
