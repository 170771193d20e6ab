"""The search for problems on which AN04's heuristic errs most: many at random, then uphill from the worst."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from penstock.experiments.an04.space import Space, of_streams, own
from penstock.experiments.an04.study import sets_of
from penstock.optimizer import JoinPlan, JoinProblem, optimize
from penstock.optimizer.exhaustive import order_prices
from penstock.optimizer.heuristic import heuristic
from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.stream_sets import Floats, Sets
from penstock.optimizer.trees import orders

_AT_ONCE = 24
"""Rates and resources that are tried with the same windows and selectivities."""
_STARTS = 8
_STEP = 0.5, 0.02, 1.5
"""Length of a step in powers of ten: first, minimum, maximum; longer after a gain, shorter after none."""


@dataclass(frozen=True)
class Hard:
    """A problem that is hard for the heuristic; `resources` are a share of what the cheapest plan needs."""

    problem: JoinProblem
    resources: float
    heuristic: JoinPlan
    best: JoinPlan

    @property
    def error(self) -> float:
        """The share of the best plan's results that the heuristic's plan does not bring."""
        return 1 - self.heuristic.rate / self.best.rate

    def as_dict(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        problem = self.problem
        return {
            "error": self.error,
            "resources": self.resources,
            "rates": dict(problem.rates),
            "windows": {name: window.size for name, window in problem.windows.items()},
            "selectivities": {",".join(pair): share for pair, share in problem.selectivities.items()},
            "join_cost": problem.join_cost,
            "heuristic": _described(self.heuristic),
            "best": _described(self.best),
        }


def _described(plan: JoinPlan) -> dict[str, Any]:
    return {"order": list(plan.order), "keep": dict(plan.keep), "rate": plan.rate, "demand": plan.demand}


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a search is: a point, the error there, and how far its next step goes."""

    space: Space
    point: Floats
    error: float
    step: float = _STEP[0]


KINDS: Mapping[str, Callable[[np.random.Generator], Space]] = {
    "AN04's windows and predicates, any rates": lambda random: own(),
    "any 3 streams": partial(of_streams, 3),
    "any 4 streams": partial(of_streams, 4),
    "any 5 streams": partial(of_streams, 5),
}
"""What is searched, one after the other."""


def worst(space: Callable[[np.random.Generator], Space], steps: int, random: np.random.Generator) -> Hard:
    """Return the hardest problem found in `steps` steps.

    A quarter of the steps draw at random. The others climb from the worst of these points, in turn; three times,
    the worse half of the climbs is given up.
    """
    drawn = max(1, steps // 4)
    spaces = (space(random) for _ in range(drawn))
    places = _first([_worst_of(each, each.anywhere(random, 2 * _AT_ONCE)) for each in spaces], _STARTS)
    for step in range(steps - drawn):
        if step and step % max(1, (steps - drawn) // 4) == 0:
            places = _first(places, (len(places) + 1) // 2)
        turn = step % len(places)
        places[turn] = _climbed(places[turn], random)
    return _hard(_first(places, 1)[0])


def _first(places: list[_Place], count: int) -> list[_Place]:
    return sorted(places, key=lambda place: -place.error)[:count]


def _climbed(place: _Place, random: np.random.Generator) -> _Place:
    """Return the worst place within a step, if it is worse; else the same, to try a smaller step from."""
    tried = _worst_of(place.space, place.space.near(random, place.point, _AT_ONCE, place.step))
    if tried.error > place.error:
        return replace(tried, step=min(1.5 * place.step, _STEP[2]))
    return replace(place, step=max(0.97 * place.step, _STEP[1]))


def _worst_of(space: Space, points: Floats) -> _Place:
    windows, shares, rates, resources = space.numbers(points)
    found = errors(_sets(space, windows, shares), rates / windows[:, None], resources)
    most = int(found.argmax())
    return _Place(space, points[:, most], float(found[most]))


def errors(sets: Sets, full: Floats, resources: Floats) -> Floats:
    """Return by how much the heuristic is behind the best of all left-deep plans, for each column of `full`."""
    prices = order_prices(sets, orders(sets.n))
    budget = resources * (prices @ full).min(axis=0)
    best = knapsack(prices[:, :, None], full[None], budget, axis=1).sum(axis=1).max(axis=0)
    found: Floats = 1 - heuristic(sets, full, budget)[0].sum(axis=0) / best
    return found


def _sets(space: Space, windows: Floats, shares: Floats) -> Sets:
    return sets_of(dict(zip(space.streams, windows, strict=True)), _predicates(space, shares))


def _predicates(space: Space, shares: Floats) -> dict[tuple[str, str], float]:
    return {pair: float(share) for pair, share in zip(space.pairs, shares, strict=True) if share < 1}


def _hard(place: _Place) -> Hard:
    """Return the problem at a place, with a join that takes so long that there is one processor for it."""
    space = place.space
    windows, shares, rates, resources = space.numbers(place.point[:, None])
    problem = JoinProblem(
        rates=dict(zip(space.streams, rates[:, 0].tolist(), strict=True)),
        windows=dict(zip(space.streams, windows.tolist(), strict=True)),
        selectivities=_predicates(space, shares),
        join_cost=1.0,
    )
    needed = optimize(problem, "exact", capacity=1e60).demand
    problem = replace(problem, join_cost=float(f"{1 / (needed * resources[0]):.6g}"))
    return Hard(problem, float(resources[0]), optimize(problem, "heuristic"), optimize(problem, "exact"))
