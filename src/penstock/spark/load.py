"""What a running system takes of the machine and brings, by the shares kept of its streams: for drop boxes.

Every operator takes what a row costs it, as measured, for the rows that reach it. Of a join, what a row looks
through depends on what the windows hold: the part of the measured cost that the optimizer's model explains follows
that (`optimizer.Probing`), the rest is the row's own. All rates are of what is offered, not of what was let in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.language.plan import Plan
from penstock.language.steps import Join
from penstock.network import Edge
from penstock.optimizer import Load, Parts, best_kept
from penstock.optimizer.sets import Floats
from penstock.spark.engine import Engine
from penstock.spark.planning import ProbePlan

_WHOLE = 0.999
"""A share from which on nothing is worth dropping."""
_LEAST_KEPT = 0.01
"""The least that is kept of a stream: dropped whole, it would leave a window of rows as it was for ever."""
_LEAST_RATE = 1e-6


@dataclass(frozen=True)
class _Joined:
    """A join: what is reckoned with if nothing is dropped, and what is measured beside it."""

    found: ProbePlan
    places: tuple[int | None, ...]
    """For each port, the place of its stream among those that can be thinned."""
    paces: tuple[float, ...]
    """For each port, rows a second by rows a second of the stream's own time."""
    own: tuple[float, ...]
    """Seconds that a row takes in itself."""
    scales: tuple[float, ...]
    """What the model's seconds are multiplied by."""

    def cost(self, streams: int, shares: Floats) -> Parts:
        """Return what it takes in the orders that cost least for these shares."""
        probing = self.found.probing
        names = probing.problem.streams
        keep = {name: 1.0 if place is None else float(shares[place]) for name, place in self._named}
        orders = probing.keeping(keep).best
        total = Parts.of(streams, [])
        for port, name in enumerate(names):
            row_s = self.own[port] * float(probing.problem.rates[name])
            found = probing.cost_parts({name: orders[name]}) * self.scales[port]
            found += Parts.of(len(names), [(row_s, [port])])
            total += self._by_stream(streams, found) * self.paces[port]
        return total

    def rate(self, streams: int) -> Parts:
        """Return the results a second."""
        probing = self.found.probing
        total = Parts.of(streams, [])
        for pace, name in zip(self.paces, probing.problem.streams, strict=True):
            total += self._by_stream(streams, probing.rate_parts(name)) * pace
        return total

    @property
    def _named(self) -> list[tuple[str, int | None]]:
        return list(zip(self.found.probing.problem.streams, self.places, strict=True))

    def _by_stream(self, streams: int, parts: Parts) -> Parts:
        """Return parts by ports as parts by streams; what is not thinned is whole."""
        powers = np.zeros((len(parts.amounts), streams))
        for port, place in enumerate(self.places):
            if place is not None:
                powers[:, place] += parts.powers[:, port]
        return Parts(parts.amounts, powers)


@dataclass(frozen=True)
class SystemLoad:
    """What the queries of a system take and bring at these rates of their streams."""

    streams: tuple[str, ...]
    """Those that can be thinned."""
    jobs: Parts
    """What jobs take beside their rows."""
    cost: Parts
    """What operators take beside joins."""
    rates: Mapping[str, Parts]
    """Results a second, by query of the network."""
    members: Mapping[str, int]
    """How many queries of the script each of them serves."""
    joins: Mapping[str, _Joined] = field(default_factory=dict)
    pace: float = 1.0
    """How long rows really take, by what was measured of single operators."""

    def plans_for(self, shares: Floats) -> Load:
        """Return what is taken and brought in the plans that cost least for these shares.

        Of each query counts the share of its results that is left.
        """
        n = len(self.streams)
        cost = self._rows(shares) * self.pace + self.jobs
        value = Parts.of(n, [])
        for name, rate in self.rates.items():
            whole = rate.at(np.ones(n))
            if whole > 0:
                value += rate * (self.members[name] / whole)
        return Load(value, cost)

    def _rows(self, shares: Floats) -> Parts:
        cost = self.cost
        for join in self.joins.values():
            cost += join.cost(len(self.streams), shares)
        return cost

    def work(self, keep: Mapping[str, float]) -> float:
        """Return what the rows take if so much is kept, as was measured of single operators."""
        shares = np.array([keep[name] for name in self.streams])
        return self._rows(shares).at(shares)

    def utilization(self, keep: Mapping[str, float]) -> float:
        """Return the share of the machine that is taken if so much is kept."""
        shares = np.array([keep[name] for name in self.streams])
        return self.plans_for(shares).cost.at(shares)

    def results(self, keep: Mapping[str, float]) -> dict[str, float]:
        """Return how many results a second each query of the network makes if so much is kept."""
        shares = np.array([keep[name] for name in self.streams])
        return {name: rate.at(shares) for name, rate in self.rates.items()}

    def kept(self, budget: float) -> dict[str, float]:
        """Return the share of each stream that brings most within a budget; all, if none is known to bring any."""
        if not len(self.plans_for(np.ones(len(self.streams))).value.amounts):
            return dict.fromkeys(self.streams, 1.0)
        shares = best_kept(self.plans_for, len(self.streams), budget)
        kept = np.where(shares >= _WHOLE, 1.0, np.round(np.maximum(shares, _LEAST_KEPT), 4))
        return dict(zip(self.streams, kept.tolist(), strict=True))


Found = dict[str, ProbePlan | None]
"""What joins are reckoned with, so that it is looked up once."""


def system_load(engine: Engine, offered: Mapping[str, float], round_s: float, known: Found) -> SystemLoad:
    """Return the load of a running system, where so many rows a second are offered of streams that can be thinned.

    What the rows of other streams take does not count: those wait where they are. A job for everything is expected
    every `round_s` seconds, and one for each stream whenever it has brought as many rows as a job takes.
    """
    plan, network, streams = engine.plan, engine.plan.network, tuple(offered)
    n = len(streams)
    rates: dict[str, Parts] = {name: Parts.of(n, []) for name in network.stream_by_name}
    for place, name in enumerate(streams):
        rates[name] = Parts.of(n, [(offered[name], [place])])
    cost = Parts.of(n, [])
    joins: dict[str, _Joined] = {}
    for operator in network.operators:
        name = operator.name
        edges = network.in_edges[name]
        joined = None
        if isinstance(plan.steps[name], Join):
            if name not in known:
                known[name] = engine.planner.whole(plan, name, engine.streams)
            joined = _joined(engine, name, known[name], offered)
        if joined is not None:
            joins[name], rates[name] = joined, joined.rate(n)
            continue
        made = Parts.of(n, [])
        for edge in edges:
            measured = engine.costs.of(name)
            cost += rates[edge.source] * float(measured[edge.port] if measured else network.costs[edge])
            made += rates[edge.source] * _fanout(plan, edge)
        rates[name] = made
    return SystemLoad(
        streams,
        Parts.of(
            n,
            [
                (engine.round_s / round_s, []),
                *(
                    (rate * engine.costs.overhead_s(0) / engine.most_rows, [place])
                    for place, rate in enumerate(offered.values())
                ),
            ],
        ),
        cost,
        {query.name: rates[query.root] for query in network.queries},
        {query.name: len(list(plan.served_by(query.name))) for query in network.queries},
        joins,
    )


def _fanout(plan: Plan, edge: Edge) -> float:
    operator = plan.network.operator(edge.target)
    return float(plan.network.fanout[edge] if operator.kind == "join" else operator.selectivity)


def _joined(engine: Engine, name: str, found: ProbePlan | None, offered: Mapping[str, float]) -> _Joined | None:
    """Return a join with what was measured; None if there is nothing to reckon with."""
    if found is None:
        return None
    ports = found.join.ports
    logs = [engine.streams[port.stream] for port in ports]
    now = found.probing.keeping(
        {each: log.box.keep for each, log in zip(found.probing.problem.streams, logs, strict=True)}
    )
    orders = found.named(found.current)
    own, scales, paces = [], [], []
    measured = engine.costs.of(name) or tuple(0.0 for _ in ports)
    for port, (each, log) in enumerate(zip(found.probing.problem.streams, logs, strict=True)):
        thought = now.utilization({each: orders[each]}) / float(now.problem.rates[each])
        own.append(max(measured[port] - thought, 0.0))
        scales.append(min(measured[port] / thought, 1.0))
        of_stream = engine.planner.rate(engine.plan, log)
        paces.append(offered.get(log.definition.name, 0.0) / max(of_stream, _LEAST_RATE))
    streams = list(offered)
    places = tuple(streams.index(port.stream) if port.stream in offered else None for port in ports)
    return _Joined(found, places, tuple(paces), tuple(own), tuple(scales))
