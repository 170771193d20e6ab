"""Sets of segments that share operators (SCLP08 §7)."""

from collections.abc import Mapping

from penstock.network.graph import Path
from penstock.network.numbers import Number
from penstock.network.operator import Edge


class SharedSet:
    """Paths that begin at one queue and are executed as one unit; shared operators are counted once.

    `cost` is SC = ΣC_i − (N−1) c_x of SCLP08 §7, for any depth of sharing. Paths share the operators up to the
    point where they split; where they meet again, each has its own tuples.
    """

    def __init__(
        self, fanout: Mapping[Edge, Number], costs: Mapping[Edge, Number], items: Mapping[Edge, Number]
    ) -> None:
        self._fanout = fanout
        self._costs = costs
        self._items = items
        self._reached: set[tuple[Edge, ...]] = set()
        self.cost: Number = 0

    def cost_with(self, path: Path) -> Number:
        """Return the cost of the set with `path` added."""
        cost = self.cost
        made = self._items.get(path.edges[0], 1)
        for stop, edge in enumerate(path.edges, start=1):
            if path.edges[:stop] not in self._reached:
                cost += made * self._costs[edge]
            made *= self._fanout[edge]
        return cost

    def add(self, path: Path) -> None:
        """Add `path` to the set."""
        self.cost = self.cost_with(path)
        self._reached.update(path.edges[:stop] for stop in range(1, len(path.edges) + 1))
