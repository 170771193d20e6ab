"""Probe orders: joins without intermediate results, where a row probes the windows of the others one by one.

In AN04 every join of a plan keeps a window of its results. Where only the streams are kept, as in the logs of
the Spark runtime, each stream has its own order in which its rows probe the others' windows. After a set S of
streams, ``y · V(S)`` combinations per second have been found, in whatever order (`sets.Sets`): so the cheapest
order for each set follows from the cheapest orders for the sets with one stream less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from penstock.optimizer.posynomial import Posynomial
from penstock.optimizer.problem import JoinProblem
from penstock.optimizer.stream_sets import Floats, Ints, Sets
from penstock.optimizer.trees import retraced

_LEAST_RATE = 1e-9
"""The rate of a stream that is dropped completely: not 0, for which windows cannot be computed."""

Orders = Mapping[str, tuple[str, ...]]
"""For each stream, the others in the order in which its rows probe them."""


@dataclass(frozen=True)
class ProbeCosts:
    """Seconds for a `row` that probes a window, for a `pair` that is compared, for a `result`."""

    row: float
    pair: float
    result: float


@dataclass(frozen=True)
class ProbedPlan:
    """Probe orders with drop boxes: the share kept of each stream, results per second, utilization."""

    orders: Orders
    keep: Mapping[str, float]
    rate: float
    utilization: float


@dataclass(frozen=True, eq=False)
class Probing:
    """A join problem with probe costs; `equal` are the selectivities of the predicates by which rows are found.

    A row is compared with all rows of a window that these predicates leave; without such a predicate, with the
    whole window. A job that serves many rows at once reads more of a window than one row sees: `spans` are the
    seconds that a job covers, by stream.

    >>> problem = JoinProblem(
    ...     {"A": 10, "B": 10, "C": 10}, {"A": 100, "B": 100, "C": 100},
    ...     {("A", "B"): 0.5, ("A", "C"): 0.001}, join_cost=1e-6)
    >>> probing = Probing(problem, problem.selectivities, ProbeCosts(1e-6, 0, 0))
    >>> probing.best
    {'A': ('C', 'B'), 'B': ('A', 'C'), 'C': ('A', 'B')}
    >>> round(probing.utilization({"A": ("B", "C")}) / probing.utilization({"A": ("C", "B")}), 1)
    46.4
    """

    problem: JoinProblem
    equal: Mapping[tuple[str, str], float]
    costs: ProbeCosts
    spans: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def best(self) -> Orders:
        """The cheapest order for each stream; of equally cheap ones, the first in the order of the streams."""
        names = self.problem.streams
        return {name: tuple(names[each] for each in self._best_from(place)) for place, name in enumerate(names)}

    def utilization(self, orders: Orders) -> float:
        """Return the share of a processor that the rows of these streams need if they probe in these orders."""
        return sum(self._seconds(name, order) for name, order in orders.items())

    @property
    def rate(self) -> float:
        """Results per second."""
        return float(self._sets.windows[-1] * self._sets.full.sum())

    def results(self, name: str) -> float:
        """Return the average number of results per row of a stream."""
        place = self.problem.streams.index(name)
        return float(self._sets.windows[-1] * self._sets.full[place]) / float(self.problem.rates[name])

    def keeping(self, keep: Mapping[str, float]) -> "Probing":
        """Return the problem with only these shares kept: less arrives, and windows of time hold less."""
        rates = {name: max(float(rate) * keep[name], _LEAST_RATE) for name, rate in self.problem.rates.items()}
        return replace(self, problem=replace(self.problem, rates=rates))

    def results_posynomial(self, last: str | None = None) -> Posynomial:
        """Return the results per second by the shares kept; if `last` is given, only those it completes."""
        whole = (1 << self._sets.n) - 1
        places = [self.problem.streams.index(name) for name in ([last] if last else self.problem.streams)]
        return Posynomial.of(
            self._sets.n,
            [
                (float(self._sets.windows[-1] * self._sets.full[each]), self._shares(each, whole))
                for each in places
            ],
        )

    def cost_posynomial(self, orders: Orders) -> Posynomial:
        """Return the utilization by the rows of these streams as a function of the shares kept."""
        names = self.problem.streams
        parts: list[tuple[float, list[int]]] = []
        for name, order in orders.items():
            first = names.index(name)
            arriving, some = float(self._sets.full[first]), 1 << first
            parts.append((arriving * float(self._sets.base[first]), [first]))
            for each in map(names.index, order):
                found, shares = arriving * float(self._sets.windows[some]), self._shares(first, some)
                linked = self.costs.pair * float(self._linked[some | 1 << each] / self._linked[some])
                held = float(self._sets.windows[1 << each])
                coming = held * float(self._sets.full[each]) * self.spans.get(name, 0.0)
                parts.append((found * self.costs.row, shares))
                parts.append((found * linked * held, [*shares, each] if self._sets.timed[each] else shares))
                parts.append((found * linked * coming, [*shares, each]))
                some |= 1 << each
            results = arriving * float(self._sets.windows[some])
            parts.append((results * self.costs.result, self._shares(first, some)))
        return Posynomial.of(self._sets.n, parts)

    def _shares(self, first: int, some: int) -> list[int]:
        """Return the streams on whose shares the matches of `first` in `some` depend: windows of time."""
        inside = self._sets.members[some] & self._sets.timed
        return [first, *(int(each) for each in np.flatnonzero(inside) if each != first)]

    @cached_property
    def _sets(self) -> Sets:
        return Sets.of(self.problem)

    @cached_property
    def _linked(self) -> Floats:
        """For every set of streams, the share of row combinations that the predicates in `equal` leave."""
        names = self.problem.streams
        sets = np.arange(1 << len(names))
        shares = np.ones(len(sets))
        for (one, other), share in self.equal.items():
            pair = 1 << names.index(one) | 1 << names.index(other)
            shares[sets & pair == pair] *= share
        return shares

    def _sent(self, first: int) -> Floats:
        """Return how many rows of each window a job for the rows of one stream reads."""
        held = self._sets.windows[1 << np.arange(self._sets.n)]
        seen: Floats = held * (1 + self._sets.full * self.spans.get(self.problem.streams[first], 0.0))
        return seen

    def _step(self, left: Ints, stream: Ints, sent: Floats) -> Floats:
        """Return the cost, per unit of y, of probing one more stream with the rows found in `left`."""
        compared = sent[stream] * self._linked[left | 1 << stream] / self._linked[left]
        found: Floats = self._sets.windows[left] * (self.costs.row + self.costs.pair * compared)
        return found

    def _best_from(self, first: int) -> list[int]:
        cheapest = np.full(1 << self._sets.n, np.inf)
        cheapest[1 << first] = 0.0
        last = np.zeros(1 << self._sets.n, np.int64)
        sent = self._sent(first)
        for sets, left, right in self._sets.left_deep:
            streams = np.log2(right).astype(np.int64)
            costs = cheapest[left] + self._step(left, streams, sent)
            chosen = costs.argmin(axis=1)[:, None]
            cheapest[sets] = np.take_along_axis(costs, chosen, axis=1)[:, 0]
            last[sets] = np.take_along_axis(streams, chosen, axis=1)[:, 0]
        return retraced(last)[1:]

    def _seconds(self, name: str, order: Sequence[str]) -> float:
        names = self.problem.streams
        first = names.index(name)
        cost, some, sent = self._sets.base[first], 1 << first, self._sent(first)
        for each in order:
            place = names.index(each)
            cost += float(self._step(np.array(some), np.array(place), sent))
            some |= 1 << place
        return float(self._sets.full[first] * (cost + self._sets.windows[some] * self.costs.result))
