"""The rate and the active window of every set of streams, joined; they do not depend on the plan.

With `y` = the rate of a stream divided by the tuples in its window, a set S whose windows hold ``V(S) = Πf ΠW``
joined tuples produces ``V(S) · Σ y`` results per second, in whatever order it is joined (AN04 (5, 6)). Costs and
the final rate are linear in `y`. Therefore shedding is a knapsack, and all searches here build on that.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.errors import PlanError
from penstock.network import Window
from penstock.optimizer.filters import cost_per_tuple
from penstock.optimizer.problem import JoinProblem

Shape = int | tuple["Shape", "Shape"]
"""A plan: a stream, by its place, or the join of two plans."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Joins = list[tuple[Ints, Ints, Ints]]
"""Sets of streams, smaller ones first, each with the left and right sides that it can be joined from."""


@dataclass(frozen=True, eq=False)
class Sets:
    """A join problem, as arrays; sets of streams are bit masks."""

    windows: Floats
    """V of every set: how many joined tuples its windows hold."""
    full: Floats
    """y of every stream when nothing is dropped."""
    base: Floats
    """Seconds that the filters of every stream take for each unit of its y."""
    methods: tuple[tuple[float, float, float], ...]
    """For every join method: seconds to probe, per tuple held, and to insert and invalidate."""
    timed: NDArray[np.bool_]
    """Which streams have windows of time."""
    budget: float

    @classmethod
    def of(cls, problem: JoinProblem) -> "Sets":
        """Return the arrays of a problem."""
        places = {name: place for place, name in enumerate(problem.streams)}
        held, full, base = [], [], []
        for name in problem.streams:
            window, rate = problem.windows[name], float(problem.rates[name])
            assert isinstance(window, Window)
            size = float(window.size) * (rate if window.kind == "range" else 1.0)  # AN04 3: W = λT
            cost, passed = cost_per_tuple(problem.filters[name])
            held.append(size * passed)
            full.append(rate / size)
            base.append(size * cost)
        windows = np.ones(1 << len(held))
        with np.errstate(over="ignore"):
            for place, size in enumerate(held):
                windows[1 << place : 2 << place] = windows[: 1 << place] * size
            sets = np.arange(len(windows))
            for (one, other), share in problem.selectivities.items():
                pair = 1 << places[one] | 1 << places[other]
                windows[sets & pair == pair] *= float(share)
        if not (np.isfinite(windows).all() and windows.all()):
            raise PlanError("the number of joined tuples in windows of these sizes is out of range")
        slow = 1 / float(problem.share)
        methods = tuple(
            (float(m.probe) * slow, float(m.scan) * slow, (float(m.insert) + float(m.invalidate)) * slow)
            for m in problem.join_methods
        )
        timed = np.array([problem.windows[name].kind == "range" for name in problem.streams])
        return cls(windows, np.array(full), np.array(base) * slow, methods, timed, problem.budget)

    @property
    def n(self) -> int:
        """The number of streams."""
        return len(self.full)

    def keeping(self, shares: Floats) -> "Sets":
        """Return the arrays with only these shares kept: less arrives, and windows of time hold less."""
        held = np.where(self.timed, shares, 1.0)
        windows = self.windows * np.where(self.members, held, 1.0).prod(axis=1)
        full = self.full * np.where(self.timed, 1.0, shares)
        return replace(self, windows=windows, full=full, base=self.base * held)

    @cached_property
    def members(self) -> NDArray[np.bool_]:
        """For every set, which streams are in it."""
        return (np.arange(1 << self.n)[:, None] >> np.arange(self.n) & 1).astype(bool)

    @cached_property
    def left_deep(self) -> "Joins":
        """Every join whose right side is one stream, by the number of streams joined."""
        found = []
        for sets, streams in self._layers:
            right = 1 << streams
            found.append((sets, sets[:, None] ^ right, right))
        return found

    @cached_property
    def bushy(self) -> "Joins":
        """Every join of two sets, by the number of streams joined."""
        found = []
        for sets, streams in self._layers:
            others = streams.shape[1] - 1
            chosen = np.arange((1 << others) - 1)[:, None] >> np.arange(others) & 1  # never all of the others
            left = (1 << streams[:, :1]) + (chosen[None] << streams[:, None, 1:]).sum(axis=2)
            found.append((sets, left, sets[:, None] ^ left))
        return found

    @property
    def _layers(self) -> Iterator[tuple[Ints, Ints]]:
        """For sets of 2, 3, … streams: the sets, and the streams of each."""
        sizes = self.members.sum(axis=1)
        for size in range(2, self.n + 1):
            sets = np.flatnonzero(sizes == size)
            yield sets, np.nonzero(self.members[sets])[1].reshape(len(sets), size)

    def cheapest(self, joins: Joins, y: Floats) -> Floats:
        """Return the cost of the cheapest plan of these joins for each set; `y` has a row for each stream.

        With complex `y`, the result has the cost as real part and its growth as imaginary part: costs are linear
        in `y`, and numpy's minimum of complex numbers compares real parts first, then imaginary parts.
        """
        brought = np.zeros((1 << self.n, *y.shape[1:]), y.dtype)
        costs = np.zeros_like(brought)
        for place in range(self.n):
            brought[1 << place : 2 << place] = brought[: 1 << place] + y[place]
            costs[1 << place] = self.base[place] * y[place]
        for sets, left, right in joins:
            joined = self._join_cost(left, right, brought[left], brought[right])
            costs[sets] = (costs[left] + costs[right] + joined).min(axis=1)
        return costs

    def prices(self, joins: Joins) -> Floats:
        """Return the seconds per unit of each stream's y in the one plan of these joins."""
        found: Floats = self.cheapest(joins, np.eye(self.n))[-1]
        return found

    def _join_cost(self, left: Ints, right: Ints, left_y: Floats, right_y: Floats) -> Floats:
        """Return the utilization of joins; each side uses its cheapest method.

        AN04 (8): a side is probed by the tuples of the other, and inserts its own.
        """
        shape = (*left.shape, *(1,) * (left_y.ndim - left.ndim))
        left_window, right_window = self.windows[left].reshape(shape), self.windows[right].reshape(shape)
        left_rate, right_rate = left_window * left_y, right_window * right_y
        return self._side(right_rate, left_window, left_rate) + self._side(left_rate, right_window, right_rate)

    def _side(self, probing: Floats, held: Floats, inserted: Floats) -> Floats:
        costs = [probing * (probe + scan * held) + inserted * insert for probe, scan, insert in self.methods]
        return np.minimum.reduce(costs) if len(costs) > 1 else costs[0]

    def join_prices(self, left: Ints, right: Ints, y: Floats) -> Floats:
        """Return what joins add to the price of each stream (the third axis), with the cheapest methods at `y`."""
        ins = [self.members[side][..., None] for side in (left, right)]
        windows = [self.windows[side][..., None] for side in (left, right)]
        rates = [window * (y * within).sum(axis=2) for window, within in zip(windows, ins, strict=True)]
        prices = np.zeros_like(y)
        for own, other in ((0, 1), (1, 0)):  # the side that is probed and inserted into, and the one that probes
            options = [
                (windows[other] * (probe + scan * windows[own]), windows[own] * insert)
                for probe, scan, insert in self.methods
            ]
            costs = [
                rates[other] * probing / windows[other] + rates[own] * inserting / windows[own]
                for probing, inserting in options
            ]
            best = np.argmin(costs, axis=0)
            for place, (probing, inserting) in enumerate(options):
                chosen = (best == place)[:, :, None]
                prices += chosen * (ins[other] * probing[:, :, None] + ins[own] * inserting[:, :, None])
        return prices

    def method(self, own: int, other: int) -> tuple[float, float, float]:
        """Return the cheapest method for the side `own` of a join."""
        rates = [self.windows[side] * self.full[self.members[side]].sum() for side in (own, other)]
        held = self.windows[own]
        return min(self.methods, key=lambda m: rates[1] * (m[0] + m[1] * held) + rates[0] * m[2])

    def tree(self, joins: Joins, y: Floats) -> "Shape":
        """Return the cheapest plan if `y` is kept of each stream."""
        costs = self.cheapest(joins, y[:, None])
        brought = (self.members @ y)[:, None]
        layers = {
            int(each): (left[row], right[row]) for sets, left, right in joins for row, each in enumerate(sets)
        }

        def shape(some: int) -> "Shape":
            if some not in layers:
                return some.bit_length() - 1
            left, right = layers[some]
            joined = costs[left] + costs[right] + self._join_cost(left, right, brought[left], brought[right])
            best = int(joined[:, 0].argmin())
            sides = shape(int(left[best])), shape(int(right[best]))
            return (
                sides if isinstance(sides[0], tuple) or isinstance(sides[1], tuple) else (min(sides), max(sides))
            )

        return shape(len(costs) - 1)
