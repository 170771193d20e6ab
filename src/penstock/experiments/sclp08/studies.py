"""The simulations behind Figures 6 to 30: functions of plain settings, run as Spark tasks.

The trace of the paper, LBL-PKT-4, is not available. Arrivals are the first packets of the given trace, else of a
bursty process. Costs follow from the mean gap of the packets that are used, as in §8.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.simulator.attributes import Attributes
from penstock.simulator.result import Result
from penstock.simulator.simulate import Adaptive, simulate
from penstock.workloads import Bursty, Poisson, Population, Times, Trace, drifting_gaussian, population, take

RATE = 100.0
"""Packets per second of the bursty process that is used without a trace."""


def packets(trace: str | None, count: int, seed: int) -> Times:
    """Return the first packets of the trace; without one, of a process of few flows, as bursty as real traffic."""
    times = take(Trace(trace), 0, count) if trace else take(Bursty(RATE, flows=8), seed, count)
    return np.asarray(times - times[0])


def steady(times: Times) -> Poisson:
    """Return a process of the same mean rate: populations take their costs from it."""
    return Poisson(rate=(len(times) - 1) / float(times[-1]))


def figures(result: Result) -> dict[str, Any]:
    """Return the metrics of a run."""
    return dict(result.metrics) | {"decisions": result.decisions, "load": result.load}


def at_load(
    policy: str,
    load: float,
    count: int,
    queries: int,
    seed: int,
    trace: str | None = None,
    over_time: bool = False,
) -> dict[str, Any]:
    """Figures 6 to 17, 21 and 22: 500 queries under one policy."""
    times = packets(trace, count, seed)
    made = population("sclp08", queries=queries, load=load, seed=seed, arrivals=steady(times))
    result = simulate(made.network, {"s": times}, policy, seed)
    found = figures(result)
    if over_time:
        found["series"] = {name: _numbers(values) for name, values in result.series.items()}
        found["classes"] = {
            name: values.get("avg_slowdown") for name, values in result.per_class(made.classes).items()
        }
    return found


def _numbers(values: Times) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def same_cost(
    policy: str, most: float, load: float, count: int, queries: int, seed: int, trace: str | None = None
) -> dict[str, Any]:
    """Figures 18 and 19: queries of one cost, selectivities from 0.1 to `most`."""
    times = packets(trace, count, seed)
    made = population(
        "sclp08",
        queries=queries,
        load=load,
        seed=seed,
        arrivals=steady(times),
        same_cost=True,
        max_selectivity=most,
    )
    return figures(simulate(made.network, {"s": times}, policy, seed))


def two_streams(policy: str, load: float, count: int, queries: int, seed: int) -> dict[str, Any]:
    """Figure 20: window joins of two Poisson streams."""
    made = population("sclp08_two_streams", queries=queries, load=load, seed=seed)
    return figures(simulate(made.network, made.times(seed, count=count), policy, seed))


def charged(
    policy: str,
    search: str,
    free: bool,
    load: float,
    count: int,
    queries: int,
    seed: int,
    trace: str | None = None,
) -> dict[str, Any]:
    """Figures 23 and 24: each priority computation and comparison costs as much as the cheapest operator, or 0."""
    times = packets(trace, count, seed)
    made = population("sclp08", queries=queries, load=load, seed=seed, arrivals=steady(times))
    cheapest = 0.0 if free else min(float(cost) for cost in made.network.costs.values())
    kind: Any = search
    result = simulate(made.network, {"s": times}, policy, seed, decision_cost=cheapest, search=kind)
    return figures(result)


def shared(
    policy: str, load: float, count: int, queries: int, seed: int, trace: str | None = None
) -> dict[str, Any]:
    """Figures 25 to 27: ten queries at a time share their select."""
    times = packets(trace, count, seed)
    made = population("sclp08_shared", queries=queries, load=load, seed=seed, arrivals=steady(times))
    return figures(simulate(made.network, {"s": times}, policy, seed))


def drifting(
    policy: str,
    deviation: float,
    alpha: float | None,
    window: int,
    load: float,
    count: int,
    queries: int,
    seed: int,
    trace: str | None = None,
) -> dict[str, Any]:
    """Figures 28 to 30: data that drifts; with `alpha` selectivities are learnt, else taken as uniform."""
    times = packets(trace, count, seed)
    made: Population = population(
        "sclp08", queries=queries, load=load, seed=seed, arrivals=steady(times), predicates=True
    )
    values = drifting_gaussian(len(times), seed, deviation)
    adaptive = None if alpha is None else Adaptive(alpha, window)
    attributes = Attributes({"s": values}, made.predicates)
    return figures(simulate(made.network, {"s": times}, policy, seed, attributes=attributes, adaptive=adaptive))


STUDIES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "load": at_load,
    "same cost": same_cost,
    "two streams": two_streams,
    "charged": charged,
    "shared": shared,
    "drifting": drifting,
}
