"""The shares of streams that drop boxes keep: those that bring most results within a budget of processor time.

With windows of rows, every part of a cost has the share of one stream in it, and the boxes solve a knapsack
(AN04 4.2.1). With windows of time, parts are products of shares: sums of exponentials in the logarithms of the
shares, in which SLSQP finds a point that no small change improves, from several starts. Which plans are cheapest
depends on what is kept, and the other way round: both are improved in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize

from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.posynomial import Posynomial
from penstock.optimizer.probing import ProbedPlan, Probing
from penstock.optimizer.sets import Floats

_ENOUGH = 1e-6
_LEAST_SHARE = 1e-5
"""Below this a stream is as good as dropped whole."""
_LEAST_LEFT = 0.1
"""Of a budget, what is left for the streams if more than the rest of it is spent whatever they keep."""
_THINNED = 0.1
"""The share of one stream from which plans and boxes are improved, beside that of all whole."""


@dataclass(frozen=True, eq=False)
class Load:
    """What streams bring and cost together, in plans that are given."""

    value: Posynomial
    cost: Posynomial

    def kept(self, budget: float) -> Floats:
        """Return the share of each stream that brings most within a budget; a point that no small change improves.

        >>> value, cost = Posynomial.of(2, [(1.0, [0]), (1.0, [1])]), Posynomial.of(2, [(1.0, [0]), (2.0, [1])])
        >>> Load(value, cost).kept(2.0).tolist()
        [1.0, 0.5]
        """
        shares = np.ones(self.cost.streams)
        if self.cost.at(shares) <= budget:
            return shares
        budget = max(budget - self.cost.constant, budget * _LEAST_LEFT)
        if self.value.is_linear and self.cost.is_linear:
            return _cheapest_first(self.value.slopes, self.cost.slopes, budget)
        cost = self.cost.variable
        found = [self._climbed(cost, budget, start) for start in _starts(cost, budget)]
        return max(found, key=self.value.at)

    def _climbed(self, cost: Posynomial, budget: float, start: Floats) -> Floats:
        """Return the shares at which what is brought stops growing, within the budget."""
        found = minimize(
            lambda z: -np.log(self.value.at(np.exp(z))),
            np.log(start),
            jac=lambda z: -self.value.exponents(np.exp(z)),
            bounds=[(np.log(_LEAST_SHARE), 0.0)] * len(start),
            constraints={
                "type": "ineq",
                "fun": lambda z: np.log(budget / cost.at(np.exp(z))),
                "jac": lambda z: -cost.exponents(np.exp(z)),
            },
            method="SLSQP",
        )
        reached = np.clip(np.exp(found.x), _LEAST_SHARE, 1.0)
        return _shrunk(cost, budget, reached)


def _starts(cost: Posynomial, budget: float) -> list[Floats]:
    """Return shares within the budget: all streams thinned alike, and each of them more than the others."""
    whole = np.ones(cost.streams)
    return [_shrunk(cost, budget, np.where(each, 0.1, 1.0)) for each in [0 * whole, *np.eye(len(whole))]]


def _shrunk(cost: Posynomial, budget: float, shares: Floats) -> Floats:
    """Return the shares, made smaller all alike until they cost no more than the budget."""
    if cost.at(shares) <= budget:
        return shares
    factor = brentq(lambda f: cost.at(shares * f) - budget, 0.0, 1.0, xtol=1e-12)
    found: Floats = np.maximum(shares * factor, _LEAST_SHARE)
    return found


def _cheapest_first(gains: Floats, costs: Floats, budget: float) -> Floats:
    """Return the shares of streams that bring and cost so much whole; those that bring nothing are not kept."""
    shares = np.where(costs > 0, 0.0, 1.0)
    useful = gains > 0
    prices = costs[useful] / gains[useful]
    shares[useful] = knapsack(prices, gains[useful], budget) / gains[useful]
    return shares


def best_kept(plans_for: Callable[[Floats], Load], streams: int, budget: float) -> Floats:
    """Return the shares that bring most, where `plans_for` says what the plans that are cheapest for some bring.

    Plans for the boxes and boxes for the plans, in turn, from all streams whole and from each of them thinned.
    """
    whole = np.ones(streams)
    if plans_for(whole).cost.at(whole) <= budget:
        return whole
    starts = [whole, *(np.where(np.arange(streams) == place, _THINNED, 1.0) for place in range(streams))]
    found = [_improved(plans_for, start, budget) for start in starts]
    return max(found, key=lambda each: each[1])[0]


def _improved(plans_for: Callable[[Floats], Load], shares: Floats, budget: float) -> tuple[Floats, float]:
    best = -1.0
    while True:
        load = plans_for(shares)
        found = load.kept(budget)
        brought = load.value.at(found)
        if brought <= best * (1 + _ENOUGH):
            return shares, best
        shares, best = found, brought


def shed_probes(probing: Probing, budget: float) -> ProbedPlan:
    """Return the probe orders and the drop boxes of a join that keep most results within a budget (AN04 4.2).

    With windows of time, a stream of which less is kept may be worth probing first. So orders and boxes are
    improved together; the result is a local optimum.
    """
    names = probing.problem.streams

    def cheapest(shares: Floats) -> Load:
        orders = probing.keeping(dict(zip(names, shares.tolist(), strict=True))).best
        return Load(probing.results_posynomial(), probing.cost_posynomial(orders))

    shares = best_kept(cheapest, len(names), budget)
    keep = dict(zip(names, shares.tolist(), strict=True))
    after = probing.keeping(keep)
    return ProbedPlan(after.best, keep, after.rate, after.utilization(after.best))
