"""Several queries on shared streams: the drop boxes of all of them at once, under one budget.

With windows of rows, what a plan brings and takes is linear in the shares kept, so the drop boxes that bring
most in all, each query counted by its weight, solve a linear program. The plans that go with them are found in
turn: for what is kept the cheapest plan of each query, for these plans the best to keep, until nothing more is
gained.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linprog

from penstock.errors import PlanError, nearest
from penstock.network import Number, checked
from penstock.optimizer.plan import Tree
from penstock.optimizer.problem import JoinProblem
from penstock.optimizer.search import optimize
from penstock.optimizer.sets import Floats, Sets, Shape
from penstock.optimizer.trees import joins_of, named, placed

Boxes = Literal["stream", "query"]


@dataclass(frozen=True)
class QueryPlan:
    """One of several queries: its tree, what its streams keep, what it brings and takes."""

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

    With a box for each ``stream``, all queries see the same tuples of it; with one for each ``query``, a stream
    can be whole for one and thinned for another. The queries' own capacities do not count here. Boxes are the best
    for the plans, and plans for the boxes, from several starts; both together need not be the best there are.
    """
    weight = _weights(problems, weights or {})
    budget = float(checked(capacity, "the capacity", above=0, error=PlanError))
    if boxes not in ("stream", "query"):
        raise PlanError(f"drop boxes are for each 'stream' or each 'query', not {boxes!r}")
    _check_problems(problems)
    sets = {name: Sets.of(problem) for name, problem in problems.items()}
    starts: list[dict[str, Shape]] = [
        {name: each.tree(each.left_deep, each.full) for name, each in sets.items()},  # for all that arrives
        *(
            {name: placed(optimize(each, capacity=part).tree, each.streams) for name, each in problems.items()}
            for part in (budget, budget / len(problems))  # for each query as if it were alone, or had its part
        ),
    ]
    found = [_improved(problems, sets, shapes, weight, budget, boxes) for shapes in starts]
    return max(found, key=lambda plan: (plan.value, -plan.utilization))


def _improved(
    problems: Mapping[str, JoinProblem],
    sets: Mapping[str, Sets],
    shapes: Mapping[str, Shape],
    weights: Mapping[str, float],
    budget: float,
    boxes: Boxes,
) -> SharedPlan:
    """Return what comes of these plans: the best boxes for them, the best plans for these, and again."""
    best: SharedPlan | None = None
    while True:
        shares = _boxes(problems, sets, shapes, weights, budget, boxes)
        found = _plan(problems, sets, shapes, shares, weights)
        if best is not None and found.value <= best.value * (1 + 1e-9):
            return best
        if found.feasible:
            return found
        best = found
        shapes = {name: each.tree(each.left_deep, each.full * shares[name]) for name, each in sets.items()}


def _boxes(
    problems: Mapping[str, JoinProblem],
    sets: Mapping[str, Sets],
    shapes: Mapping[str, Shape],
    weights: Mapping[str, float],
    budget: float,
    boxes: Boxes,
) -> dict[str, Floats]:
    """Return the shares that bring most with these plans: a linear program, by HiGHS."""
    places: dict[tuple[str, str], int] = {}
    for name, problem in problems.items():
        for stream in problem.streams:
            places.setdefault(("" if boxes == "stream" else name, stream), len(places))

    def at(name: str) -> list[int]:
        return [places["" if boxes == "stream" else name, stream] for stream in problems[name].streams]

    gains, costs = np.zeros(len(places)), np.zeros(len(places))
    for name, each in sets.items():
        np.add.at(gains, at(name), weights[name] * each.windows[-1] * each.full)
        np.add.at(costs, at(name), _prices(each, shapes[name]) * each.full)
    if costs.sum() <= budget:
        return {name: np.ones(each.n) for name, each in sets.items()}
    solved = linprog(-gains / gains.max(), [costs / budget], [1.0], bounds=(0, 1), method="highs")
    if solved.status != 0:
        raise PlanError(f"no drop boxes were found: {solved.message}")
    return {name: np.clip(solved.x[at(name)], 0.0, 1.0) for name in problems}


def _prices(sets: Sets, shape: Shape) -> Floats:
    prices: Floats = sets.cheapest(joins_of(shape), np.eye(sets.n))[-1]
    return prices


def _plan(
    problems: Mapping[str, JoinProblem],
    sets: Mapping[str, Sets],
    shapes: Mapping[str, Shape],
    shares: Mapping[str, Floats],
    weights: Mapping[str, float],
) -> SharedPlan:
    queries = {}
    for name, problem in problems.items():
        y = sets[name].full * shares[name]
        queries[name] = QueryPlan(
            tree=named(shapes[name], problem.streams),
            keep=dict(zip(problem.streams, shares[name].tolist(), strict=True)),
            rate=float(sets[name].windows[-1] * y.sum()),
            utilization=float(_prices(sets[name], shapes[name]) @ y),
        )
    value = sum(weights[name] * query.rate for name, query in queries.items())
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
                f"query {name!r} has windows of time or several methods of joining: "
                "several queries are planned together with windows of rows and one method only"
            )
        for stream, rate in problem.rates.items():
            first, known = rates.setdefault(stream, (name, float(rate)))
            if known != float(rate):
                raise PlanError(
                    f"stream {stream!r} has a rate of {known:g} in query {first!r} "
                    f"and of {float(rate):g} in {name!r}"
                )
