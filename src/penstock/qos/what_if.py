"""What-if runs: beside a run, every candidate policy works alone in a fluid model on the rows really admitted.

A what-if run lasts an *episode*. Then, and when queries, weights or candidates have changed, all models start
again from the current costs and queues; jobs in flight count as done. So models and run do not drift apart.
What-if runs may take a small share of the time. When that is used up they pause. For large networks or very short
jobs there are none, and the selector works without them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from time import perf_counter
from typing import NamedTuple, Protocol

from penstock.network import Edge
from penstock.qos.fluid_model import AdmittedFlow, FluidModel
from penstock.qos.fluid_queue import Flow
from penstock.qos.interval import IntervalStatistics
from penstock.qos.model_inputs import ModelInputs

SHARE = 0.005
"""The share of the time for what-if runs."""
LENT_S = 0.05
"""Seconds that they may take beyond that, at the beginning."""
EPISODE_S, SHORTEST_S = 30.0, 5.0
"""How long an episode lasts, and for how long there must be time before one begins."""
MOST_QUEUES = 250
MOST_JOBS = 100
"""Jobs per second of a model."""
_BIN_S = 0.2


class ArrivedRows(NamedTuple):
    """Rows that arrived together: when the first and, on average, all of them did."""

    rows: float
    first_s: float
    mean_s: float


class Observed(Protocol):
    """What is read of the system beside which what-if runs go on."""

    @property
    def is_measured(self) -> bool:
        """Whether the costs of jobs are known."""
        ...

    @property
    def queues(self) -> int:
        """How many queues there are."""
        ...

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries of the network."""
        ...

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights by which results count."""
        ...

    def inputs(self) -> ModelInputs:
        """Return network, costs and settings as they are now."""
        ...

    def waiting(self) -> Mapping[Edge, list[ArrivedRows]]:
        """Return what waits at each edge."""
        ...


class WhatIf:
    """Fluid models of all candidate policies beside a run."""

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
        """End the episode: what is admitted from now on is ignored."""
        self._models = {}
        self._arrived.clear()

    def admitted(self, stream: str, rows: ArrivedRows) -> None:
        """Take rows that were admitted, while there is an episode."""
        if self._models:
            self._arrived.append((stream, rows))

    def advance(self, now: float, candidates: Sequence[str]) -> Mapping[str, IntervalStatistics] | None:
        """Run the models on what was admitted since the last call; return the statistics of each policy.

        None at the beginning of an episode, and where there is no time for one.
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
        """Begin an episode from what really waits."""
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
        """Advance all models; None if they have more to do than there is time for."""
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
        """Return what was admitted since the last call, in short bins of time."""
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
