"""The exact method beside the list of all left-deep plans, on thousands of problems and on hard ones."""

import numpy as np
import pytest

from penstock.experiments.an04.hardest import _climbed, _sets, _worst_of
from penstock.experiments.an04.space import of_streams
from penstock.optimizer.exact import most_kept
from penstock.optimizer.exhaustive import order_prices
from penstock.optimizer.heuristic import heuristic
from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.trees import orders

AT_ONCE = 24


def kept(space, points):
    """What the best of all plans, the exact method and the heuristic keep of each problem."""
    windows, shares, rates, resources = space.numbers(points)
    sets, full = _sets(space, windows, shares), rates / windows[:, None]
    prices = order_prices(sets, orders(sets.n))
    budget = resources * (prices @ full).min(axis=0)
    best = knapsack(prices[:, :, None], full[None], budget, axis=1).sum(axis=1).max(axis=0)
    theirs = heuristic(sets, full, budget)[0].sum(axis=0)
    return best, most_kept(sets, sets.left_deep, full, budget, theirs).sum(axis=0), theirs


@pytest.mark.parametrize(("streams", "spaces"), [(2, 40), (3, 40), (4, 40), (5, 30), (6, 12)])
def test_problems_of_all_sizes(streams, spaces):
    random = np.random.default_rng(streams)
    for _ in range(spaces):
        space = of_streams(streams, random)
        best, exact, _ = kept(space, space.anywhere(random, AT_ONCE))
        assert exact == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("streams", [4, 5])
def test_problems_that_the_heuristic_errs_on(streams):
    """Uphill from a problem that is hard for the heuristic; it is behind on many of these, and exact on none."""
    random = np.random.default_rng(streams)
    spaces = [of_streams(streams, random) for _ in range(20)]
    place = max((_worst_of(each, each.anywhere(random, AT_ONCE)) for each in spaces), key=lambda each: each.error)
    behind = 0
    for _ in range(40):
        place = _climbed(place, random)
        best, exact, theirs = kept(place.space, place.space.near(random, place.point, AT_ONCE, 0.1))
        assert exact == pytest.approx(best, rel=1e-9)
        behind += int((theirs < 0.999 * best).sum())
    assert behind > 100
