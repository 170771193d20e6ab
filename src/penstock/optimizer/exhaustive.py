"""Prices of all left-deep plans at once, for windows of rows and a single join method."""

import numpy as np

from penstock.optimizer.stream_sets import Floats, Ints, Sets


def order_prices(sets: Sets, orders: Ints) -> Floats:
    """Return a row per order with the price of each stream: seconds of all joins per unit of its y.

    Prices do not depend on what is dropped.
    """
    ((probe, scan, insert),) = sets.methods
    streams = 1 << orders
    left = sets.windows[(np.cumsum(streams, axis=1) - streams)[:, 1:]]  # results of the joins before
    right = sets.windows[streams[:, 1:]]
    passing = left * (probe + scan * right + insert)
    entering = right * (probe + scan * left + insert)
    prices = np.zeros(orders.shape)
    still_to_pass = np.cumsum(passing[:, ::-1], axis=1)[:, ::-1]
    prices[:, :-1] = still_to_pass
    prices[:, 1:] += entering
    found = np.empty_like(prices)
    np.put_along_axis(found, orders, prices, axis=1)
    return found + sets.base
