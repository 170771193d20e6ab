"""Progress charts and their lower envelopes (BBDM03 §3): the geometry behind Chain."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import NetworkError
from penstock.network.numbers import Number


@dataclass(frozen=True)
class Chain:
    """Operators `start` up to `stop` (exclusive), one segment of the envelope: `drop` memory in `span` time."""

    start: int
    stop: int
    drop: Number
    span: Number

    @property
    def slope(self) -> Number:
        """Memory released per unit time along the chain: the priority of each of its operators."""
        return self.drop / self.span


@dataclass(frozen=True)
class ProgressChart:
    """Points (time, size): what is left of one tuple after each operator of its path, and when.

    The first point is (0, size of the tuple); the last has size 0, because the root's output leaves at once.

    >>> chart = ProgressChart(((0, 1), (1, 0.5), (4, 0.4), (5, 0)))
    >>> [(chain.start, chain.stop) for chain in chart.envelope()]
    [(0, 1), (1, 3)]
    """

    points: tuple[tuple[Number, Number], ...]

    def __post_init__(self) -> None:
        times = [time for time, _ in self.points]
        if len(times) < 2 or times != sorted(times):
            raise NetworkError("a progress chart needs two points or more, in the order of time")
        if self.points[-1][1] != 0:
            raise NetworkError("the last point of a progress chart has size 0")

    def envelope(self) -> tuple[Chain, ...]:
        """Return the chains of the lower envelope: from each point on to its steepest-descent operator point."""
        chains: list[Chain] = []
        here = 0
        while here < len(self.points) - 1:
            chain = self._steepest(here)
            chains.append(chain)
            here = chain.stop
        return tuple(chains)

    def _steepest(self, here: int) -> Chain:
        time, size = self.points[here]
        best: Chain | None = None
        for stop in range(here + 1, len(self.points)):
            later, smaller = self.points[stop]
            if later == time:
                continue
            chain = Chain(here, stop, size - smaller, later - time)
            if best is None or chain.slope > best.slope:  # ties: the nearest point
                best = chain
        if best is None:  # nothing reaches the operators from here on: they have nothing to release
            return Chain(here, len(self.points) - 1, 0, 1)
        return best


def chain_of(chains: Sequence[Chain], position: int) -> Chain:
    """Return the chain that holds the operator at `position` of the path."""
    return next(chain for chain in chains if chain.start <= position < chain.stop)
