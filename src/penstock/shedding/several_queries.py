"""Plans and drop boxes of several queries on shared streams, under one budget.

With row windows, results and cost of a plan are linear in the shares kept. So the drop boxes with the largest
weighted sum of results solve a linear program. Plans and boxes are improved in turn: the cheapest plan of each
query for the shares, the best shares for these plans, until nothing more is gained.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy  # its part `optimize` is loaded on first use

from penstock.errors import PlanError, nearest
from penstock.network import Number, checked
from penstock.optimizer.plan import Tree
from penstock.optimizer.problem import JoinProblem
from penstock.optimizer.search import optimize
from penstock.optimizer.stream_sets import Floats, Sets, Shape
from penstock.optimizer.trees import joins_of, named, placed

Boxes = Literal["stream", "query"]


@dataclass(frozen=True)
class QueryPlan:
    """The plan of one query: its tree, the shares kept of its streams, its rate and utilisation."""

    tree: Tree
    keep: Mapping[str, float]
    rate: float
    utilization: float


@dataclass(frozen=True)
class SharedPlan:
    """Plans for several queries; `value` is the sum of their rates, each times its weight."""

    queries: Mapping[str, QueryPlan]
    value: float
    utilization: float

    @property
    def feasible(self) -> bool:
        """Whether nothing had to be dropped."""
        return all(share == 1.0 for query in self.queries.values() for share in query.keep.values())


def shed_together(
    problems: Mapping[str, JoinProblem],
    weights: Mapping[str, Number] | None = None,
    capacity: Number = 1.0,
    boxes: Boxes = "stream",
) -> SharedPlan:
    """Return plans and drop boxes for several queries that share streams and one processor.

    With a box for each ``stream``, all queries see the same tuples of it. With one for each ``query``, a stream
    can be whole for one query and reduced for another. The queries' own capacities are ignored. Boxes are optimal
    for the plans, and plans for the boxes, from several starts; both together may be a local optimum.
    """
    weight = _weights(problems, weights or {})
    budget = float(checked(capacity, "the capacity", above=0, error=PlanError))
    if boxes not in ("stream", "query"):
        raise PlanError(f"boxes must be 'stream' or 'query', not {boxes!r}")
    _check_problems(problems)
    together = _Together(problems, weight, budget, boxes)
    starts = [
        together.cheapest(dict.fromkeys(problems, 1.0)),
        *(
            {name: placed(optimize(each, capacity=part).tree, each.streams) for name, each in problems.items()}
            for part in (budget, budget / len(problems))  # each query alone, or with an equal part
        ),
    ]
    return max(map(together.improved, starts), key=lambda plan: (plan.value, -plan.utilization))


@dataclass(frozen=True, eq=False)
class _Together:
    """Queries with their weights, the budget that they share, and where the drop boxes are."""

    problems: Mapping[str, JoinProblem]
    weights: Mapping[str, float]
    budget: float
    boxes: Boxes

    @cached_property
    def _sets(self) -> dict[str, Sets]:
        return {name: Sets.of(problem) for name, problem in self.problems.items()}

    def cheapest(self, shares: Mapping[str, Floats | float]) -> dict[str, Shape]:
        """Return the cheapest plan of each query for these shares."""
        return {name: each.tree(each.left_deep, each.full * shares[name]) for name, each in self._sets.items()}

    def improved(self, shapes: Mapping[str, Shape]) -> SharedPlan:
        """Return a local optimum from these plans: the best boxes for them, the best plans for these, etc."""
        best: SharedPlan | None = None
        while True:
            shares = self._best_shares(shapes)
            found = self._plan(shapes, shares)
            if best is not None and found.value <= best.value * (1 + 1e-9):
                return best
            if found.feasible:
                return found
            best, shapes = found, self.cheapest(shares)

    def _best_shares(self, shapes: Mapping[str, Shape]) -> dict[str, Floats]:
        """Return the best shares for these plans: a linear program, solved by HiGHS."""
        places = self._places
        count = 1 + max(place for some in places.values() for place in some)
        gains, costs = np.zeros(count), np.zeros(count)
        for name, each in self._sets.items():
            np.add.at(gains, places[name], self.weights[name] * each.windows[-1] * each.full)
            np.add.at(costs, places[name], each.prices(joins_of(shapes[name])) * each.full)
        if costs.sum() <= self.budget:
            return {name: np.ones(each.n) for name, each in self._sets.items()}
        solved = scipy.optimize.linprog(
            -gains / gains.max(), [costs / self.budget], [1.0], bounds=(0, 1), method="highs"
        )
        if solved.status != 0:
            raise PlanError(f"no drop boxes were found: {solved.message}")
        return {name: np.clip(solved.x[some], 0.0, 1.0) for name, some in places.items()}

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """For each query, the positions of its streams' drop boxes among all."""
        places: dict[tuple[str, str], int] = {}
        return {
            name: [
                places.setdefault(("" if self.boxes == "stream" else name, stream), len(places))
                for stream in problem.streams
            ]
            for name, problem in self.problems.items()
        }

    def _plan(self, shapes: Mapping[str, Shape], shares: Mapping[str, Floats]) -> SharedPlan:
        queries = {}
        for name, each in self._sets.items():
            streams, y = self.problems[name].streams, each.full * shares[name]
            queries[name] = QueryPlan(
                tree=named(shapes[name], streams),
                keep=dict(zip(streams, shares[name].tolist(), strict=True)),
                rate=float(each.windows[-1] * y.sum()),
                utilization=float(each.prices(joins_of(shapes[name])) @ y),
            )
        value = sum(self.weights[name] * query.rate for name, query in queries.items())
        return SharedPlan(queries, value, sum(query.utilization for query in queries.values()))


def _weights(problems: Mapping[str, JoinProblem], given: Mapping[str, Number]) -> dict[str, float]:
    for name in given:
        if name not in problems:
            raise PlanError(f"the weights name {name!r}, which is not a query.{nearest(name, problems)}")
    return {
        name: float(checked(given.get(name, 1.0), f"the weight of query {name!r}", above=0, error=PlanError))
        for name in problems
    }


def _check_problems(problems: Mapping[str, JoinProblem]) -> None:
    if not problems:
        raise PlanError("there is no query to plan")
    rates: dict[str, tuple[str, float]] = {}
    for name, problem in problems.items():
        if problem.is_timed or len(problem.join_methods) > 1:
            raise PlanError(
                f"query {name!r} has time windows or several join methods: "
                "queries can be planned together only with row windows and one join method"
            )
        for stream, rate in problem.rates.items():
            first, known = rates.setdefault(stream, (name, float(rate)))
            if known != float(rate):
                raise PlanError(
                    f"stream {stream!r} has a rate of {known:g} in query {first!r} "
                    f"and of {float(rate):g} in {name!r}"
                )
