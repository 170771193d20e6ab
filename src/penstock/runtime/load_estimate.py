"""The load of the running engine: its plan, measured costs and logs as a `SystemLoad`."""

from collections.abc import Mapping

from penstock.network import Operator
from penstock.optimizer import Posynomial
from penstock.plan.probe_orders import ProbePlan
from penstock.plan.replanning import stream_rate
from penstock.plan.steps import Join
from penstock.runtime.engine import Engine
from penstock.shedding.load_model import JoinLoad, Rates, SystemLoad, system_load

_LEAST_RATE = 1e-6


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
        return Posynomial.total(len(offered), made)

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
