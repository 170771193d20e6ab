"""One plan under one policy: mean, peak and course of its queue memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError
from penstock.experiments.bbdm03.quanta import round_robin
from penstock.network import Network
from penstock.simulator.simulate import simulate
from penstock.workloads import Trace, population, take
from penstock.workloads.populations.bbdm03 import RATE
from penstock.workloads.populations.population import Population, scaled

Floats = npt.NDArray[np.float64]
QUANTUM = "round_robin_quantum"
"""Round robin by time; `round_robin` is that of the simulator, by tuples."""


def queues(
    plan: str,
    policy: str,
    load: float,
    tuples: int,
    seed: int,
    points: int,
    trace: str | None = None,
    quantum: float = 1 / RATE,
    slower: float = 1.0,
) -> dict[str, Any]:
    """Return the memory of a plan's queues: `mean`, `peak`, and `series` at `points` equal steps of the arrivals.

    With `trace`, its first `tuples` arrive; two streams have half as many each, the first from the beginning of
    the trace, the second from its middle. `slower` multiplies the cost of every root, at the same load.
    """
    made = population(f"bbdm03_{plan}", load=load)
    net = slowed(made.network, slower, load)
    arrivals = made.times(seed, count=tuples) if trace is None else traced(made, trace, tuples)
    start, end = min(times[0] for times in arrivals.values()), max(times[-1] for times in arrivals.values())
    if policy == QUANTUM:
        samples = round_robin(net, arrivals, seed, quantum)
        peak, mean = float(samples[:, 1].max()), float(averaged(samples, samples[[0, -1], 0])[0])
        memory = averaged(samples, np.linspace(start, end, points + 1))
        return {"mean": mean, "peak": peak, "series": memory.tolist(), "width": (end - start) / points}
    result = simulate(net, arrivals, policy, seed, blocking=made.blocking, bins=2 * points)
    memory = result.series["mean_memory"][:points]
    return {
        "mean": result.mean_memory,
        "peak": result.peak_memory,
        "series": memory.tolist(),
        "width": result.width,
    }


def slowed(net: Network, slower: float, load: float) -> Network:
    """Return the network with roots `slower` times as slow, and all costs scaled back to the load."""
    if slower == 1:
        return net
    roots = {query.root for query in net.queries}
    return scaled(net.measured(costs={name: slower * net.operator(name).cost for name in roots}), load)  # type: ignore[operator]


def traced(made: Population, trace: str, tuples: int) -> dict[str, Floats]:
    """Return parts of a trace for the streams of a plan, at the rate that its costs were scaled for."""
    process = Trace(trace)
    streams = list(made.arrivals)
    each, apart = tuples // len(streams), process.count // len(streams)
    if each < 2 or apart < each:
        raise ArrivalError(
            f"the trace {trace} has {process.count} arrivals, too few for {tuples} on these streams"
        )
    times = take(process, seed=0, count=(len(streams) - 1) * apart + each)
    return {name: _at_rate(times[place * apart :][:each]) for place, name in enumerate(streams)}


def _at_rate(times: Floats) -> Floats:
    """Return times from 0 on, faster or slower so that their mean rate is that of the plans."""
    span = float(times[-1] - times[0])
    if not span:
        raise ArrivalError(f"{len(times)} arrivals of the trace have one time: there is no rate to change")
    stretched: Floats = (times - times[0]) * (len(times) - 1) / (span * RATE)
    return stretched


def averaged(samples: Floats, edges: Floats) -> Floats:
    """Return the mean over time between one edge and the next, of what is (time, value) from each row to the next.

    >>> averaged(np.array([(0.0, 1.0), (1.0, 3.0), (4.0, 0.0)]), np.array([0.0, 2.0, 4.0, 6.0])).tolist()
    [2.0, 3.0, 0.0]
    """
    time, value = samples.T
    area = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time))])
    means: Floats = np.diff(np.interp(edges, time, area)) / np.diff(edges)
    return means


STUDIES: dict[str, Callable[..., dict[str, Any]]] = {"queues": queues}
