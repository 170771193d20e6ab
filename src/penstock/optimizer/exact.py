"""Exact search for the most that any plan can keep under shedding, without listing all plans.

The best plan's drop boxes solve a knapsack: some streams are kept whole, one in part, the others are dropped. So
every such choice is tried: streams A whole, j in part. The cheapest plan for a choice is found by dynamic
programming, since for given drop boxes the cost of a set of streams is that of its best join, independent of the
rest. The cost of the cheapest plan is a concave, piecewise linear function of the part of j, with one line for
each plan. Follow each line to the budget, from the left; the last one gives the answer. This considers every
plan of the space: the result is the optimum, up to 1e-9 of a stream.
"""

from dataclasses import dataclass

import numpy as np

from penstock.optimizer.stream_sets import Floats, Ints, Joins, Sets

_CLOSE = 1e-9
"""Tolerance, as a share of a stream and of the budget."""
_AT_ONCE = 1 << 21
"""About the largest number of elements of an array."""


@dataclass(frozen=True)
class _Choices:
    """Choices to try: the streams kept whole (as a set), the one kept in part, and the problem."""

    whole: Ints
    part: Ints
    problem: Ints

    def only(self, which: Ints) -> "_Choices":
        return _Choices(self.whole[which], self.part[which], self.problem[which])


def most_kept(sets: Sets, joins: Joins, full: Floats, budget: Floats, known: Floats) -> Floats:
    """Return the best y of each problem: a row for each stream, a column for each problem.

    Problems differ in what arrives (`full`) and in their budget. `known` is the total that some plan is known to
    keep: only choices that could keep as much are tried.
    """
    found = full.copy()
    short = np.flatnonzero(_costs(sets, joins, full) > budget * (1 + _CLOSE))
    choices = _affordable(sets, joins, full, budget, _promising(sets, full, known, short))
    theta = _largest_parts(sets, joins, full, budget, choices)
    kept = (sets.members @ full)[choices.whole, choices.problem] + theta * full[choices.part, choices.problem]
    order = np.lexsort((kept, choices.problem))
    best = order[np.diff(choices.problem[order], append=-1) != 0]
    choices, theta = choices.only(best), theta[best]
    found[:, choices.problem] = _kept(sets, full, choices, theta)
    return found


def _promising(sets: Sets, full: Floats, known: Floats, short: Ints) -> _Choices:
    """Return the choices that keep at least the known total if the stream in part were whole."""
    most = (sets.members @ full[:, short])[:, None] + full[None, :, short]
    most[sets.members] = -np.inf
    whole, part, problem = np.nonzero(most > known[short] * (1 - _CLOSE))
    return _Choices(whole, part, short[problem])


def _affordable(sets: Sets, joins: Joins, full: Floats, budget: Floats, choices: _Choices) -> _Choices:
    """Return the choices whose whole streams alone are within the budget."""
    pairs, place = np.unique(np.stack([choices.whole, choices.problem]), axis=1, return_inverse=True)
    whole, problem = pairs
    fits = _costs(sets, joins, full[:, problem] * sets.members[whole].T) <= budget[problem] * (1 + _CLOSE)
    return choices.only(np.flatnonzero(fits[place.ravel()]))


def _largest_parts(sets: Sets, joins: Joins, full: Floats, budget: Floats, choices: _Choices) -> Floats:
    """Return for every choice the largest part for which the cheapest plan is within the budget."""
    theta = np.zeros(len(choices.part))
    going = np.arange(len(theta))
    while len(going):
        some = choices.only(going)
        y = _kept(sets, full, some, theta[going] + _CLOSE).astype(complex)
        y[some.part, np.arange(len(going))] += 1j * full[some.part, some.problem]
        cost = _costs(sets, joins, y)  # just right of theta, so that of equal plans the flattest is taken
        reached = theta[going] + _CLOSE + (budget[some.problem] - cost.real) / cost.imag
        grown = reached > theta[going] + _CLOSE
        theta[going] = np.maximum(theta[going], np.minimum(reached, 1.0))
        going = going[grown & (theta[going] < 1)]
    return theta


def _kept(sets: Sets, full: Floats, choices: _Choices, theta: Floats) -> Floats:
    y = full[:, choices.problem] * sets.members[choices.whole].T
    y[choices.part, np.arange(len(theta))] = full[choices.part, choices.problem] * theta
    return y


def _costs(sets: Sets, joins: Joins, y: Floats) -> Floats:
    """Return the costs of the cheapest plans for all streams, computed in slices that fit into memory."""
    width = max(1, _AT_ONCE // max(left.size for _, left, _ in joins))
    slices = [sets.cheapest(joins, y[:, start : start + width])[-1] for start in range(0, y.shape[1], width)]
    return np.concatenate(slices) if slices else np.zeros(0, y.dtype)
