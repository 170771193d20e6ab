"""From a network and a policy to the units it schedules: which queues, how far a run goes, gain and cost."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.network import Edge, Network, Number, Path
from penstock.network.charts import chain_of
from penstock.policies.features import Features
from penstock.policies.policy import Policy, static_part


@dataclass(frozen=True)
class Unit:
    """Something that can be scheduled.

    It serves the queues in `entries`, and a run goes on without stopping into the queues in `through`; what
    it makes for any other queue waits there. `segments` are the ways to a root that its priority stands for
    (several where operators are shared), `whole` the same taken together.
    """

    id: int
    name: str
    entries: tuple[Edge, ...]
    through: frozenset[Edge]
    segments: tuple[Features, ...]
    whole: Features
    gain: Number
    cost: Number | None
    holders: tuple[int, ...]
    cluster: int | None = None

    @property
    def static(self) -> Number:
        """The part of the priority that does not change while tuples wait."""
        return static_part(self.gain, self.cost)


@dataclass(frozen=True)
class Way:
    """A path from a queue to a root, with its features."""

    path: Path
    features: Features


@dataclass(frozen=True)
class Ranked:
    """Ways that run as one, with their aggregate."""

    ways: tuple[Way, ...]
    whole: Features
    gain: Number
    cost: Number | None

    @classmethod
    def alone(cls, policy: Policy, way: Way) -> "Ranked":
        """Return a single way."""
        features = way.features
        return cls((way,), features, policy.gain.of(features), policy.cost_of(features))

    def with_way(self, policy: Policy, way: Way, set_cost: Number, set_ideal: Number) -> "Ranked":
        """Return these ways and one more: gains add up, the cost is that of the set."""
        whole = replace(self.whole, S=self.whole.S + way.features.S, C=set_cost, T=set_ideal)
        gain = self.gain + policy.gain.of(way.features)
        return Ranked((*self.ways, way), whole, gain, policy.cost_of(whole))

    @property
    def static(self) -> Number:
        """The aggregate priority, SCLP08 (9)."""
        return static_part(self.gain, self.cost)


def units_of(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """Return the units of `policy` on `net`, in the order of their ids.

    >>> from penstock.policies import POLICIES
    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    >>> [(unit.name, round(unit.static, 4)) for unit in units_of(net, POLICIES["hnr"])]
    [('s→q1.o1', 0.04), ('s→q2.o1', 0.0825)]
    """
    build = {"path": _path_units, "operator": _operator_units, "segment": _segment_units}
    units = build[policy.unit](net, policy)
    if policy.clusters is None:
        return units
    pseudo, numbers = policy.clusters.assign([unit.static for unit in units])
    return tuple(
        replace(unit, gain=value, cost=None, cluster=number)
        for unit, value, number in zip(units, pseudo, numbers, strict=True)
    )


def priority_defining(net: Network, policy: Policy, ways: Sequence[Way]) -> Ranked:
    """Choose which of the ways from one queue define its priority and run as one (SCLP08 §7.2).

    ``max``: the best one. ``sum``: all. ``pdt``: by falling priority, while the aggregate rises.
    """
    first, *others = sorted(ways, key=lambda way: -policy.static(way.features))
    taken = net.shared_set([first.path])
    ranked = Ranked.alone(policy, first)
    for way in others if policy.sharing != "max" else ():
        more = ranked.with_way(policy, way, *taken.with_added(way.path))
        if policy.sharing == "pdt" and more.static <= ranked.static:
            break
        taken.add(way.path)
        ranked = more
    return ranked


def _ways(net: Network, whole_path: bool) -> dict[Edge, list[Way]]:
    """From every queue, the ways to a root; one that starts mid-way on several paths has its steepest chain."""
    found: dict[Edge, dict[tuple[str, tuple[Edge, ...]], Way]] = defaultdict(dict)
    for path in net.paths:
        chains = net.envelope(path)
        for start, edge in enumerate(path.edges):
            rest = Path(path.query, path.edges[start:])
            stop = None if whole_path else start + 1
            chain = chain_of(chains, start)
            known = found[edge].get((rest.query, rest.edges))
            if known is not None and chain.slope <= known.features.drop / known.features.span:
                continue
            features = Features(
                query=path.query,
                S=net.S(rest),
                C=net.C(rest),
                T=net.T(path.query),
                released=net.released(path, start, stop),
                time=net.time(path, start, stop),
                drop=chain.drop,
                span=chain.span,
            )
            found[edge][rest.query, rest.edges] = Way(rest, features)
    return {edge: list(ways.values()) for edge, ways in found.items()}


def _path_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    ways = _ways(net, whole_path=True)
    ranks = [(edge, priority_defining(net, policy, ways[edge])) for edge in net.edges]
    return tuple(_unit(net, policy, id, str(edge), (edge,), (), ranked) for id, (edge, ranked) in enumerate(ranks))


def _operator_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """One unit an operator, whatever the number of its queues; the best of them speaks for it."""
    ways = _ways(net, whole_path=False)
    units = []
    for id, (name, edges) in enumerate(net.in_edges.items()):
        best = max((priority_defining(net, policy, ways[edge]) for edge in edges), key=lambda r: r.static)
        units.append(_unit(net, policy, id, name, edges, (), best))
    return tuple(units)


def _segment_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """One unit a segment. It serves every queue into its operators, also half-way up.

    Another path may enter there, another segment may share the operators below, and a change of mode leaves
    tuples where they are.
    """
    segments = net.simplified_segments() if policy.simplified else net.segments()
    ways = _ways(net, whole_path=False)
    units = []
    for id, segment in enumerate(segments):
        inside = [edge for name in segment.operators for edge in net.in_edges[name]]
        internal = [edge for edge in inside if edge.source in segment.operators]
        first = segment.path.edges[segment.start]
        rest = segment.path.edges[segment.start :]
        way = next(way for way in ways[first] if way.path == Path(segment.path.query, rest))
        features = replace(way.features, released=segment.released, time=segment.time)
        ranked = Ranked.alone(policy, Way(way.path, features))
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
        segments=tuple(way.features for way in ranked.ways),
        whole=ranked.whole,
        gain=ranked.gain,
        cost=ranked.cost,
        holders=holders,
    )
