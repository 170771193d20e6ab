"""Plan search: the cheapest plan if one is feasible, else the one that keeps most results under shedding."""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from penstock.errors import PlanError, nearest
from penstock.network import Number
from penstock.optimizer.evaluate import evaluated
from penstock.optimizer.exact import most_kept
from penstock.optimizer.exhaustive import order_prices
from penstock.optimizer.heuristic import heuristic
from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.plan import JoinPlan
from penstock.optimizer.problem import MOST_STREAMS, JoinProblem
from penstock.optimizer.stream_sets import Ints, Joins, Sets, Shape
from penstock.optimizer.trees import left_deep, named, orders, retraced

Method = Literal["auto", "exact", "exhaustive", "heuristic", "bushy"]

MOST = {"exact": 12, "exhaustive": 8, "bushy": 12}
"""The maximum number of streams of each method: more would take minutes, or too much memory."""
_AUTO_EXACT, _AUTO_LISTED = 10, 5
_MOST_LISTED = 6
"""The maximum number of streams whose plans are evaluated one by one, where drop boxes have no simple solution."""


def optimize(problem: JoinProblem, method: Method = "auto", capacity: Number | None = None) -> JoinPlan:
    """Return the best plan: the cheapest if one is feasible, else the one that keeps most results under shedding.

    ``exact`` finds the best left-deep plan, ``bushy`` the best of all trees, both without listing them;
    ``exhaustive`` lists all left-deep plans; ``heuristic`` is AN04's dynamic programming. ``auto`` is exact for
    up to ten streams, the heuristic for more. With windows of time, exact lists the plans, for up to six streams
    (auto: five); for more, and for bushy trees, plan and drop boxes are improved in turn, which may end at a
    local optimum.

    >>> problem = JoinProblem(
    ...     rates={"A": 10, "B": 70, "C": 20}, windows={"A": 10, "B": 10, "C": 10},
    ...     selectivities={("A", "B"): 0.5, ("B", "C"): 0.2}, join_cost=0.003)
    >>> plan = optimize(problem)
    >>> plan.order, plan.feasible, round(plan.utilization, 2), round(plan.rate)
    (('B', 'C', 'A'), True, 0.84, 1000)
    """
    if method not in get_args(Method):
        known = get_args(Method)
        raise PlanError(
            f"there is no method {method!r}; the methods are {', '.join(known)}.{nearest(method, known)}"
        )
    problem = problem if capacity is None else replace(problem, capacity=capacity)
    sets = Sets.of(problem)
    if method == "auto":
        method = "exact" if sets.n <= (_AUTO_LISTED if problem.is_timed else _AUTO_EXACT) else "heuristic"
    _check_size(problem, method)
    if method == "exhaustive":
        return plans(problem)[0]
    joins = sets.bushy if method == "bushy" else sets.left_deep
    if problem.is_timed:
        return plans(problem)[0] if method == "exact" else _alternated(problem, sets, joins)
    return evaluated(problem, sets, _heuristic(sets) if method == "heuristic" else _exact(sets, joins))


def plans(problem: JoinProblem, capacity: Number | None = None) -> list[JoinPlan]:
    """Return every left-deep plan, the best first: highest rate, then lowest utilization.

    Swapping the first two streams of an order does not change the plan: three streams have three plans.
    """
    problem = problem if capacity is None else replace(problem, capacity=capacity)
    sets = Sets.of(problem)
    _check_size(problem, "exhaustive")
    every = orders(sets.n)
    if _is_linear(problem):
        found = _all_evaluated(problem, sets, every)
    else:
        found = [evaluated(problem, sets, left_deep(order)) for order in every]
    return sorted(found, key=lambda plan: (-plan.rate, plan.utilization))


def _is_linear(problem: JoinProblem) -> bool:
    return not problem.is_timed and len(problem.join_methods) == 1


def _all_evaluated(problem: JoinProblem, sets: Sets, every: Ints) -> list[JoinPlan]:
    """Return all plans, evaluated together."""
    prices = order_prices(sets, every)
    demands = prices @ sets.full
    kept = np.where((demands <= sets.budget)[:, None], sets.full, knapsack(prices, sets.full, sets.budget, axis=1))
    rates = sets.windows[-1] * kept.sum(axis=1)
    spent = (prices * kept).sum(axis=1)
    rows = zip(
        every.tolist(), (kept / sets.full).tolist(), rates.tolist(), spent.tolist(), demands.tolist(), strict=True
    )
    return [
        JoinPlan(
            tree=named(left_deep(order), problem.streams),
            keep=dict(zip(problem.streams, keep, strict=True)),
            rate=rate,
            utilization=cost,
            demand=demand,
            problem=problem,
        )
        for order, keep, rate, cost, demand in rows
    ]


def _check_size(problem: JoinProblem, method: str) -> None:
    n, most = len(problem.streams), MOST.get(method, MOST_STREAMS)
    if (method == "exhaustive" and not _is_linear(problem)) or (method == "exact" and problem.is_timed):
        most = _MOST_LISTED
    if n > most:
        raise PlanError(f"method {method!r} takes at most {most} streams here, not {n}; try 'heuristic'")


def _exact(sets: Sets, joins: Joins) -> Shape:
    full, budget = sets.full[:, None], np.array([sets.budget])
    known, _ = heuristic(sets, full, budget)
    y = most_kept(sets, joins, full, budget, known.sum(axis=0))
    return sets.tree(joins, y[:, 0])


def _heuristic(sets: Sets) -> Shape:
    _, last = heuristic(sets, sets.full[:, None], np.array([sets.budget]))
    first, second, *others = retraced(last[:, 0])
    return left_deep([min(first, second), max(first, second), *others])


def _alternated(problem: JoinProblem, sets: Sets, joins: Joins) -> JoinPlan:
    """Return a plan for windows of time: alternate the cheapest plan for the shares and the best shares for it."""
    best = evaluated(problem, sets, sets.tree(joins, sets.full))
    while not best.feasible:
        kept = sets.keeping(np.array([best.keep[name] for name in problem.streams]))
        found = evaluated(problem, sets, kept.tree(joins, kept.full))
        if found.rate <= best.rate * (1 + 1e-9):
            break
        best = found
    return best
