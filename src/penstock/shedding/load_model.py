"""The load model: processor time and results of a network as functions of the shares kept of its streams.

Each operator takes its cost per row times the rows that reach it. A join whose probes were measured has a model of
its own (`JoinLoad`). All rates are of what sources offer, not of what was admitted. The runtime and the simulator
both shed by this model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from penstock.errors import PlanError
from penstock.network import Edge, Network, Operator
from penstock.optimizer import Posynomial, Probing
from penstock.optimizer.stream_sets import Floats
from penstock.shedding.keep_shares import Load, best_kept

LEAST_KEPT = 0.01
"""The smallest share kept of a stream. With nothing kept, a row window would never change again."""
_WHOLE = 0.999
"""A share from which on dropping is not worthwhile."""

Rates = Mapping[str, Posynomial]
"""Rows per second that each stream and operator sends."""
JoinRows = Callable[[Operator, Rates], Posynomial]
"""Returns the rows per second that a join without a `JoinLoad` makes."""


@dataclass(frozen=True)
class JoinLoad:
    """Load of a measured join. Only the cost that the probing model explains depends on what windows hold."""

    probing: Probing
    """The join with nothing dropped."""
    places: tuple[int | None, ...]
    """For each port, the position of its stream among those that can be shed."""
    paces: tuple[float, ...]
    """For each port, rows per second of wall time ÷ rows per second of stream time."""
    own: tuple[float, ...]
    """Seconds per row of each port that do not depend on windows."""
    scales: tuple[float, ...]
    """For each port, measured seconds ÷ seconds of the model."""

    def cost(self, streams: int, shares: Floats) -> Posynomial:
        """Return the processor time per second, in the probe orders that are cheapest for these shares."""
        names = self.probing.problem.streams
        keep = {
            name: 1.0 if place is None else float(shares[place])
            for name, place in zip(names, self.places, strict=True)
        }
        orders = self.probing.keeping(keep).best
        total = Posynomial.of(streams)
        for port, name in enumerate(names):
            row_s = self.own[port] * float(self.probing.problem.rates[name])
            found = self.probing.cost_posynomial({name: orders[name]}) * self.scales[port]
            found += Posynomial.of(len(names), [(row_s, [port])])
            total += self._by_stream(streams, found) * self.paces[port]
        return total

    def rate(self, streams: int) -> Posynomial:
        """Return the results per second."""
        total = Posynomial.of(streams)
        for pace, name in zip(self.paces, self.probing.problem.streams, strict=True):
            total += self._by_stream(streams, self.probing.results_posynomial(name)) * pace
        return total

    def _by_stream(self, streams: int, by_port: Posynomial) -> Posynomial:
        """Return a posynomial in shares of ports as one in shares of streams. Other streams are kept whole."""
        powers = np.zeros((len(by_port.amounts), streams))
        for port, place in enumerate(self.places):
            if place is not None:
                powers[:, place] += by_port.powers[:, port]
        return Posynomial(by_port.amounts, powers)


@dataclass(frozen=True)
class SystemLoad:
    """Processor time and results of all queries at given rates of their streams."""

    streams: tuple[str, ...]
    """The streams that can be shed."""
    cost: Posynomial
    """Seconds per second in operators other than joins with a model."""
    rates: Rates
    """Results per second, by query of the network."""
    members: Mapping[str, int]
    """How many queries of the script each query of the network serves, if not one."""
    joins: Mapping[str, JoinLoad] = field(default_factory=dict)
    jobs: Posynomial | None = None
    """Seconds per second that jobs take in addition to their rows."""
    pace: float = 1.0
    """Measured time of rows ÷ the sum of their operators' measured costs."""

    def plans_for(self, shares: Floats) -> Load:
        """Return value and cost in the plans that are cheapest for these shares.

        The value of a query is the share of its results that is left.
        """
        n = len(self.streams)
        cost = self._rows(shares) * self.pace
        if self.jobs is not None:
            cost += self.jobs
        values = []
        for name, rate in self.rates.items():
            whole = rate.at(np.ones(n))
            if whole > 0:
                values.append(rate * (self.members.get(name, 1) / whole))
        return Load(Posynomial.total(n, values), cost)

    def _rows(self, shares: Floats) -> Posynomial:
        n = len(self.streams)
        return Posynomial.total(n, [self.cost, *(join.cost(n, shares) for join in self.joins.values())])

    def rows_s(self, keep: Mapping[str, float]) -> float:
        """Return the seconds per second of the rows, by the costs of single operators."""
        shares = self._shares(keep)
        return self._rows(shares).at(shares)

    def utilization(self, keep: Mapping[str, float]) -> float:
        """Return the share of a processor that is used if these shares are kept."""
        shares = self._shares(keep)
        return self.plans_for(shares).cost.at(shares)

    def results(self, keep: Mapping[str, float]) -> dict[str, float]:
        """Return the results per second of each query of the network if these shares are kept."""
        shares = self._shares(keep)
        return {name: rate.at(shares) for name, rate in self.rates.items()}

    def keep_shares(self, budget: float) -> dict[str, float]:
        """Return the share of each stream with the most results within a budget; 1 if no query has results."""
        if not len(self.plans_for(np.ones(len(self.streams))).value.amounts):
            return dict.fromkeys(self.streams, 1.0)
        shares = best_kept(self.plans_for, len(self.streams), budget)
        kept = np.where(shares >= _WHOLE, 1.0, np.round(np.maximum(shares, LEAST_KEPT), 4))
        return dict(zip(self.streams, kept.tolist(), strict=True))

    def _shares(self, keep: Mapping[str, float]) -> Floats:
        return np.array([keep[name] for name in self.streams])


def system_load(
    network: Network,
    offered: Mapping[str, float],
    costs: Mapping[Edge, float],
    join_rows: JoinRows,
    joins: Mapping[str, JoinLoad] | None = None,
    members: Mapping[str, int] | None = None,
) -> SystemLoad:
    """Return the load of a network whose streams bring `offered` rows per second.

    Streams that are not in `offered` are not shed, and add no load. `costs` are seconds per row at each edge.
    """
    known = joins or {}
    n = len(offered)
    rates = {name: Posynomial.of(n) for name in network.stream_by_name}
    rates |= {name: Posynomial.of(n, [(offered[name], [place])]) for place, name in enumerate(offered)}
    taken: list[Posynomial] = []
    for operator in network.operators:
        if operator.name in known:
            rates[operator.name] = known[operator.name].rate(n)
            continue
        edges = network.in_edges[operator.name]
        taken += [rates[edge.source] * costs[edge] for edge in edges]
        if operator.kind == "join":
            rates[operator.name] = join_rows(operator, rates)
        else:
            made = (rates[edge.source] * float(operator.selectivity) for edge in edges)
            rates[operator.name] = Posynomial.total(n, made)
    results = {query.name: rates[query.root] for query in network.queries}
    return SystemLoad(tuple(offered), Posynomial.total(n, taken), results, members or {}, known)


def network_load(network: Network) -> SystemLoad:
    """Return the load of a network by its own rates, windows and costs.

    A time window holds more rows the more arrive, so a join's output is a product of shares. A row window holds a
    constant number.

    >>> load = network_load(Network.chains([[(0.2, 0.5), (0.1, 1)], [(0.5, 1)]], rate=4)).plans_for(np.ones(1))
    >>> load.cost.at([0.5]), load.value.at([0.5]), load.kept(1.5).tolist()
    (1.5, 1.0, [0.5])
    """
    for stream in network.streams:
        if stream.rate is None:
            raise PlanError(f"the rate of {stream.name!r} is not known, so its load cannot be computed")
    offered = {stream.name: float(stream.rate or 0) for stream in network.streams}
    costs = {edge: float(network.costs[edge]) for edge in network.edges}
    return system_load(network, offered, costs, windowed_join_rows)


def windowed_join_rows(operator: Operator, rates: Rates) -> Posynomial:
    """Return the output rate of a join: for each input, its rows times the rows of the other windows."""
    streams = next(iter(rates.values())).streams
    total = Posynomial.of(streams)
    for port, source in enumerate(operator.inputs):
        made = rates[source] * float(operator.selectivity)
        for other, window in enumerate(operator.windows):
            if other != port:
                held = (
                    rates[operator.inputs[other]]
                    if window.kind == "range"
                    else Posynomial.of(streams, [(1.0, [])])
                )
                made = made * (held * float(window.size))
        total += made
    return total
