"""AN04 section 6: random joins of five streams, with fewer and fewer resources."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock.optimizer import JoinProblem
from penstock.optimizer.exact import most_kept
from penstock.optimizer.exhaustive import order_prices
from penstock.optimizer.heuristic import heuristic
from penstock.optimizer.knapsack import knapsack
from penstock.optimizer.stream_sets import Floats, Sets
from penstock.optimizer.trees import orders

WINDOWS = {"A": 100, "B": 300, "C": 500, "D": 400, "E": 1000}
SELECTIVITIES = {("A", "B"): 0.2, ("A", "C"): 0.5, ("B", "D"): 0.1, ("D", "E"): 0.001}
"""AN04 Table 2."""
RATES = 10.0, 1000.0
LEVELS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.01)
"""Resources, as shares of those at which the cheapest plan of a query is just feasible."""
_MORE = 1e-9
"""A gain below this is rounding."""


@dataclass(frozen=True)
class Level:
    """What the queries show at one level of resources; gains are over the plan of lowest utilisation."""

    resources: float
    gaining: float
    """The share of queries whose lowest-utilisation plan is not the best to shed from (Figure 7)."""
    gain: float
    gain_of_gaining: float
    largest_gain: float
    error: float
    """By how much the paper's dynamic programming is behind the best, on average (Figure 10)."""
    largest_error: float
    exact_error: float
    """By how much the exact method differs from listing all plans, at most."""

    def as_dict(self) -> dict[str, Any]:
        """Return the level as JSON."""
        return asdict(self)


def sets_of(windows: Mapping[str, float], selectivities: Mapping[tuple[str, str], float]) -> Sets:
    """Return the arrays of queries that differ in their rates only; a join takes a second per tuple."""
    return Sets.of(JoinProblem(dict.fromkeys(windows, 1.0), windows, selectivities, join_cost=1.0))


def study(queries: int, seed: int) -> list[Level]:
    """Return the results of random queries at every level of resources."""
    sets = sets_of(WINDOWS, SELECTIVITIES)
    rates = np.random.default_rng(seed).uniform(*RATES, (sets.n, queries))
    full = rates / np.array(list(WINDOWS.values()))[:, None]
    prices = order_prices(sets, orders(sets.n))
    demand = prices @ full
    cheapest, saturation = demand.argmin(axis=0), demand.min(axis=0)
    return [_level(sets, prices, full, cheapest, share * saturation, share) for share in LEVELS]


def _level(sets: Sets, prices: Floats, full: Floats, cheapest: Floats, budget: Floats, share: float) -> Level:
    columns = np.arange(full.shape[1])
    kept = knapsack(prices[:, :, None], full[None], budget, axis=1).sum(axis=1)
    best = kept.max(axis=0)
    gain = best / kept[cheapest, columns] - 1
    gaining = gain > _MORE
    theirs = heuristic(sets, full, budget)[0].sum(axis=0)
    exact = most_kept(sets, sets.left_deep, full, budget, theirs).sum(axis=0)
    error = 1 - theirs / best
    return Level(
        resources=share,
        gaining=float(gaining.mean()),
        gain=float(gain.mean()),
        gain_of_gaining=float(gain[gaining].mean()) if gaining.any() else 0.0,
        largest_gain=float(gain.max()),
        error=float(error.mean()),
        largest_error=float(error.max()),
        exact_error=float(np.abs(exact / best - 1).max()),
    )
