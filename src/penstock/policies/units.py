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

    It serves the queues in `entries`. A run continues without stopping into the queues in `through`; what it
    produces for any other queue waits there. `path_features` describes the paths to a root that define its
    priority (several where operators are shared), and `whole` those paths taken together. `static` is gain ÷ cost.
    """

    id: int
    name: str
    entries: tuple[Edge, ...]
    through: frozenset[Edge]
    path_features: tuple[Features, ...]
    whole: Features
    static: Number
    cost: Number | None
    holders: tuple[int, ...]
    time: Number = 0
    """Time of a run for one tuple of its queue."""
    cluster: int | None = None

    @property
    def weight(self) -> Number:
        """The greatest weight of the queries that define its priority."""
        return max(features.weight for features in self.path_features)


@dataclass(frozen=True)
class UnitPath:
    """A path from a queue to a root, with its features."""

    path: Path
    features: Features


@dataclass(frozen=True)
class Ranked:
    """Paths that define a priority together and run as one."""

    paths: tuple[UnitPath, ...]
    whole: Features
    gain: Number
    cost: Number | None

    @classmethod
    def alone(cls, policy: Policy, path: UnitPath) -> "Ranked":
        """Return the rank of a single path."""
        return cls((path,), path.features, policy.gain_of(path.features), policy.cost_of(path.features))

    def with_path(self, policy: Policy, path: UnitPath, set_cost: Number) -> "Ranked":
        """Return the rank of these paths and one more: gains add up, the cost is that of the set."""
        whole = replace(self.whole, S=self.whole.S + path.features.S, C=set_cost)
        gain = self.gain + policy.gain_of(path.features)
        return Ranked((*self.paths, path), whole, gain, policy.cost_of(whole))

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


def priority_defining(net: Network, policy: Policy, paths: Sequence[UnitPath]) -> Ranked:
    """Choose which of the paths from one queue define its priority and run as one (SCLP08 §7.2).

    ``max``: the best one. ``sum``: all. ``pdt``: by falling priority, while the aggregate rises. Ties are broken
    by the path's edges, so that the order of declaration does not matter.
    """
    first, *others = sorted(
        paths, key=lambda each: (-policy.static(each.features), each.path.edges, each.path.query)
    )
    ranked = Ranked.alone(policy, first)
    if not others or policy.sharing not in ("sum", "pdt"):
        return ranked
    taken = net.shared_set([first.path])
    for other in others:
        more = ranked.with_path(policy, other, taken.cost_with(other.path))
        if policy.sharing == "pdt" and more.static <= ranked.static:
            break
        taken.add(other.path)
        ranked = more
    return ranked


def _weight(net: Network, policy: Policy, query: str) -> Number:
    """Return the weight of a query of the network, which may stand for a group of queries.

    Where a policy adds up gains (``sum``, ``pdt``), S is already the sum over the group, so the average weight
    counts; where the best path decides (``max``), the greatest.
    """
    found = net.query(query)
    adds_up = policy.sharing in ("sum", "pdt")
    return found.weight if adds_up or found.greatest is None else found.greatest


def _unit_path(net: Network, policy: Policy, path: Path, released: Number, time: Number) -> UnitPath:
    onward, segment = net.onward[path], net.envelope_segment_at[path]
    features = Features(
        query=path.query,
        S=onward.S,
        C=onward.C,
        T=net.T(path.query),
        ideal=onward.ideal,
        released=released,
        time=time,
        drop=segment.drop,
        span=segment.span,
        weight=_weight(net, policy, path.query),
    )
    return UnitPath(path, features)


def _path_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """Return one unit per queue, also inside paths: behind shared operators, and after a policy switch."""
    units = []
    for id, edge in enumerate(net.edges):
        paths = [_unit_path(net, policy, path, net.released(path), net.C(path)) for path in net.suffixes[edge]]
        units.append(_unit(net, policy, id, str(edge), (edge,), (), priority_defining(net, policy, paths)))
    return tuple(units)


def _operator_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """Return one unit per operator; the best of its queues defines its priority."""
    units = []
    for id, (name, entries) in enumerate(net.in_edges.items()):
        ranks = []
        for edge in entries:
            paths = [
                _unit_path(net, policy, path, net.released(path, 0, 1), net.costs[edge])
                for path in net.suffixes[edge]
            ]
            ranks.append(priority_defining(net, policy, paths))
        best = max(ranks, key=lambda ranked: ranked.static)
        units.append(_unit(net, policy, id, name, entries, (), best))
    return tuple(units)


def _segment_units(net: Network, policy: Policy) -> tuple[Unit, ...]:
    """Return one unit per segment. It serves every queue into its operators, also those inside the segment.

    Tuples can wait there: another path may enter, another segment may share the operators below, and a change of
    mode leaves tuples where they are. A unit has the greatest weight of the queries that pass all of it.
    """
    segments = net.simplified_segments() if policy.simplified else net.segments()
    units = []
    for id, segment in enumerate(segments):
        inside = [edge for name in segment.operators for edge in net.in_edges[name]]
        internal = [edge for edge in inside if edge.source in segment.operators]
        rest = Path(segment.path.query, segment.path.edges[segment.start :])
        path = _unit_path(net, policy, rest, segment.released, segment.time)
        passing = set.intersection(*(set(net.users[name]) for name in segment.operators))
        weight = max(_weight(net, policy, query) for query in passing)
        ranked = Ranked.alone(policy, replace(path, features=replace(path.features, weight=weight)))
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
        through = {edge for each in ranked.paths for edge in each.path.edges[1:]}
    else:
        through = {edge for entry in entries for path in net.suffixes[entry] for edge in path.edges[1:]}
    through = {edge for edge in through if not net.is_barrier(edge)}
    holders: tuple[int, ...] = (id,)
    if policy.turn_of == "query":
        users = {query for entry in entries for query in net.users[entry.target]}
        holders = tuple(sorted(net.query_place[query] for query in users))
    return Unit(
        id=id,
        name=name,
        entries=entries,
        through=frozenset(through),
        path_features=tuple(path.features for path in ranked.paths),
        whole=ranked.whole,
        static=ranked.static,
        cost=ranked.cost,
        holders=holders,
        time=ranked.whole.C if policy.unit == "path" else ranked.whole.time,
    )
