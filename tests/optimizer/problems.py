"""Random join problems, some of them made to be hard: equal streams, products, budgets at the edge."""

from dataclasses import replace

import numpy as np

from penstock.network import Window
from penstock.optimizer import Filter, JoinMethod, JoinProblem, optimize

EXAMPLE_1 = {
    "rates": {"A": 10, "B": 70, "C": 20},
    "windows": {"A": 10, "B": 10, "C": 10},
    "selectivities": {("A", "B"): 0.5, ("B", "C"): 0.2},
}
"""AN04 Example 1, without what a join costs."""


def some_problem(
    random, n, *, methods=1, filters=True, kinds=("rows",), linked=0.5, spread=2.5, share_of_demand=None
):
    """A problem of n streams, its numbers spread over so many powers of ten, its capacity rarely enough."""
    names = [chr(65 + i) for i in range(n)]

    def power(low, high):
        return float(10 ** random.uniform(low, high))

    pairs = [(a, b) for i, b in enumerate(names) for a in names[:i]]
    coarse = random.random() < 0.3  # few different numbers: many plans cost the same
    rates = {name: 10.0 if coarse and random.random() < 0.7 else power(0, spread) for name in names}
    sizes = {name: 10.0 if coarse and random.random() < 0.7 else power(0, spread) for name in names}
    some_filters = {
        name: [Filter(power(-1, 1), random.uniform(0.1, 1)) for _ in range(random.integers(1, 3))]
        for name in names
        if filters and random.random() < 0.3
    }
    problem = JoinProblem(
        rates=rates,
        windows={name: Window(str(random.choice(kinds)), size) for name, size in sizes.items()},
        selectivities={pair: power(-3, 0) for pair in pairs if random.random() < linked},
        join_cost=1.0 if methods == 1 else None,
        methods=[] if methods == 1 else [some_method(power, str(i), scans=i > 0) for i in range(methods)],
        filters=some_filters,
    )
    demand = optimize(problem, "heuristic", capacity=1e60).demand
    share = power(-2.5, 0.1) if share_of_demand is None else share_of_demand
    return replace(problem, capacity=demand * share)


def some_method(power, name, *, scans):
    return JoinMethod(name, probe=power(-1, 1), insert=power(-1, 1), scan=power(-4, 0) if scans else 0.0)


def seeded(*seeds):
    return np.random.default_rng(seeds)
