"""The shares of streams to keep: those with the most results within a budget of processor time.

With row windows, every term of a cost has the share of one stream, and the best shares solve a knapsack
(AN04 4.2.1). With time windows, terms are products of shares: sums of exponentials in the logarithms of shares.
SLSQP finds a local optimum of these, from several starts. The cheapest plans depend on the shares, and the best
shares on the plans: both are improved in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its part `optimize` is loaded on first use

from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.posynomial import Posynomial
from penstock.optimizer.probing import ProbedPlan, Probing
from penstock.optimizer.stream_sets import Floats

_ENOUGH = 1e-6
_LEAST_SHARE = 1e-5
"""Below this a stream counts as dropped."""
_LEAST_BUDGET = 0.1
"""The least share of a budget for costs that depend on shares, however large the constant costs are."""
_REDUCED = 0.1
"""Share of the reduced stream in a start. In another start all streams are whole."""


@dataclass(frozen=True, eq=False)
class Load:
    """Results (`value`) and cost of given plans, as functions of the shares kept."""

    value: Posynomial
    cost: Posynomial

    def kept(self, budget: float) -> Floats:
        """Return the shares with the largest value within a budget; a local optimum.

        >>> value, cost = Posynomial.of(2, [(1.0, [0]), (1.0, [1])]), Posynomial.of(2, [(1.0, [0]), (2.0, [1])])
        >>> Load(value, cost).kept(2.0).tolist()
        [1.0, 0.5]
        """
        shares = np.ones(self.cost.streams)
        if self.cost.at(shares) <= budget:
            return shares
        budget = max(budget - self.cost.constant, budget * _LEAST_BUDGET)
        if self.value.is_linear and self.cost.is_linear:
            return _cheapest_first(self.value.slopes, self.cost.slopes, budget)
        cost = self.cost.variable
        found = [self._local_optimum(cost, budget, start) for start in _starts(cost, budget)]
        return max(found, key=self.value.at)

    def _local_optimum(self, cost: Posynomial, budget: float, start: Floats) -> Floats:
        """Return a local optimum of the value within the budget, from a start."""
        found = scipy.optimize.minimize(
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
    """Return starts within the budget: all streams reduced alike, and each of them more than the others."""
    whole = np.ones(cost.streams)
    return [_shrunk(cost, budget, np.where(each, 0.1, 1.0)) for each in [0 * whole, *np.eye(len(whole))]]


def _shrunk(cost: Posynomial, budget: float, shares: Floats) -> Floats:
    """Return the shares, multiplied by one factor so that they cost no more than the budget."""
    if cost.at(shares) <= budget:
        return shares
    factor = scipy.optimize.brentq(lambda f: cost.at(shares * f) - budget, 0.0, 1.0, xtol=1e-12)
    found: Floats = np.maximum(shares * factor, _LEAST_SHARE)
    return found


def _cheapest_first(gains: Floats, costs: Floats, budget: float) -> Floats:
    """Return the shares that solve the knapsack; streams with a cost and no gain are dropped."""
    shares = np.where(costs > 0, 0.0, 1.0)
    useful = gains > 0
    prices = costs[useful] / gains[useful]
    shares[useful] = knapsack(prices, gains[useful], budget) / gains[useful]
    return shares


def best_kept(plans_for: Callable[[Floats], Load], streams: int, budget: float) -> Floats:
    """Return the shares with the largest value; `plans_for` returns the load of the cheapest plans for shares.

    Shares and plans are improved in turn, from all streams whole and from each of them reduced.
    """
    whole = np.ones(streams)
    if plans_for(whole).cost.at(whole) <= budget:
        return whole
    starts = [whole, *(np.where(np.arange(streams) == place, _REDUCED, 1.0) for place in range(streams))]
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
    """Return the probe orders and drop boxes of a join that keep most results within a budget (AN04 4.2).

    With time windows, a stream of which less is kept may be better probed first. So orders and boxes are improved
    together; the result is a local optimum.
    """
    names = probing.problem.streams

    def cheapest(shares: Floats) -> Load:
        orders = probing.keeping(dict(zip(names, shares.tolist(), strict=True))).best
        return Load(probing.results_posynomial(), probing.cost_posynomial(orders))

    shares = best_kept(cheapest, len(names), budget)
    keep = dict(zip(names, shares.tolist(), strict=True))
    after = probing.keeping(keep)
    return ProbedPlan(after.best, keep, after.rate, after.utilization(after.best))
