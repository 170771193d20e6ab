"""Sets of segments that share operators (SCLP08 §7)."""

from collections.abc import Mapping

from penstock.network.graph import Path
from penstock.network.numbers import Number
from penstock.network.operator import Edge


class SharedSet:
    """Paths that begin at one queue and are executed as one unit, what they share counted once.

    `cost` is SC = ΣC_i − (N−1) c_x of SCLP08 §7, for any depth of sharing; `ideal` is the same of T. Paths
    share the operators up to where they part; where they meet again, each brings tuples of its own.
    """

    def __init__(
        self, fanout: Mapping[Edge, Number], costs: Mapping[str, Number], ideal_times: Mapping[str, Number]
    ) -> None:
        self._fanout = fanout
        self._costs = costs
        self._ideal_times = ideal_times
        self._reached: set[tuple[Edge, ...]] = set()
        self.paths: list[Path] = []
        self.cost: Number = 0
        self.ideal: Number = 0

    def with_added(self, path: Path) -> tuple[Number, Number]:
        """Return what `cost` and `ideal` would be with `path` in the set."""
        cost, ideal = self.cost, self.ideal
        if not self.paths:
            ideal += self._ideal_times[path.source]
        made: Number = 1
        for stop, edge in enumerate(path.edges, start=1):
            if path.edges[:stop] not in self._reached:
                cost += made * self._costs[edge.target]
                ideal += self._ideal_times[edge.target] - self._ideal_times[edge.source]
            made *= self._fanout[edge]
        return cost, ideal

    def add(self, path: Path) -> None:
        """Put `path` into the set."""
        self.cost, self.ideal = self.with_added(path)
        self._reached.update(path.edges[:stop] for stop in range(1, len(path.edges) + 1))
        self.paths.append(path)
