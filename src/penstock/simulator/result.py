"""The result of a simulation: metrics over all results, per query, per class, and over time."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import NetworkError, RunError
from penstock.network import Network
from penstock.qos import Chosen
from penstock.simulator.compiled.places import (
    BIN_AREA,
    BIN_PEAK,
    COUNT,
    MAX_H,
    MAX_R,
    SQUARES_H,
    SQUARES_R,
    SUM_H,
    SUM_R,
)

if TYPE_CHECKING:
    from penstock.simulator.drop_boxes import Shed

Floats = npt.NDArray[np.float64]

METRICS = (
    "avg_response",
    "max_response",
    "l2_response",
    "avg_slowdown",
    "max_slowdown",
    "l2_slowdown",
    "outputs",
    "throughput",
    "throughput_burstiness",
    "mean_memory",
    "peak_memory",
)


@dataclass(frozen=True)
class EventLog:
    """Every event of a run: only on request, because it takes memory."""

    departures: Floats
    """One row per result: time, place of the query, number of the tuple, response, slowdown.

    Ends of windows of time are numbered with the tuples; the result of a window has the number of its end.
    """
    memory: Floats
    """Queue memory after each instant at which it changed: time, memory."""
    runs: Floats
    """One row per decision: time, place of the chosen unit."""


@dataclass(frozen=True)
class Result:
    """The outcome of a simulation.

    `metrics` are over all results, `per_query` those of each query, `series` the same over time, in intervals of
    equal length. Response is departure − arrival; slowdown that ÷ ideal time; ℓ2 is the square root of the sum of
    squares (SCLP08 §2, §4). Memory is that of all queues, whenever it changes. Throughput is results per
    second; its burstiness is the maximum of an interval ÷ the average.
    """

    net: Network = field(repr=False)
    policy: str
    seed: int
    load: float | None
    """The share of the processor that the arrivals need, by their average rates."""
    seconds: float
    """Virtual time, from the first arrival to the last result."""
    decisions: int
    tuples: int
    elapsed: float
    """Seconds of real time that the loop took; the first run of a process loads the compiled code in it."""
    notes: tuple[str, ...]
    mean_memory: float
    peak_memory: float
    stats: Floats = field(repr=False)
    bins: Floats = field(repr=False)
    start: float = field(repr=False)
    width: float = field(repr=False)
    detail: EventLog | None = field(default=None, repr=False)
    chosen: Chosen | None = field(default=None, repr=False)
    """How policies were chosen, if they were."""
    shed: "Shed | None" = field(default=None, repr=False)
    """What was shed, if shedding was on."""

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Average, maximum and ℓ2 norm of response and slowdown; outputs, throughput, memory.

        Without results, averages are missing.
        """
        found = _figures(self.stats)
        counts = self.bins[:, COUNT]
        found["throughput"] = found["outputs"] / self.seconds if self.seconds else 0.0
        found["throughput_burstiness"] = float(counts.max() / counts.mean()) if counts.any() else 0.0
        memory = {"mean_memory": self.mean_memory, "peak_memory": self.peak_memory}
        return {name: (found | memory)[name] for name in METRICS if name in found | memory}

    @cached_property
    def per_query(self) -> dict[str, dict[str, float]]:
        """The metrics of each query: response, slowdown and outputs."""
        return {
            query.name: _figures(self.stats[place : place + 1]) for place, query in enumerate(self.net.queries)
        }

    def per_class(self, classes: Mapping[str, str]) -> dict[str, dict[str, float]]:
        """Return the metrics of classes of queries, given the class of each."""
        members: dict[str, list[int]] = {}
        for query, name in classes.items():
            if query not in self.net.query_place:
                raise NetworkError(f"there is no query {query!r} in the network, and it has a class")
            members.setdefault(name, []).append(self.net.query_place[query])
        return {name: _figures(self.stats[places]) for name, places in sorted(members.items())}

    def response_percentile(self, queries: Collection[str], share: float) -> float | None:
        """Return the smallest response that at least this share of these queries' results do not exceed.

        None without results. It needs the `detail`.
        """
        if self.detail is None:
            raise RunError("percentiles need every event of a run: simulate(…, detail=True)")
        places = [self.net.query_place[name] for name in queries]
        departures = self.detail.departures
        responses = departures[np.isin(departures[:, 1], places), 3]
        return float(np.quantile(responses, share, method="inverted_cdf")) if len(responses) else None

    @cached_property
    def series(self) -> dict[str, Floats]:
        """The metrics over time: `time` is the beginning of each interval, `width` seconds long.

        A result counts when it departs; an interval without results has no average (NaN).
        """
        bins = self.bins
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "time": self.start + self.width * np.arange(len(bins)),
                "outputs": bins[:, COUNT],
                "avg_response": bins[:, SUM_R] / bins[:, COUNT],
                "max_response": bins[:, MAX_R],
                "l2_response": np.sqrt(bins[:, SQUARES_R]),
                "avg_slowdown": bins[:, SUM_H] / bins[:, COUNT],
                "max_slowdown": bins[:, MAX_H],
                "l2_slowdown": np.sqrt(bins[:, SQUARES_H]),
                "mean_memory": bins[:, BIN_AREA] / self.width,
                "peak_memory": bins[:, BIN_PEAK],
            }


def _figures(stats: Floats) -> dict[str, float]:
    count = float(stats[:, COUNT].sum())
    if count == 0:
        return {"outputs": 0.0}
    return {
        "outputs": count,
        "avg_response": float(stats[:, SUM_R].sum()) / count,
        "max_response": float(stats[:, MAX_R].max()),
        "l2_response": float(np.sqrt(stats[:, SQUARES_R].sum())),
        "avg_slowdown": float(stats[:, SUM_H].sum()) / count,
        "max_slowdown": float(stats[:, MAX_H].max()),
        "l2_slowdown": float(np.sqrt(stats[:, SQUARES_H].sum())),
    }
