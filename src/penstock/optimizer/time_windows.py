"""Shedding with windows of time: dropped tuples are also missing in windows, so costs and rates are not linear.

A window of T seconds holds λxT tuples, where x is the share kept. The rate of a join of such streams is a
product of all x, and every part of the cost is a product of some of them: a geometric program, convex in the
logarithms. At its solution each stream that sheds causes the same cost, and those that do not shed cause no
more.

With some windows of rows, the rate is a sum of products. It is replaced by the product that touches it from below;
that is solved, and replaced again, until the rate stops growing. The result is a local optimum.
"""

import numpy as np
import scipy  # its part `optimize` takes half a second, and is loaded on first use
from numpy.typing import NDArray

from penstock.optimizer.stream_sets import Floats, Joins, Sets

_CLOSE = 1e-12
_STEPS = 200
_ENOUGH = 1e-9


def shares_kept(sets: Sets, joins: Joins) -> Floats:
    """Return the share of each stream to keep, for the highest rate of one plan."""
    x, rate = np.ones(sets.n), 0.0
    while True:
        now = sets.keeping(x)
        # The product that touches the rate here: its exponents are the elasticities of the rate
        exponents = np.where(sets.timed, 1.0, now.full / now.full.sum())
        found = _largest_product(*_cost_parts(sets, now, joins), exponents, sets.budget)
        after = sets.keeping(found)
        reached = float(after.windows[-1] * after.full.sum())
        if reached <= rate * (1 + _ENOUGH):
            return x
        x, rate = found, reached


def _cost_parts(sets: Sets, now: Sets, joins: Joins) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the terms of a plan's cost: each a number, times the shares kept of some streams.

    Every side of a join uses its cheapest method `now`.
    """
    parts = [(sets.base[i] * sets.full[i], 1 << i) for i in range(sets.n)]
    timed = int((1 << np.flatnonzero(sets.timed)).sum())
    for _, left, right in joins:
        sides = int(left[0, 0]), int(right[0, 0])
        for own, other in (sides, sides[::-1]):
            probe, scan, insert = now.method(own, other)
            for cost, streams in _rate_parts(sets, other, timed):
                parts.append((cost * probe, streams))
                parts.append((cost * scan * sets.windows[own], streams | own & timed))
            parts += [(cost * insert, streams) for cost, streams in _rate_parts(sets, own, timed)]
    return np.array([cost for cost, _ in parts]), sets.members[[streams for _, streams in parts]]


def _rate_parts(sets: Sets, some: int, timed: int) -> list[tuple[float, int]]:
    """Return the rate of a set of streams, by the stream whose tuple is the last of a result."""
    inside = np.flatnonzero(sets.members[some])
    return [(float(sets.windows[some] * sets.full[i]), some & timed | 1 << int(i)) for i in inside]


def _largest_product(costs: Floats, streams: NDArray[np.bool_], exponents: Floats, budget: float) -> Floats:
    """Return the x in (0, 1] with the largest product of powers whose cost is within the budget.

    A term of the cost is a number times the x of some streams. At a price of `level` per unit of an exponent, a
    stream is kept until it causes that cost; the level that spends the whole budget is found between its bounds.
    """
    inside = streams.astype(float)
    z = np.zeros(len(exponents))

    def left(log_level: float) -> float:
        nonlocal z
        z = _at_level(costs, inside, exponents * np.exp(log_level), z)
        return float(np.log(costs @ np.exp(inside @ z)) - np.log(budget))

    low, high = np.log(budget / exponents.sum()), np.log(budget / exponents.min())
    if left(high) > 0:
        level = scipy.optimize.brentq(left, low, high, xtol=_CLOSE, rtol=_CLOSE) if left(low) < 0 else low
        left(level)
    x: Floats = np.exp(z)
    return x


def _at_level(costs: Floats, inside: Floats, caused: Floats, z: Floats) -> Floats:
    """Return the z = ln x at which each stream causes this cost, or 0 if the whole stream causes less.

    It is the minimum of Σ cost − caused·z, which is convex in z, found by Newton's method with z at most 0.
    """
    for _ in range(_STEPS):
        parts = costs * np.exp(inside @ z)
        slope = inside.T @ parts - caused
        free = (z < 0) | (slope > 0)
        if not free.any() or np.abs(slope[free] / caused[free]).max() < _CLOSE:
            break
        bent = (inside[:, free].T * parts) @ inside[:, free]
        bent[np.diag_indices_from(bent)] *= 1 + 1e-12
        step = np.zeros_like(z)
        step[free] = -np.linalg.solve(bent, slope[free])
        value, size = parts.sum() - caused @ z, 1.0
        while size > _CLOSE:
            moved = np.minimum(z + size * step, 0.0)
            if (costs * np.exp(inside @ moved)).sum() - caused @ moved <= value:
                break
            size /= 2
        if size <= _CLOSE:
            break
        z = moved
    return z
