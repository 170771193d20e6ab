"""What-if runs: beside a run, each candidate policy runs alone in a fluid model on the rows really admitted.

A what-if run lasts an *episode*. After it, and when queries, weights or candidates have changed, all models
restart from the current costs and queues; jobs in flight count as done. So models and run do not drift apart.
What-if runs may take a small share of the time, and pause when it is used up. Large networks and very short jobs
have none, and the selector works without them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from time import perf_counter
from typing import NamedTuple, Protocol

from penstock.network import Edge
from penstock.qos.fluid_model import AdmittedFlow, FluidModel
from penstock.qos.fluid_queue import Flow
from penstock.qos.interval_statistics import IntervalStatistics
from penstock.qos.model_inputs import ModelInputs

SHARE = 0.005
"""The share of the time that what-if runs may take."""
LENT_S = 0.05
"""Seconds that they may take in addition, at the start."""
EPISODE_S, SHORTEST_S = 30.0, 5.0
"""Length of an episode, and the length that the time left must allow before one begins."""
MOST_QUEUES = 250
MOST_JOBS = 100
"""The most jobs per second of a model."""
_BIN_S = 0.2


class ArrivedRows(NamedTuple):
    """Rows that arrived together: their number, first arrival and average arrival."""

    rows: float
    first_s: float
    mean_s: float


class Observed(Protocol):
    """The running system, as what-if runs read it."""

    @property
    def is_measured(self) -> bool:
        """Whether the costs of jobs are known."""
        ...

    @property
    def queues(self) -> int:
        """The number of queues."""
        ...

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries of the network."""
        ...

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of queries' results."""
        ...

    def inputs(self) -> ModelInputs:
        """Return the current network, costs and settings."""
        ...

    def waiting(self) -> Mapping[Edge, list[ArrivedRows]]:
        """Return the rows that wait at each edge."""
        ...


class WhatIf:
    """Fluid models of all candidate policies, run within a budget of time."""

    def __init__(self, system: Observed) -> None:
        self._system = system
        self._models: dict[str, FluidModel] = {}
        self._queries: tuple[str, ...] = ()
        self._weights: Mapping[str, float] = {}
        self._arrived: list[tuple[str, ArrivedRows]] = []
        self._began = self._sampled = 0.0
        self._first: float | None = None
        self.spent_s = self._beginning_s = self._advance_s = 0.0

    def pause(self) -> None:
        """End the episode: rows admitted from now on are ignored."""
        self._models = {}
        self._arrived.clear()

    def admitted(self, stream: str, rows: ArrivedRows) -> None:
        """Add rows that were admitted, if an episode is under way."""
        if self._models:
            self._arrived.append((stream, rows))

    def advance(self, now: float, candidates: Sequence[str]) -> Mapping[str, IntervalStatistics] | None:
        """Run the models on the rows admitted since the last call, and return the statistics of each policy.

        None at the beginning of an episode, and if there is no time for one.
        """
        start = perf_counter()
        self._first = now if self._first is None else self._first
        allowed = LENT_S + SHARE * (now - self._first) - self.spent_s
        found = None
        if self._is_on(candidates) and self._advance_s <= allowed:
            found = self._advanced(now)
            self._advance_s = (perf_counter() - start) / max(now - self._sampled, 1.0)
        if found is None or now - self._began >= EPISODE_S:
            self.pause()
            is_small = self._system.is_measured and self._system.queues <= MOST_QUEUES
            if is_small and self._beginning_s + self._advance_s * SHORTEST_S <= allowed:
                self._begin(now, candidates)
        self._sampled = now
        self.spent_s += perf_counter() - start
        return found

    def _is_on(self, candidates: Sequence[str]) -> bool:
        same = self._queries == self._system.queries and self._weights == self._system.weights
        return same and tuple(self._models) == tuple(candidates)

    def _begin(self, now: float, candidates: Sequence[str]) -> None:
        """Begin an episode with the rows that really wait."""
        start = perf_counter()
        self._began, self._queries, self._weights = now, self._system.queries, self._system.weights
        inputs, waiting = self._system.inputs(), self._system.waiting()
        for name in candidates:
            model = self._models[name] = FluidModel(inputs, name, 0.0)
            for edge, rows in waiting.items():
                for each in rows:
                    model.put(edge, self._flow(each))
        self._beginning_s = perf_counter() - start

    def _advanced(self, now: float) -> Mapping[str, IntervalStatistics] | None:
        """Advance all models; None if that takes too long."""
        start = perf_counter()
        seconds = max(now - self._sampled, 1.0)
        arrivals = self._arrivals(now)
        found = {}
        for name, model in self._models.items():
            interval = model.advance(now - self._began, arrivals, MOST_JOBS * seconds)
            if interval is None or perf_counter() - start > LENT_S * seconds:
                return None
            found[name] = replace(interval, now=now)
        return found

    def _arrivals(self, now: float) -> list[AdmittedFlow]:
        """Return the rows admitted since the last call, in short bins of time."""
        binned: dict[tuple[str, int], Flow] = {}
        for stream, rows in self._arrived:
            key = stream, int(min(max(rows.mean_s, self._sampled), now) / _BIN_S)
            flow = self._flow(rows)
            binned[key] = binned[key].with_flow(flow) if key in binned else flow
        self._arrived.clear()
        found = []
        for (stream, place), flow in binned.items():
            at = min(max(place * _BIN_S, self._sampled), now) - self._began
            found.append(AdmittedFlow(stream, flow, at))
        return sorted(found, key=attrgetter("at"))

    def _flow(self, rows: ArrivedRows) -> Flow:
        return Flow.at(rows.rows, rows.mean_s - self._began, rows.first_s - self._began)
