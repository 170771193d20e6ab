"""Load control: samples load and memory, sets drop boxes, and carries out SET memory and SET shed.

Backpressure comes first: a stream without room is not read. That hides overload from whoever counts admitted rows,
so what counts here is what sources offer, read or not. Only streams driven by a clock or a client are shed; rows
in files wait there. How much of which stream is kept is decided by the load model (`shedding.load_model`).
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.language.script import Script
from penstock.runtime.engine import Engine
from penstock.runtime.intake import Intake
from penstock.runtime.load_estimate import engine_load, jobs_load, probe_plans
from penstock.runtime.memory_sizes import queue_limit
from penstock.runtime.options import RunOptions
from penstock.shedding.controller import Change, LoadSample, Shedder
from penstock.shedding.load_model import SystemLoad

SAMPLE_US = 1_000_000
"""How often the load is sampled."""
_RATE_S = 10.0
"""Rates and job times are averages over the last so many seconds."""
_LEAST_S = 2.0
"""The shortest time from which rates are computed."""
_LEAST_EFFICIENCY = 0.3
_BELIEVED = 0.5
"""Weight of the last estimate of the pace, in seconds of rows."""
_SHORTEST_ROUND_S, _LONGEST_ROUND_S = 1.0, 10.0
"""Bounds of the expected time between jobs: as long as half of the memory lasts."""
_FULL = 0.9
"""The share of a memory limit from which memory is short (β of JC03)."""


@dataclass(frozen=True)
class SheddingSummary:
    """Load shedding: predicted utilisation with nothing dropped (`demand`) and with the present drop boxes.

    `budget` is the utilisation that drop boxes aim at, None while there are none. `results` are the results per
    second that each query is predicted to make with what is kept now.
    """

    budget: float | None
    demand: float
    utilization: float
    changes: int
    results: Mapping[str, float]


@dataclass(frozen=True)
class RunCounters:
    """Counters of a run at one moment. Rows are of the streams that can be shed."""

    now_s: float
    offered: Mapping[str, int]
    served: Mapping[str, int]
    row_bytes: Mapping[str, float]
    held: float
    limit: float
    behind: bool
    """Whether a stream that can be shed is not read for lack of room."""
    worked_s: float
    """Seconds of jobs so far."""
    overhead_s: float
    """Those in addition to their rows."""
    awake_s: float
    """Seconds in which there was something to do."""


class Shedding:
    """Sets the drop boxes of an engine."""

    def __init__(self, engine: Engine, in_flight: int, shedder: Shedder | None = None) -> None:
        self._engine = engine
        self._in_flight = in_flight
        self._shedder = shedder or Shedder()
        self._past: deque[RunCounters] = deque()
        self._pace = 1.0
        self.summary: SheddingSummary | None = None

    def go_on(self) -> None:
        """Continue with the drop boxes that the engine has."""
        self._shedder.go_on()

    def sample(self, now: RunCounters) -> str | None:
        """Take the counters; change drop boxes if the controller decides so, and return a message about it."""
        self._past.append(now)
        while len(self._past) > 1 and now.now_s - self._past[1].now_s >= _RATE_S:
            self._past.popleft()
        first = self._past[0]
        if now.now_s - first.now_s < _LEAST_S or not self._engine.costs.is_measured:
            return None
        load = self._load(first, now)
        keep = {name: self._engine.streams[name].keep for name in load.streams}
        capacity = self._in_flight * _efficiency(first, now)
        demand = load.utilization(dict.fromkeys(load.streams, 1.0)) / capacity
        utilization = load.utilization(keep) / capacity
        change = self._shedder.sample(
            LoadSample(
                now.now_s,
                now.held,
                now.limit * _FULL,
                demand,
                utilization,
                self._engine.dispatcher.must_shed,
                now.behind and self._shedder.is_shedding,
            )
        )
        message = None
        if change is not None:
            budget = None if change.budget is None else change.budget * capacity
            keep = dict.fromkeys(load.streams, 1.0) if budget is None else load.keep_shares(budget)
            utilization = load.utilization(keep) / capacity
            self._engine.set_keep(keep)
            message = _message(change, keep, demand, utilization)
        self.summary = SheddingSummary(
            self._shedder.budget, demand, utilization, self._shedder.changes, load.results(keep)
        )
        return message

    def _load(self, first: RunCounters, now: RunCounters) -> SystemLoad:
        """Return the load of what is offered. The pace of rows follows from the time that served rows took."""
        seconds = now.now_s - first.now_s
        rates = {name: (count - first.offered.get(name, 0)) / seconds for name, count in now.offered.items()}
        keep = {name: self._engine.streams[name].keep for name in rates}
        served = {name: max(now.served[name] - first.served.get(name, 0), 0) / seconds for name in rates}
        probes = probe_plans(self._engine)
        done = engine_load(self._engine, {name: served[name] / keep[name] for name in rates}, probes)
        rows_s = max(now.worked_s - first.worked_s - (now.overhead_s - first.overhead_s), 0.0) / seconds
        self._pace = (rows_s + _BELIEVED * self._pace) / (done.rows_s(keep) + _BELIEVED)
        load = engine_load(self._engine, rates, probes)
        demand = load.rows_s(dict.fromkeys(rates, 1.0)) * self._pace
        kept_bytes = sum(rate * now.row_bytes[name] for name, rate in rates.items()) / max(demand, 1.0)
        round_s = min(max(now.limit / 2 / max(kept_bytes, 1.0), _SHORTEST_ROUND_S), _LONGEST_ROUND_S)
        return replace(load, pace=self._pace, jobs=jobs_load(self._engine, rates, round_s))


class LoadControl:
    """Samples memory and load of a run; carries out SET memory and SET shed."""

    def __init__(
        self,
        script: Script,
        engine: Engine,
        intake: Intake,
        options: RunOptions,
        on_event: Callable[[str], object],
    ) -> None:
        self._script = script
        self._engine = engine
        self._intake = intake
        self._options = options
        self._on_event = on_event
        self._memory = options.memory
        self._sheds = options.shed
        self._shedding = Shedding(engine, options.in_flight)
        self._sampled_us = 0

    def begin(self, now_us: int) -> None:
        """Sample first an interval from now. Drop boxes of an earlier process stay only if load is shed."""
        self._sampled_us = now_us
        if all(log.keep == 1 for log in self._engine.streams.values()):
            return
        if self._sheds:
            self._shedding.go_on()
        else:
            self._on_event(self.set_shed(sheds=False))

    @property
    def summary(self) -> SheddingSummary | None:
        """What load shedding predicts; None if it is off or has not sampled yet."""
        return self._shedding.summary

    def set_memory(self, memory: int) -> str:
        """Continue with another memory limit. One that is too small is refused, and nothing changes."""
        self._options.check_memory(self._script, memory)
        self._memory = memory
        self._intake.set_memory(memory)
        self._engine.set_memory(memory)
        return f"memory {memory:,} bytes"

    def set_shed(self, sheds: bool) -> str:
        """Turn load shedding on or off; when it goes off, drop boxes open."""
        self._sheds = sheds
        if not sheds:
            self._shedding = Shedding(self._engine, self._options.in_flight)
            self._engine.set_keep(dict.fromkeys(self._engine.streams, 1.0))
        return f"shedding {'on' if sheds else 'off: everything is kept'}"

    def sample(self, now_us: int, awake_us: int) -> None:
        """Record memory, and sample the load if that is due. `awake_us` is the time with something to do."""
        held = self._intake.waiting_bytes()
        panes = self._engine.state.pane_bytes()
        limit = queue_limit(self._memory, panes)
        self._engine.recorder.panes(panes)
        self._engine.observe_memory(now_us / 1e6, held, self._memory - limit)
        if self._sheds and now_us - self._sampled_us >= SAMPLE_US:
            self._sampled_us = now_us
            self._check_load(now_us, awake_us, held, limit)

    def _check_load(self, now_us: int, awake_us: int, held: int, limit: int) -> None:
        offered = self._intake.offered(now_us)
        if not offered:
            return
        counts, costs = self._engine.recorder.streams, self._engine.costs
        message = self._shedding.sample(
            RunCounters(
                now_s=now_us / 1e6,
                offered=offered,
                served={name: counts[name].kept - self._engine.state.backlog_rows(name) for name in offered},
                row_bytes={name: counts[name].row_bytes for name in offered},
                held=held,
                limit=limit,
                behind=any(self._intake.held[name] for name in offered),
                worked_s=costs.busy_s,
                overhead_s=costs.jobs_overhead_s,
                awake_s=awake_us / 1e6,
            )
        )
        if message is not None:
            self._on_event(message)


def _efficiency(first: RunCounters, now: RunCounters) -> float:
    """Return the share of busy time in which jobs ran; the rest is the loop's own."""
    awake = now.awake_s - first.awake_s
    share = (now.worked_s - first.worked_s) / awake if awake > 0 else 1.0
    return min(max(share, _LEAST_EFFICIENCY), 1.0)


def _message(change: Change, keep: Mapping[str, float], demand: float, utilization: float) -> str:
    shed = [f"{share:.3g} of {name}" for name, share in keep.items() if share < 1]
    what = f"keeps {', '.join(shed)}" if shed else "ends: everything is kept"
    return f"shedding {what}; predicted utilisation {demand:.2g} → {utilization:.2g} ({change.why})"
