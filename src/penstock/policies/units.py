"""From a network and a policy to the units it schedules: which queues, how far a run goes, static priority."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.errors import NetworkError
from penstock.network import Edge, Network, Number, Path
from penstock.policies.features import Features
from penstock.policies.policy import Policy, divided


@dataclass(frozen=True)
class Unit:
    """Something that can be scheduled.

    It serves the queues in `entries`, and a run goes on without stopping into the queues in `through`; what
    it makes for any other queue waits there. `ways` are those to a root that its priority stands for (several
    where operators are shared), `whole` the same taken together. `static` is gain ÷ cost.
    """

    id: int
    name: str
    entries: tuple[Edge, ...]
    through: frozenset[Edge]
    ways: tuple[Features, ...]
    whole: Features
    static: Number
    cost: Number | None
    holders: tuple[int, ...]
    time: Number = 0
    """What a run takes for one tuple of its queue."""
    cluster: int | None = None

    @property
    def weight(self) -> Number:
        """The greatest weight of the queries that its priority stands for."""
        return max(way.weight for way in self.ways)


@dataclass(frozen=True)
class Way:
    """A path from a queue to a root, with its features."""

    path: Path
    features: Features


@dataclass(frozen=True)
class Ranked:
    """Ways that define a priority together and run as one."""

    ways: tuple[Way, ...]
    whole: Features
    gain: Number
    cost: Number | None

    @classmethod
    def alone(cls, policy: Policy, way: Way) -> "Ranked":
        """Return a single way."""
        return cls((way,), way.features, policy.gain_of(way.features), policy.cost_of(way.features))

    def with_way(self, policy: Policy, way: Way, set_cost: Number) -> "Ranked":
        """Return these ways and one more: gains add up, the cost is that of the set."""
        whole = replace(self.whole, S=self.whole.S + way.features.S, C=set_cost)
        gain = self.gain + policy.gain_of(way.features)
        return Ranked((*self.ways, way), whole, gain, policy.cost_of(whole))

    @property
    def static(self) -> Number:
        """The aggregate priority, SCLP08 (9)."""
        return divided(self.gain, self.cost)


def units_of(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """Return the units of `policy` on `net`, in the order of their ids.

    >>> from penstock.policies import POLICIES
    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    >>> [(unit.name, round(unit.static, 4)) for unit in units_of(net, POLICIES["hnr"])]
    [('s→q1.o1', 0.04), ('s→q2.o1', 0.0825)]
    """
    if not isinstance(net, Network):
        raise NetworkError(f"a policy schedules a Network, not {net!r}")
    build = {"path": _path_units, "operator": _operator_units, "segment": _segment_units}
    units = build[policy.unit](net, policy)
    if policy.clusters is None:
        return units
    pseudo, numbers = policy.clusters.assign([unit.static for unit in units])
    return tuple(
        replace(unit, static=value, cluster=number)
        for unit, value, number in zip(units, pseudo, numbers, strict=True)
    )


def priority_defining(net: Network, policy: Policy, ways: Sequence[Way]) -> Ranked:
    """Choose which of the ways from one queue define its priority and run as one (SCLP08 §7.2).

    ``max``: the best one. ``sum``: all. ``pdt``: by falling priority, while the aggregate rises; equal ones by
    their route, so that the order of declaration does not matter.
    """
    first, *others = sorted(ways, key=lambda way: (-policy.static(way.features), way.path.edges, way.path.query))
    ranked = Ranked.alone(policy, first)
    if not others or policy.sharing not in ("sum", "pdt"):
        return ranked
    taken = net.shared_set([first.path])
    for way in others:
        more = ranked.with_way(policy, way, taken.cost_with(way.path))
        if policy.sharing == "pdt" and more.static <= ranked.static:
            break
        taken.add(way.path)
        ranked = more
    return ranked


def _weight(net: Network, policy: Policy, query: str) -> Number:
    """Return the weight of a query; of one that stands for several, as the policy ranks what is shared.

    Where gains of several queries add up, S is already the sum of theirs and their average counts; where the best
    speaks for all, the greatest.
    """
    found = net.query(query)
    adds_up = policy.sharing in ("sum", "pdt")
    return found.weight if adds_up or found.greatest is None else found.greatest


def _way(net: Network, policy: Policy, path: Path, released: Number, time: Number) -> Way:
    onward, chain = net.onward[path], net.chain_at[path]
    features = Features(
        query=path.query,
        S=onward.S,
        C=onward.C,
        T=net.T(path.query),
        ideal=onward.ideal,
        released=released,
        time=time,
        drop=chain.drop,
        span=chain.span,
        weight=_weight(net, policy, path.query),
    )
    return Way(path, features)


def _path_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """One unit a queue, also mid-way: tuples wait there behind shared operators and between two policies."""
    units = []
    for id, edge in enumerate(net.edges):
        ways = [_way(net, policy, path, net.released(path), net.C(path)) for path in net.suffixes[edge]]
        units.append(_unit(net, policy, id, str(edge), (edge,), (), priority_defining(net, policy, ways)))
    return tuple(units)


def _operator_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """One unit an operator, whatever the number of its queues; the best of them speaks for it."""
    units = []
    for id, (name, entries) in enumerate(net.in_edges.items()):
        ranks = []
        for edge in entries:
            ways = [
                _way(net, policy, path, net.released(path, 0, 1), net.costs[edge]) for path in net.suffixes[edge]
            ]
            ranks.append(priority_defining(net, policy, ways))
        best = max(ranks, key=lambda ranked: ranked.static)
        units.append(_unit(net, policy, id, name, entries, (), best))
    return tuple(units)


def _segment_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """One unit a segment. It serves every queue into its operators, also half-way up.

    Another path may enter there, another segment may share the operators below, and a change of mode leaves
    tuples where they are. It has the greatest weight of the queries that pass all of it.
    """
    segments = net.simplified_segments() if policy.simplified else net.segments()
    units = []
    for id, segment in enumerate(segments):
        inside = [edge for name in segment.operators for edge in net.in_edges[name]]
        internal = [edge for edge in inside if edge.source in segment.operators]
        rest = Path(segment.path.query, segment.path.edges[segment.start :])
        way = _way(net, policy, rest, segment.released, segment.time)
        passing = set.intersection(*(set(net.users[name]) for name in segment.operators))
        weight = max(_weight(net, policy, query) for query in passing)
        ranked = Ranked.alone(policy, replace(way, features=replace(way.features, weight=weight)))
        units.append(_unit(net, policy, id, str(segment), tuple(inside), internal, ranked))
    return tuple(units)


def _unit(
    net: Network,
    policy: Policy,
    id: int,
    name: str,
    entries: tuple[Edge, ...],
    internal: Iterable[Edge],
    ranked: Ranked,
) -> Unit:
    if policy.scheduling_point == "operator":
        through: set[Edge] = set()
    elif policy.scheduling_point == "segment":
        through = set(internal)
    elif policy.unit == "path":
        through = {edge for way in ranked.ways for edge in way.path.edges[1:]}
    else:
        through = {edge for entry in entries for path in net.suffixes[entry] for edge in path.edges[1:]}
    holders: tuple[int, ...] = (id,)
    if policy.turn_of == "query":
        users = {query for entry in entries for query in net.users[entry.target]}
        holders = tuple(sorted(net.query_place[query] for query in users))
    return Unit(
        id=id,
        name=name,
        entries=entries,
        through=frozenset(through),
        ways=tuple(way.features for way in ranked.ways),
        whole=ranked.whole,
        static=ranked.static,
        cost=ranked.cost,
        holders=holders,
        time=ranked.whole.C if policy.unit == "path" else ranked.whole.time,
    )
