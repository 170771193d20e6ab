"""The cost of planning: the time of each search by the number of streams, and the rate of its plans."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from penstock.bench.comparisons import Comparison
from penstock.bench.machine import described
from penstock.optimizer import JoinProblem, optimize
from penstock.optimizer.problem import MOST_STREAMS
from penstock.optimizer.search import MOST, Method

METHODS: tuple[Method, ...] = ("exact", "exhaustive", "heuristic", "bushy")
"""The exact one first: the others' plans are compared with its."""
PATIENCE = 5.0
"""Seconds; a method that took longer for a plan gets no larger problems."""
REQUIRED = {("exact", 10): 1.0, ("heuristic", 12): 1.0}
"""Maximum seconds, by method and number of streams."""
_RESOURCES = 0.3
_ENOUGH = 1e60


@dataclass(frozen=True)
class Timed:
    """Times of a method on problems of one size, and its rate divided by the exact method's."""

    streams: int
    answers: int
    median_s: float
    longest_s: float
    ratio: float | None
    """The average; None where the exact method gave no answer."""
    lowest_ratio: float | None


def measured(most: int, repeat: int, seed: int, on_stage: Callable[[str], object]) -> dict[str, Any]:
    """Return the times of all methods as a JSON document."""
    best: dict[tuple[int, int], float] = {}
    found = []
    for method in METHODS:
        series, stopped = [], ""
        limit = min(most, MOST.get(method, MOST_STREAMS))
        for streams in range(2, limit + 1):
            on_stage(f"{method}: {streams} streams")
            series.append(_timed(method, streams, repeat, seed, best))
            if series[-1].longest_s > PATIENCE and streams < limit:
                stopped = f"was stopped at {streams} streams: an answer took {series[-1].longest_s:.1f} s"
                break
        if not stopped and limit < most:
            stopped = f"takes at most {limit} streams"
        found.append({"method": method, "series": [asdict(each) for each in series], "stopped": stopped})
    return {
        "benchmark": "optimizer",
        "machine": described(),
        "most": most,
        "repeat": repeat,
        "seed": seed,
        "resources": _RESOURCES,
        "methods": found,
        "comparisons": [each.as_dict() for each in _comparisons(found)],
    }


def _timed(method: Method, streams: int, repeat: int, seed: int, best: dict[tuple[int, int], float]) -> Timed:
    """Time a method until it takes too long; the exact method's rates are put into `best`, to compare with."""
    times, ratios = [], []
    for turn in range(repeat):
        given = problem(streams, np.random.default_rng((seed, streams, turn)))
        begun = time.perf_counter()
        plan = optimize(given, method)
        times.append(time.perf_counter() - begun)
        if method == "exact":
            best[streams, turn] = plan.rate
        if (streams, turn) in best:
            ratios.append(plan.rate / best[streams, turn])
        if times[-1] > PATIENCE:
            break
    average = sum(ratios) / len(ratios) if ratios else None
    return Timed(streams, len(times), median(times), max(times), average, min(ratios, default=None))


def problem(streams: int, random: np.random.Generator) -> JoinProblem:
    """Return a join whose predicates form a tree, with three tenths of what its cheapest plan needs.

    Rates and windows are from 10 to 1000, selectivities from 0.001 to 1, all spread evenly over the powers of ten.
    """
    names = [f"S{place + 1}" for place in range(streams)]
    rates, windows = (10 ** random.uniform(1, 3, streams) for _ in range(2))
    shares = 10 ** random.uniform(-3, 0, streams - 1)
    linked = [(names[int(random.integers(place))], names[place]) for place in range(1, streams)]
    whole = JoinProblem(
        rates=dict(zip(names, rates.tolist(), strict=True)),
        windows=dict(zip(names, windows.tolist(), strict=True)),
        selectivities=dict(zip(linked, shares.tolist(), strict=True)),
        join_cost=1.0,
    )
    trees: Method = "bushy" if streams <= MOST["bushy"] else "heuristic"  # so that every method has to shed
    return replace(whole, capacity=_RESOURCES * optimize(whole, trees, capacity=_ENOUGH).demand)


def _comparisons(methods: Sequence[dict[str, Any]]) -> list[Comparison]:
    longest = {(m["method"], each["streams"]): each["longest_s"] for m in methods for each in m["series"]}
    return [
        Comparison(
            f"{method}, {streams} streams: longest, in seconds",
            "at most",
            limit,
            longest.get((method, streams)),
            reason="not asked for",
        )
        for (method, streams), limit in REQUIRED.items()
    ]
