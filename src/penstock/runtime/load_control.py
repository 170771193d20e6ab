"""Load shedding while a system runs: looks at load and memory, asks the `Shedder`, sets drop boxes.

Backpressure comes first: a stream that has no room is not read. It hides overload from whoever counts what was let
in; so what counts here is what sources offer, read or not. Only streams that a clock or a client drives are
thinned; what waits in files waits there. How much of which stream is kept is the optimizer's (`load`).
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.runtime.engine import Engine
from penstock.shedding.controller import Change, LoadSample, Shedder
from penstock.shedding.load_model import Found, SystemLoad, system_load

LOOK_US = 1_000_000
"""How often the load is looked at."""
_RATE_S = 10.0
"""Rates, and what jobs take, are those of the last so many seconds."""
_LEAST_S = 2.0
"""The least time from which rates are told."""
_LEAST_EFFICIENCY = 0.3
_BELIEVED = 0.5
"""How much weight the last estimate of the pace has, beside what rows took: as if they had taken this much."""
_SHORTEST_ROUND_S, _LONGEST_ROUND_S = 1.0, 10.0
"""Bounds of how long jobs may be apart: as long as half of the memory lasts."""
_FULL = 0.9
"""The share of a memory limit from which memory is short (β of JC03)."""


@dataclass(frozen=True)
class SheddingSummary:
    """Load shedding: what is predicted of the machine, with nothing dropped and with the present drop boxes.

    `budget` is what boxes are to bring the utilisation to, None while there are none; `results` are the results a
    second that each query is predicted to make with what is kept now.
    """

    budget: float | None
    demand: float
    utilization: float
    changes: int
    results: Mapping[str, float]


@dataclass(frozen=True)
class RunCounters:
    """How a run stands: rows offered and served so far, of streams that can be thinned; memory, jobs."""

    now_s: float
    offered: Mapping[str, int]
    served: Mapping[str, int]
    bytes_a_row: Mapping[str, float]
    held: float
    limit: float
    behind: bool
    """Whether a stream that can be thinned is not read for lack of room."""
    worked_s: float
    """Seconds of jobs so far."""
    overhead_s: float
    """Those that jobs took beside their rows."""
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

    def look(self, standing: RunCounters) -> str | None:
        """Look at how the run stands; change drop boxes if the shedder says so, and say what happened."""
        self._past.append(standing)
        while standing.now_s - self._past[1].now_s >= _RATE_S if len(self._past) > 1 else False:
            self._past.popleft()
        first = self._past[0]
        if standing.now_s - first.now_s < _LEAST_S or not self._engine.costs.is_measured:
            return None
        load = self._load(first, standing)
        keep = {name: self._engine.streams[name].box.keep for name in load.streams}
        capacity = self._in_flight * _efficiency(first, standing)
        demand = load.utilization(dict.fromkeys(load.streams, 1.0)) / capacity
        utilization = load.utilization(keep) / capacity
        change = self._shedder.look(
            LoadSample(
                standing.now_s,
                standing.held,
                standing.limit * _FULL,
                demand,
                utilization,
                self._engine.must_shed,
                standing.behind and self._shedder.is_shedding,
            )
        )
        said = None
        if change is not None:
            budget = None if change.budget is None else change.budget * capacity
            keep = dict.fromkeys(load.streams, 1.0) if budget is None else load.kept(budget)
            utilization = load.utilization(keep) / capacity
            self._engine.keep(keep)
            said = _said(change, keep, demand, utilization)
        self.summary = SheddingSummary(
            self._shedder.budget, demand, utilization, self._shedder.changes, load.results(keep)
        )
        return said

    def _load(self, first: RunCounters, now: RunCounters) -> SystemLoad:
        """Return the load of what is offered; what jobs took for the rows they served says how long rows take."""
        seconds = now.now_s - first.now_s
        rates = {name: (count - first.offered.get(name, 0)) / seconds for name, count in now.offered.items()}
        known: Found = {}
        keep = {name: self._engine.streams[name].box.keep for name in rates}
        served = {name: max(now.served[name] - first.served.get(name, 0), 0) / seconds for name in rates}
        done = system_load(self._engine, {name: served[name] / keep[name] for name in rates}, 1.0, known)
        rows_s = max(now.worked_s - first.worked_s - (now.overhead_s - first.overhead_s), 0.0) / seconds
        self._pace = (rows_s + _BELIEVED * self._pace) / (done.work(keep) + _BELIEVED)
        whole = system_load(self._engine, rates, 1.0, known)
        demand = whole.work(dict.fromkeys(rates, 1.0)) * self._pace
        kept_bytes = sum(rate * now.bytes_a_row[name] for name, rate in rates.items()) / max(demand, 1.0)
        round_s = min(max(now.limit / 2 / max(kept_bytes, 1.0), _SHORTEST_ROUND_S), _LONGEST_ROUND_S)
        return replace(system_load(self._engine, rates, round_s, known), pace=self._pace)


def _efficiency(first: RunCounters, now: RunCounters) -> float:
    """Return which share of the time jobs ran in which there was something to do: the rest is the loop's own."""
    awake = now.awake_s - first.awake_s
    share = (now.worked_s - first.worked_s) / awake if awake > 0 else 1.0
    return min(max(share, _LEAST_EFFICIENCY), 1.0)


def _said(change: Change, keep: Mapping[str, float], demand: float, utilization: float) -> str:
    thinned = [f"{share:.3g} of {name}" for name, share in keep.items() if share < 1]
    what = f"keeps {', '.join(thinned)}" if thinned else "ends: everything is kept"
    return f"shedding {what}; predicted utilisation {demand:.2g} → {utilization:.2g} ({change.why})"
