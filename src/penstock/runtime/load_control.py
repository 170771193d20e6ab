"""Load control: samples load and memory, asks the shedding controller, and sets drop boxes.

Backpressure comes first: a stream without room is not read. That hides overload from whoever counts admitted rows,
so what counts here is what sources offer, read or not. Only streams driven by a clock or a client are shed; rows
in files wait there. How much of which stream is kept is decided by the load model (`shedding.load_model`).
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.network import Operator
from penstock.optimizer import Posynomial
from penstock.plan.probe_orders import ProbePlan
from penstock.plan.replanning import stream_rate
from penstock.plan.steps import Join
from penstock.runtime.engine import Engine
from penstock.shedding.controller import Change, LoadSample, Shedder
from penstock.shedding.load_model import JoinLoad, Rates, SystemLoad, system_load

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
_LEAST_RATE = 1e-6


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


class LoadControl:
    """Sets the drop boxes of an engine."""

    def __init__(self, engine: Engine, in_flight: int, shedder: Shedder | None = None) -> None:
        self._engine = engine
        self._in_flight = in_flight
        self._shedder = shedder or Shedder()
        self._past: deque[RunCounters] = deque()
        self._pace = 1.0
        self.summary: SheddingSummary | None = None

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


def probe_plans(engine: Engine) -> dict[str, ProbePlan]:
    """Return the plan of each join as if nothing were dropped, where enough is known."""
    joins = [name for name, step in engine.plan.steps.items() if isinstance(step, Join)]
    plans = {name: engine.planner.unshed(engine.plan, name, engine.streams) for name in joins}
    return {name: plan for name, plan in plans.items() if plan is not None}


def engine_load(engine: Engine, offered: Mapping[str, float], probes: Mapping[str, ProbePlan]) -> SystemLoad:
    """Return the load of a running engine's rows, where so many rows per second are offered of streams to shed."""
    network = engine.plan.network
    costs = {}
    for edge in network.edges:
        measured = engine.costs.of(edge.target)
        costs[edge] = float(measured[edge.port] if measured else network.costs[edge])

    def measured_rows(operator: Operator, rates: Rates) -> Posynomial:
        """Return what a join makes by its measured fanout, without a model of its windows."""
        edges = network.in_edges[operator.name]
        made = (rates[edge.source] * float(network.fanout[edge]) for edge in edges)
        return sum(made, Posynomial.of(len(offered)))

    joins = {name: _join_load(engine, name, plan, offered) for name, plan in probes.items()}
    members = {query.name: len(list(engine.plan.served_by(query.name))) for query in network.queries}
    return system_load(network, offered, costs, measured_rows, joins, members)


def jobs_load(engine: Engine, offered: Mapping[str, float], round_s: float) -> Posynomial:
    """Return the time of jobs in addition to their rows.

    A job for every unit is expected each `round_s` seconds, and one for each stream whenever it has brought as
    many rows as a job takes.
    """
    per_row = engine.costs.overhead_s(0) / engine.most_rows
    own = [(rate * per_row, [place]) for place, rate in enumerate(offered.values())]
    return Posynomial.of(len(offered), [(engine.round_s / round_s, []), *own])


def _join_load(engine: Engine, name: str, found: ProbePlan, offered: Mapping[str, float]) -> JoinLoad:
    """Return a join's load: measured costs, split into what windows explain and the rest."""
    ports = found.join.ports
    names = found.probing.problem.streams
    logs = [engine.streams[port.stream] for port in ports]
    now = found.probing.keeping({each: log.keep for each, log in zip(names, logs, strict=True)})
    orders = found.named(found.current)
    own, scales, paces = [], [], []
    measured = engine.costs.of(name) or tuple(0.0 for _ in ports)
    for port, (each, log) in enumerate(zip(names, logs, strict=True)):
        modelled = now.utilization({each: orders[each]}) / float(now.problem.rates[each])
        own.append(max(measured[port] - modelled, 0.0))
        scales.append(min(measured[port] / modelled, 1.0))
        rate = stream_rate(engine.plan, log, unshed=True)
        paces.append(offered.get(log.definition.name, 0.0) / max(rate, _LEAST_RATE))
    streams = list(offered)
    places = tuple(streams.index(port.stream) if port.stream in offered else None for port in ports)
    return JoinLoad(found.probing, places, tuple(paces), tuple(own), tuple(scales))


def _efficiency(first: RunCounters, now: RunCounters) -> float:
    """Return the share of busy time in which jobs ran; the rest is the loop's own."""
    awake = now.awake_s - first.awake_s
    share = (now.worked_s - first.worked_s) / awake if awake > 0 else 1.0
    return min(max(share, _LEAST_EFFICIENCY), 1.0)


def _message(change: Change, keep: Mapping[str, float], demand: float, utilization: float) -> str:
    shed = [f"{share:.3g} of {name}" for name, share in keep.items() if share < 1]
    what = f"keeps {', '.join(shed)}" if shed else "ends: everything is kept"
    return f"shedding {what}; predicted utilisation {demand:.2g} → {utilization:.2g} ({change.why})"
