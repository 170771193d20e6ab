"""Rehearsals: beside a run, every candidate works alone in a shadow on what is really admitted.

A rehearsal goes on for an *episode*. Then, and when queries, their weights or the candidates have changed, all
shadows begin anew, with what is measured by then and from what really waits; what runs just then is taken for
done. So a model and a run do not drift apart. Rehearsals may take a share of the time. Where there is none left
they pause, and where the network is large or its jobs are short there are none: a selector has to do without.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from time import perf_counter

from penstock.plan.weights import weighed_network
from penstock.policies import Service
from penstock.qos import IntervalStatistics
from penstock.qos.fluid_model import Arriving, Flow, FluidModel, Stage
from penstock.runtime.engine import Engine

SHARE = 0.005
"""Of the time, for rehearsals."""
LENT_S = 0.05
"""What they may take beyond that, at the beginning."""
EPISODE_S, SHORTEST_S = 30.0, 5.0
"""How long an episode takes, and for how long there must be time."""
MOST_QUEUES = 250
MOST_JOBS = 100
"""In a second, of a shadow."""
_BIN_S = 0.2


class WhatIf:
    """Shadows of all candidates beside a run."""

    def __init__(
        self, engine: Engine, service: Service, quantum_s: float, in_flight: int, memory: int | None = None
    ) -> None:
        self._engine = engine
        self._service, self._quantum_s, self._in_flight, self._memory = service, quantum_s, in_flight, memory
        self._shadows: dict[str, FluidModel] = {}
        self._queries: tuple[str, ...] = ()
        self._weights: Mapping[str, float] = {}
        self._began = self._seen = 0.0
        self._first: float | None = None
        self.spent_s = self._beginning_s = self._look_s = 0.0

    def pause(self) -> None:
        """Let the episode go: what comes from now on is not rehearsed."""
        self._shadows = {}
        if self._engine.recorder is not None:
            self._engine.recorder.arrivals = None

    def advance(self, now: float, candidates: Sequence[str]) -> Mapping[str, IntervalStatistics] | None:
        """Rehearse what was admitted since the last look, and return what each shadow would have read.

        None at the beginning of an episode, and where there is no time for one.
        """
        start = perf_counter()
        self._first = now if self._first is None else self._first
        allowed = LENT_S + SHARE * (now - self._first) - self.spent_s
        readings = None
        if self._is_on(candidates) and self._look_s <= allowed:
            readings = self._looked(now)
            self._look_s = (perf_counter() - start) / max(now - self._seen, 1.0)
        if readings is None or now - self._began >= EPISODE_S:
            self.pause()
            if self._beginning_s + self._look_s * SHORTEST_S <= allowed and self._is_small:
                self._begin(now, candidates)
        self._seen = now
        self.spent_s += perf_counter() - start
        return readings

    @property
    def _is_small(self) -> bool:
        return self._engine.costs.is_measured and len(self._engine.queues) <= MOST_QUEUES

    def _is_on(self, candidates: Sequence[str]) -> bool:
        recorder = self._engine.recorder
        same = recorder is not None and self._queries == self._names() and self._weights == recorder.weights
        return same and tuple(self._shadows) == tuple(candidates)

    def _names(self) -> tuple[str, ...]:
        return tuple(query.name for query in self._engine.plan.network.queries)

    def _begin(self, now: float, candidates: Sequence[str]) -> None:
        """Begin an episode from what really waits."""
        start = perf_counter()
        engine = self._engine
        if engine.recorder is None:
            return
        self._began, self._queries, self._weights = now, self._names(), engine.recorder.weights
        stage = self._stage()
        waiting = {
            edge: [self._flow(chunk.rows, chunk.mean_arrival / 1e6, chunk.arrival / 1e6) for chunk in queue.chunks]
            for edge, queue in engine.queues.items()
            if queue.chunks
        }
        for name in candidates:
            shadow = self._shadows[name] = FluidModel(stage, name, 0.0)
            for edge, flows in waiting.items():
                for flow in flows:
                    shadow.put(edge, flow)
        engine.recorder.arrivals = []
        self._beginning_s = perf_counter() - start

    def _stage(self) -> Stage:
        engine, costs = self._engine, self._engine.costs
        network, recorder = weighed_network(engine.plan, engine.weights), engine.recorder
        assert recorder is not None
        return Stage(
            network=network,
            setup_s=costs.setup_s,
            unit_s=costs.unit_s,
            window_row_s=costs.window_row_s,
            pace=costs.pace,
            ideals={query.name: costs.ideal_s(network, query.name) for query in network.queries},
            windows=engine.probed,
            service=self._service,
            quantum_s=self._quantum_s,
            in_flight=self._in_flight,
            memory=self._memory,
            row_bytes=recorder.row_bytes,
            weights={query.name: float(query.weight) for query in network.queries},
        )

    def _looked(self, now: float) -> Mapping[str, IntervalStatistics] | None:
        """Advance all shadows; None if they have more to do than there is time for."""
        recorder = self._engine.recorder
        if recorder is None or recorder.arrivals is None:
            return None
        start = perf_counter()
        seconds = max(now - self._seen, 1.0)
        arriving = self._arriving(now)
        readings = {}
        for name, shadow in self._shadows.items():
            reading = shadow.advance(now - self._began, arriving, MOST_JOBS * seconds)
            if reading is None or perf_counter() - start > LENT_S * seconds:
                return None
            readings[name] = replace(reading, now=now)
        return readings

    def _arriving(self, now: float) -> list[Arriving]:
        """Return what was admitted since the last look: at the times when it arrived, some at a time."""
        recorder = self._engine.recorder
        assert recorder is not None
        binned: dict[tuple[str, int], Flow] = {}
        for stream, rows, first, mean in recorder.arrivals or ():
            key = stream, int(min(max(mean, self._seen), now) / _BIN_S)
            flow = self._flow(rows, mean, first)
            binned[key] = binned[key].with_flow(flow) if key in binned else flow
        recorder.arrivals = []
        found = []
        for (stream, place), flow in binned.items():
            at = min(max(place * _BIN_S, self._seen), now) - self._began
            found.append(Arriving(stream, flow, at))
        return sorted(found, key=attrgetter("at"))

    def _flow(self, rows: int, mean: float, first: float) -> Flow:
        return Flow.at(rows, mean - self._began, first - self._began)
