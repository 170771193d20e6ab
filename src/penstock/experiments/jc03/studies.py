"""JC03's queries under one policy while the rates are raised: latency, output and memory, second by second."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.experiments.jc03.unpruned import NOT_PRUNED, Unpruned
from penstock.simulator.result import Floats, Result
from penstock.simulator.simulate import simulate
from penstock.workloads import population
from penstock.workloads.arrivals import Times
from penstock.workloads.populations.jc03 import RISING
from penstock.workloads.populations.population import Population


def phases(
    policy: str, load: float, rate: float, seconds: float, seed: int, leaves: bool, rows: int | None
) -> dict[str, Any]:
    """Return totals, totals by phase, and the series of a run; a phase lasts `seconds`, `load` is their mean."""
    made, arrivals = _population(load, rate, seconds, seed, leaves, rows)
    net = made.network
    if policy == NOT_PRUNED:
        net, policy = Unpruned.like(net), "simplified_segment"
    return summary(simulate(net, arrivals, policy, seed, bins=_bins(arrivals)), seconds)


def threshold(
    share: float, load: float, rate: float, seconds: float, seed: int, leaves: bool, rows: int | None
) -> dict[str, Any]:
    """Return the same of a threshold policy, whose memory is a `share` of path capacity's peak, and of the latter.

    `short_at` is when path capacity's memory first reaches T_max (JC03 (3.3)), `differs_at` when the two first
    have another memory.
    """
    made, arrivals = _population(load, rate, seconds, seed, leaves, rows)
    bins = _bins(arrivals)
    path = simulate(made.network, arrivals, "path_capacity", seed, bins=bins, detail=True)
    limit = share * path.peak_memory
    both = simulate(made.network, arrivals, "threshold", seed, bins=bins, detail=True, memory=limit)
    assert path.detail is not None
    assert both.detail is not None
    times = {
        "short_at": short_at(path.detail.memory, limit),
        "differs_at": differs_at(path.detail.memory, both.detail.memory),
    }
    return summary(both, seconds) | times | {"limit": limit, "path_capacity": summary(path, seconds)}


def summary(result: Result, seconds: float) -> dict[str, Any]:
    """Return what claims and figures need: latency is the mean of all results of a phase or a second."""
    series = {name: values for name, values in result.series.items() if name != "time"}
    time = result.series["time"] - result.start
    inside = time < seconds * len(RISING)
    phase = np.minimum((time[inside] / seconds).astype(np.int64), len(RISING) - 1)
    outputs = series["outputs"][inside]
    responses = np.nan_to_num(series["avg_response"][inside]) * outputs
    made = np.bincount(phase, outputs, len(RISING))
    latency = np.bincount(phase, responses, len(RISING)) / np.maximum(made, 1)
    memory = np.bincount(phase, series["mean_memory"][inside], len(RISING)) / np.bincount(
        phase, minlength=len(RISING)
    )
    return {
        "latency": result.metrics["avg_response"],
        "mean": result.mean_memory,
        "peak": result.peak_memory,
        "load": result.load,
        "phase_latency": latency.tolist(),
        "phase_memory": memory.tolist(),
        "width": result.width,
        "outputs": outputs.tolist(),
        "response": _listed(series["avg_response"][inside]),
        "memory": np.round(series["mean_memory"][inside], 3).tolist(),
    }


def short_at(memory: Floats, limit: float, beta: float = 0.9) -> float | None:
    """Return when the memory of a record first reaches T_max, with the mean up to then; None if never."""
    time, level = memory.T
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(time))])
    passed = time - time[0]
    mean = np.divide(area, passed, out=level.copy(), where=passed > 0)
    highest = np.minimum((1 + mean / limit) / 2 * limit, beta * limit)
    return _first(level >= highest, time)


def differs_at(one: Floats, other: Floats) -> float | None:
    """Return when two records of memory first differ; None if never."""
    both = min(len(one), len(other))
    return _first((one[:both] != other[:both]).any(axis=1), np.minimum(one[:both, 0], other[:both, 0]))


def _first(which: npt.NDArray[np.bool_], time: Floats) -> float | None:
    return float(time[np.argmax(which)]) if which.any() else None


def _listed(values: Floats) -> list[float | None]:
    """Return numbers for JSON; None where there were no results."""
    return [None if np.isnan(value) else round(float(value), 4) for value in values]


def _population(
    load: float, rate: float, seconds: float, seed: int, leaves: bool, rows: int | None
) -> tuple[Population, dict[str, Times]]:
    options = {"rate": rate, "seconds": seconds, "selective_leaves": leaves, "rows": rows}
    made = population("jc03_phases", load=load, seed=seed, **options)
    return made, made.times(seed, seconds=seconds * len(RISING))


def _bins(arrivals: Mapping[str, Times]) -> int:
    """Return how many intervals make each about a second; there is room for twice the time of arrivals."""
    start, end = min(times[0] for times in arrivals.values()), max(times[-1] for times in arrivals.values())
    return max(2, 2 * round(float(end - start)))


STUDIES: dict[str, Callable[..., dict[str, Any]]] = {"phases": phases, "threshold": threshold}
