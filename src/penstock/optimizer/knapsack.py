"""How much of each stream to keep when a plan exceeds the budget: a knapsack (AN04 4.2.1)."""

import numpy as np

from penstock.optimizer.stream_sets import Floats


def knapsack(prices: Floats, most: Floats, budget: Floats | float, axis: int = 0) -> Floats:
    """Return how much of each stream to take: the cheapest first, whole, until the budget is used up.

    `prices` are seconds per unit of y (`sets.Sets`), of which there is `most`. A unit of any stream gives the same
    number of results, so AN04's ratio is one over the price.

    >>> knapsack(np.array([2.0, 1.0, 4.0]), np.array([1.0, 1.0, 1.0]), 2.0).tolist()
    [0.5, 1.0, 0.0]
    """
    order = np.argsort(prices, axis=axis, kind="stable")
    prices, wanted = np.broadcast_arrays(np.take_along_axis(prices, order, axis), most)
    order = np.broadcast_to(order, wanted.shape)
    wanted = np.take_along_axis(wanted, order, axis)
    costs = prices * wanted
    spent = np.moveaxis(np.cumsum(costs, axis=axis), axis, 0)
    before = np.moveaxis(np.concatenate([np.zeros_like(spent[:1]), spent[:-1]]), 0, axis)
    left = np.asarray(budget - before)
    share = np.divide(left, costs, out=np.ones_like(costs), where=costs > 0)
    taken: Floats = np.empty_like(costs)
    np.put_along_axis(taken, order, wanted * np.clip(share, 0.0, 1.0), axis)
    return taken
