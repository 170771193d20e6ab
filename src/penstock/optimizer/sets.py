"""What does not depend on the plan: the rate and the active window of every set of streams, joined.

With `y` = what a stream brings divided by what its window holds, a set S whose windows hold ``V(S) = Πf ΠW``
joined tuples brings forth ``V(S) · Σ y`` a second, in whatever order it is joined (AN04 (5, 6)). Costs are
linear in `y`, and so is the final rate: that is what makes shedding a knapsack, and what all searches here
build on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.errors import PlanError
from penstock.network import Window
from penstock.optimizer.filters import cost_a_tuple
from penstock.optimizer.problem import JoinProblem

Shape = int | tuple["Shape", "Shape"]
"""A plan: a stream, by its place, or the join of two."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Joins = list[tuple[Ints, Ints, Ints]]
"""Sets of streams, smaller ones first, and for each the left and the right sides that it can be joined of."""


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
    """Of every way to keep a side of a join: seconds to probe, for each tuple held, to insert and invalidate."""
    timed: NDArray[np.bool_]
    """Which windows are of time."""
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
            cost, passed = cost_a_tuple(problem.filters[name])
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
            raise PlanError("windows of this size hold more joined tuples, or fewer, than can be counted")
        slow = 1 / float(problem.share)
        methods = tuple(
            (float(m.probe) * slow, float(m.scan) * slow, (float(m.insert) + float(m.invalidate)) * slow)
            for m in problem.join_methods
        )
        timed = np.array([problem.windows[name].kind == "range" for name in problem.streams])
        return cls(windows, np.array(full), np.array(base) * slow, methods, timed, problem.budget)

    @property
    def n(self) -> int:
        """How many streams there are."""
        return len(self.full)

    def keeping(self, shares: Floats) -> "Sets":
        """Return what is left when only these shares are kept: less arrives, windows of time hold less."""
        held = np.where(self.timed, shares, 1.0)
        windows = self.windows * np.where(self.members, held, 1.0).prod(axis=1)
        full = self.full * np.where(self.timed, 1.0, shares)
        return replace(self, windows=windows, full=full, base=self.base * held)

    @cached_property
    def members(self) -> NDArray[np.bool_]:
        """Of every set, which streams are in it."""
        return (np.arange(1 << self.n)[:, None] >> np.arange(self.n) & 1).astype(bool)

    @cached_property
    def left_deep(self) -> "Joins":
        """Every join whose right side is one stream, by how many streams it joins."""
        found = []
        for sets, streams in self._layers:
            right = 1 << streams
            found.append((sets, sets[:, None] ^ right, right))
        return found

    @cached_property
    def bushy(self) -> "Joins":
        """Every join of two sets, by how many streams it joins."""
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
        """Return what the cheapest plan of these joins costs for each set; `y` has a row for each stream.

        Given complex numbers, the cost and what it grows by travel together: costs are linear in `y`, and numpy
        takes of two complex numbers the one with the lower real part, then the lower imaginary part.
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
        """Return the seconds that a unit of each stream's y causes in the one plan of these joins."""
        found: Floats = self.cheapest(joins, np.eye(self.n))[-1]
        return found

    def _join_cost(self, left: Ints, right: Ints, left_y: Floats, right_y: Floats) -> Floats:
        """Return the seconds a second of joins; each side keeps its window by the method that is cheapest there.

        AN04 (8): a side is probed by what the other brings, and takes in what it brings itself.
        """
        shape = (*left.shape, *(1,) * (left_y.ndim - left.ndim))
        left_window, right_window = self.windows[left].reshape(shape), self.windows[right].reshape(shape)
        left_rate, right_rate = left_window * left_y, right_window * right_y
        return self._side(right_rate, left_window, left_rate) + self._side(left_rate, right_window, right_rate)

    def _side(self, probing: Floats, held: Floats, inserted: Floats) -> Floats:
        costs = [probing * (probe + scan * held) + inserted * insert for probe, scan, insert in self.methods]
        return np.minimum.reduce(costs) if len(costs) > 1 else costs[0]

    def join_prices(self, left: Ints, right: Ints, y: Floats) -> Floats:
        """Return what joins add to the price of each stream, the third axis, by the methods cheapest at `y`."""
        ins = [self.members[side][..., None] for side in (left, right)]
        windows = [self.windows[side][..., None] for side in (left, right)]
        rates = [window * (y * within).sum(axis=2) for window, within in zip(windows, ins, strict=True)]
        prices = np.zeros_like(y)
        for own, other in ((0, 1), (1, 0)):  # the side that is probed and taken into, and the one that probes
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
        """Return how a side of a join keeps its window at least cost."""
        rates = [self.windows[side] * self.full[self.members[side]].sum() for side in (own, other)]
        held = self.windows[own]
        return min(self.methods, key=lambda m: rates[1] * (m[0] + m[1] * held) + rates[0] * m[2])

    def tree(self, joins: Joins, y: Floats) -> "Shape":
        """Return the plan that is cheapest when this much is kept of each stream."""
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
