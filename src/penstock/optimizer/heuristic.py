"""AN04 5.2: dynamic programming over left-deep plans that sets drop boxes as soon as a subplan needs them."""

import numpy as np

from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.stream_sets import Floats, Ints, Sets


def heuristic(sets: Sets, full: Floats, budget: Floats) -> tuple[Floats, Ints]:
    """Return what is kept of each stream, and for every set of streams the one that its plan joins last.

    Columns are problems, as in `exact.most_kept`. The best plan of a set is the one with the most results per
    cost (AN04 (21)). Its drop boxes stay when the set becomes part of a larger one, and are multiplied with
    further ones. Optimal if there is a plan without drop boxes; else not always.
    """
    n, problems = full.shape
    y = np.zeros((1 << n, n, problems))
    prices = np.zeros_like(y)
    last = np.zeros((1 << n, problems), np.int64)
    for stream in range(n):
        prices[1 << stream, stream] = sets.base[stream]
        y[1 << stream] = knapsack(prices[1 << stream], _only(full, stream), budget)
    columns = np.arange(problems)
    for made, left, right in sets.left_deep:
        joined = np.log2(right).astype(np.int64)
        kept = y[left] + y[right]
        price = prices[left] + prices[right] + sets.join_prices(left, right, kept)
        cost = (price * kept).sum(axis=2)
        kept = knapsack(price, kept, budget, axis=2)
        cost = np.minimum(cost, budget)
        best = np.argmax(kept.sum(axis=2) / cost, axis=1)  # V is the same for all
        rows = np.arange(len(made))[:, None]
        y[made] = kept[rows, best, :, columns].swapaxes(1, 2)
        prices[made] = price[rows, best, :, columns].swapaxes(1, 2)
        last[made] = joined[rows, best]
    return y[-1], last


def _only(full: Floats, stream: int) -> Floats:
    alone = np.zeros_like(full)
    alone[stream] = full[stream]
    return alone
