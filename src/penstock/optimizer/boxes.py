"""Drop boxes for whatever is a sum of products: what a system takes and brings, by the shares kept of its streams.

With windows of rows, every part of a cost has the share of one stream in it, and the boxes solve a knapsack
(AN04 4.2.1). With windows of time, parts are products of shares: sums of exponentials in the logarithms of the
shares, in which SLSQP finds a point that no small change improves, from several starts. Which plans are cheapest
depends on what is kept, and the other way round: both are improved in turn.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize

from penstock.optimizer.sets import Floats
from penstock.optimizer.shedding import knapsack

_ENOUGH = 1e-6
_LEAST_SHARE = 1e-5
"""Below this a stream is as good as dropped whole."""
_LEAST_LEFT = 0.1
"""Of a budget, what is left for the streams if more than the rest of it is spent whatever they keep."""
_THINNED = 0.1
"""The share of one stream from which plans and boxes are improved, beside that of all whole."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A sum of parts, each an amount times powers of the shares kept: a row of `powers`, a column for each stream.

    >>> both = Parts.of(2, [(3.0, [0]), (4.0, [0, 1])])
    >>> both.at(np.array([0.5, 0.5]))
    2.5
    """

    amounts: Floats
    powers: Floats

    @classmethod
    def of(cls, streams: int, parts: Iterable[tuple[float, Iterable[int]]]) -> "Parts":
        """Return the sum of amounts times the shares of streams, by their places; one may stand there twice."""
        amounts, rows = [], []
        for amount, places in parts:
            row = np.zeros(streams)
            for place in places:
                row[place] += 1
            amounts.append(amount)
            rows.append(row)
        return cls(np.array(amounts, float), np.array(rows, float).reshape(len(rows), streams))

    def __add__(self, other: "Parts") -> "Parts":
        """Return the sum of both."""
        return Parts(np.concatenate([self.amounts, other.amounts]), np.concatenate([self.powers, other.powers]))

    def __mul__(self, factor: float) -> "Parts":
        """Return it so many times."""
        return Parts(self.amounts * factor, self.powers)

    def at(self, shares: Floats) -> float:
        """Return the sum if these shares are kept."""
        return float(self._terms(shares).sum())

    def exponents(self, shares: Floats) -> Floats:
        """Return by how much the sum grows with each share there, both in relation to what they are."""
        terms = self._terms(shares)
        found: Floats = terms @ self.powers / terms.sum()
        return found

    @property
    def is_linear(self) -> bool:
        """Whether no part is a product of shares."""
        return bool((self.powers.sum(axis=1) <= 1).all())

    @property
    def slopes(self) -> Floats:
        """Of a linear sum, what the whole of each stream adds."""
        found: Floats = self.amounts @ self.powers
        return found

    @property
    def fixed(self) -> float:
        """What does not depend on what is kept."""
        return float(self.amounts[self.powers.sum(axis=1) == 0].sum())

    def _terms(self, shares: Floats) -> Floats:
        found: Floats = self.amounts * np.prod(np.power(shares, self.powers), axis=1)
        return found


@dataclass(frozen=True, eq=False)
class Load:
    """What streams bring and cost together, in plans that are given."""

    value: Parts
    cost: Parts

    def kept(self, budget: float) -> Floats:
        """Return the share of each stream that brings most within a budget; a point that no small change improves.

        >>> value, cost = Parts.of(2, [(1.0, [0]), (1.0, [1])]), Parts.of(2, [(1.0, [0]), (2.0, [1])])
        >>> Load(value, cost).kept(2.0).tolist()
        [1.0, 0.5]
        """
        shares = np.ones(self.cost.powers.shape[1])
        if self.cost.at(shares) <= budget:
            return shares
        budget = max(budget - self.cost.fixed, budget * _LEAST_LEFT)
        if self.value.is_linear and self.cost.is_linear:
            return _cheapest_first(self.value.slopes, self.cost.slopes, budget)
        moving = self.cost.powers.sum(axis=1) > 0
        cost = Parts(self.cost.amounts[moving], self.cost.powers[moving])
        found = [self._climbed(cost, budget, start) for start in _starts(cost, budget)]
        return max(found, key=self.value.at)

    def _climbed(self, cost: Parts, budget: float, start: Floats) -> Floats:
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


def _starts(cost: Parts, budget: float) -> list[Floats]:
    """Return shares within the budget: all streams thinned alike, and each of them more than the others."""
    whole = np.ones(cost.powers.shape[1])
    return [_shrunk(cost, budget, np.where(each, 0.1, 1.0)) for each in [0 * whole, *np.eye(len(whole))]]


def _shrunk(cost: Parts, budget: float, shares: Floats) -> Floats:
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
