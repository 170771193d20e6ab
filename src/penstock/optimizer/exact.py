"""The most that any plan can keep, without trying them all.

The best plan's drop boxes solve a knapsack: some streams are whole, one is kept in part, the others are
dropped. So try every such choice: streams A whole, j in part. The cheapest plan for it is found by dynamic
programming, since for given drop boxes the cost of a set of streams is that of its best join, whatever the rest
does. What the cheapest plan costs grows with the part of j in a concave line of straight pieces, one for each
plan; follow each piece to the budget, from the left, and the last one is the answer. Every plan of the space is
thereby considered: the result is the optimum, but for 1e-9 of a stream.
"""

from dataclasses import dataclass

import numpy as np

from penstock.optimizer.sets import Floats, Ints, Joins, Sets

_CLOSE = 1e-9
"""How exact: this share of a stream, and of the budget."""
_AT_ONCE = 1 << 21
"""About as many numbers are in an array at once."""


@dataclass(frozen=True)
class _Choices:
    """Streams kept whole (as a set), the one kept in part, and the problem, of every choice worth a try."""

    whole: Ints
    part: Ints
    problem: Ints

    def only(self, which: Ints) -> "_Choices":
        return _Choices(self.whole[which], self.part[which], self.problem[which])


def most_kept(sets: Sets, joins: Joins, full: Floats, budget: Floats, known: Floats) -> Floats:
    """Return the best y of each problem: a row for each stream, a column for each problem.

    Problems differ in what arrives (`full`) and in their budget. What some plan is `known` to keep in all saves
    work: only choices that could keep as much are tried.
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
    """The choices that keep as much as is known to be possible, if the one in part were whole."""
    most = (sets.members @ full[:, short])[:, None] + full[None, :, short]
    most[sets.members] = -np.inf
    whole, part, problem = np.nonzero(most > known[short] * (1 - _CLOSE))
    return _Choices(whole, part, short[problem])


def _affordable(sets: Sets, joins: Joins, full: Floats, budget: Floats, choices: _Choices) -> _Choices:
    """Those whose whole streams alone are within the budget."""
    pairs, place = np.unique(np.stack([choices.whole, choices.problem]), axis=1, return_inverse=True)
    whole, problem = pairs
    fits = _costs(sets, joins, full[:, problem] * sets.members[whole].T) <= budget[problem] * (1 + _CLOSE)
    return choices.only(np.flatnonzero(fits[place.ravel()]))


def _largest_parts(sets: Sets, joins: Joins, full: Floats, budget: Floats, choices: _Choices) -> Floats:
    """For every choice, the largest part for which the cheapest plan is within the budget."""
    theta = np.zeros(len(choices.part))
    going = np.arange(len(theta))
    while len(going):
        some = choices.only(going)
        y = _kept(sets, full, some, theta[going] + _CLOSE).astype(complex)
        y[some.part, np.arange(len(going))] += 1j * full[some.part, some.problem]
        cost = _costs(sets, joins, y)  # just right of where we are, so that of equal plans the flattest is taken
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
    """What the cheapest plans for all streams cost, in slices that memory can hold."""
    width = max(1, _AT_ONCE // max(left.size for _, left, _ in joins))
    slices = [sets.cheapest(joins, y[:, start : start + width])[-1] for start in range(0, y.shape[1], width)]
    return np.concatenate(slices) if slices else np.zeros(0, y.dtype)
