"""Evaluation of one plan: its rate and utilization, with the best drop boxes for it."""

import numpy as np

from penstock.optimizer.exact import most_kept
from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.plan import JoinPlan
from penstock.optimizer.problem import JoinProblem
from penstock.optimizer.stream_sets import Floats, Joins, Sets, Shape
from penstock.optimizer.time_windows import shares_kept
from penstock.optimizer.trees import joins_of, named


def evaluated(problem: JoinProblem, sets: Sets, shape: Shape) -> JoinPlan:
    """Return a plan with its rate and utilization; with drop boxes if it exceeds the budget."""
    joins = joins_of(shape)
    demand = _cost(sets, joins)
    if demand <= sets.budget:
        keep = np.ones(sets.n)
    elif problem.is_timed:
        keep = shares_kept(sets, joins)
    else:
        keep = _kept(sets, joins) / sets.full
    after = sets.keeping(keep)
    return JoinPlan(
        tree=named(shape, problem.streams),
        keep=dict(zip(problem.streams, keep.tolist(), strict=True)),
        rate=float(after.windows[-1] * after.full.sum()),
        utilization=_cost(after, joins),
        demand=demand,
        problem=problem,
    )


def _cost(sets: Sets, joins: Joins) -> float:
    return float(sets.cheapest(joins, sets.full[:, None])[-1, 0])


def _kept(sets: Sets, joins: Joins) -> Floats:
    """Return the largest y that one plan can keep, with windows of rows."""
    if len(sets.methods) > 1:  # the cheapest method of a side depends on what is kept
        return most_kept(sets, joins, sets.full[:, None], np.array([sets.budget]), np.zeros(1))[:, 0]
    return knapsack(sets.prices(joins), sets.full, sets.budget)
