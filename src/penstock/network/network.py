"""`Network`: the immutable operator network, and the quantities that the papers derive from it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, Self

from penstock.errors import NetworkError
from penstock.network.aggregates import WindowWork, all_window_work, check_rows, derived
from penstock.network.charts import EnvelopeSegment, ProgressChart
from penstock.network.checks import bottom_up, check_types, check_unique
from penstock.network.graph import Graph, Path
from penstock.network.joins import Rates, fanouts, output_rates
from penstock.network.merging import merged_operators, merged_streams
from penstock.network.numbers import Number, checked, exact
from penstock.network.operator import Edge, Kind, Operator, Query, Stream, Window, listed
from penstock.network.panes import Panes, all_panes
from penstock.network.segments import Segment, first_run_and_rest, pruned, rising_runs
from penstock.network.sharing import SharedSet

SIMILAR = Fraction(3, 4)
"""γ of JC03's simplified segments (§3.3)."""

UNWEIGHED = (
    *("rates", "fanout", "costs", "sizes", "window_work", "items"),
    *("onward", "ideal_times", "envelope_segment_at"),
)
"""Cached properties that depend on measures, but not on the weights of queries."""


class Onward(NamedTuple):
    """Selectivity, cost and ideal time of one path from a queue to the root (SCLP08 §2)."""

    S: Number
    C: Number
    ideal: Number


class Network(Graph):
    """Operators, queues and queries, with the quantities of the papers.

    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]], stream="s")
    >>> path = net.paths[1]
    >>> net.S(path), net.C(path), net.T("q2")
    (0.33, 2.0, 2.0)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rows(self.operators, self.streams, self.panes)
        object.__setattr__(self, "operators", derived(self.streams, self.operators, self.panes))

    @classmethod
    def chains(
        cls,
        queries: Sequence[Sequence[tuple[Number, Number]]],
        stream: str | Sequence[str] = "s",
        rate: Number | None = None,
    ) -> Self:
        """Build single-stream queries from numbers: for each, (cost, selectivity) of its operators, leaf first.

        Queries are named q1, q2, …, their operators q1.o1, q1.o2, …. All read `stream`, or each its own of several
        streams.
        """
        chains = listed(queries, "the queries")
        sources = (stream,) * len(chains) if isinstance(stream, str) else listed(stream, "the streams")
        if len(sources) != len(chains):
            raise NetworkError(
                f"{len(chains)} queries and {len(sources)} streams; give one stream for all, or one for each"
            )
        names = dict.fromkeys((stream,) if isinstance(stream, str) else sources)
        streams = tuple(Stream(name, rate) for name in names)
        operators: list[Operator] = []
        roots: list[Query] = []
        for index, (chain, source) in enumerate(zip(chains, sources, strict=True), start=1):
            pairs = listed(chain, f"the operators of query 'q{index}'")
            if not pairs:
                raise NetworkError(f"query 'q{index}' is empty: it has no operators")
            below = source
            for place, pair in enumerate(pairs, start=1):
                name = f"q{index}.o{place}"
                cost, selectivity = _pair(pair, name)
                more = checked(selectivity, f"the selectivity of operator {name!r}") > 1
                kind: Kind = "lookup" if more else "select"
                operators.append(Operator(name, (below,), cost, selectivity, kind))
                below = name
            roots.append(Query(f"q{index}", below))
        return cls(streams, tuple(operators), tuple(roots))

    def register(
        self, query: str, root: str, operators: Iterable[Operator] = (), streams: Iterable[Stream] = ()
    ) -> Self:
        """Return the network with one more query; operators that already exist are shared.

        An operator with an expression already exists if another computes the same from the same inputs, under
        any name; the measures of the existing one are kept. Without an expression, operators of one name must be
        equal.
        """
        new = listed(operators, "the new operators")
        check_types(new, Operator)
        check_unique([operator.name for operator in new], "operator")
        names: dict[str, str] = {}
        known = {op.identity: op.name for op in self.operators if op.expression}
        added: list[Operator] = []
        for operator in bottom_up(new):
            moved = replace(operator, inputs=tuple(names.get(source, source) for source in operator.inputs))
            names[operator.name] = known.get(moved.identity, operator.name)
            if names[operator.name] == operator.name:
                added.append(moved)
        new_streams = listed(streams, "the new streams")
        check_types(new_streams, Stream)
        return type(self)(
            merged_streams(self.streams, new_streams),
            merged_operators(self.operators, added),
            (*self.queries, Query(query, names.get(root, root))),
        )

    def unregister(self, query: str) -> Self:
        """Return the network without `query` and without the operators that only it used."""
        gone = self.query(query)
        kept = tuple(op for op in self.operators if self.users[op.name] != (gone.name,))
        return type(self)(self.streams, kept, tuple(other for other in self.queries if other != gone))

    def measured(
        self,
        *,
        costs: Mapping[str, Number | tuple[Number, ...]] | None = None,
        selectivities: Mapping[str, Number] | None = None,
        rates: Mapping[str, Number] | None = None,
        ideals: Mapping[str, Number] | None = None,
    ) -> Self:
        """Return the same network with new measures, by name.

        >>> net = Network.chains([[(5.0, 1.0)]]).measured(selectivities={"q1.o1": 0.5})
        >>> net.S(net.paths[0])
        0.5
        """
        costs, selectivities, rates, ideals = costs or {}, selectivities or {}, rates or {}, ideals or {}
        for given in (costs, selectivities, rates, ideals):
            if not isinstance(given, Mapping):
                raise NetworkError(f"measures must be a mapping from name to number, not {given!r}")
        for name in (*costs, *selectivities):
            self.operator(name)
        for name in rates:
            self.stream(name)
        for name in ideals:
            self.query(name)
        streams = (replace(s, rate=rates[s.name]) if s.name in rates else s for s in self.streams)
        operators = (
            replace(
                op,
                cost=costs.get(op.name, op.cost),
                selectivity=selectivities.get(op.name, op.selectivity),
                derived=op.derived and op.name not in selectivities,
            )
            if op.name in costs or op.name in selectivities
            else op
            for op in self.operators
        )
        queries = (replace(q, ideal=ideals[q.name]) if q.name in ideals else q for q in self.queries)
        return self.with_parts(streams, operators, queries)

    def weighed(self, weights: Mapping[str, Number], greatest: Mapping[str, Number] | None = None) -> Self:
        """Return the same network with these weights of queries; the default is 1.

        `greatest` is for queries that stand for a group: see `Query`.

        >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]]).weighed({"q2": 5})
        >>> [query.weight for query in net.queries]
        [1, 5]
        """
        if not isinstance(weights, Mapping):
            raise NetworkError(f"weights must be a mapping from query to number, not {weights!r}")
        for name in weights:
            self.query(name)
        most = greatest or {}
        queries = tuple(
            replace(query, weight=weights.get(query.name, 1), greatest=most.get(query.name))
            for query in self.queries
        )
        if queries == self.queries:
            return self
        other = self.with_parts(self.streams, self.operators, queries)
        other.__dict__.update({name: self.__dict__[name] for name in UNWEIGHED if name in self.__dict__})
        return other

    def exact(self) -> Self:
        """Return the same network in fractions: 0.2 becomes one fifth, and sums have no rounding errors.

        Derived selectivities become given ones.
        """
        streams = (
            replace(s, size=exact(s.size), rate=None if s.rate is None else exact(s.rate)) for s in self.streams
        )
        operators = (
            replace(
                op,
                cost=tuple(map(exact, op.cost)) if isinstance(op.cost, tuple) else exact(op.cost),
                selectivity=exact(op.selectivity),
                derived=False,
                size=None if op.size is None else exact(op.size),
                windows=tuple(Window(window.kind, exact(window.size)) for window in op.windows),
            )
            for op in self.operators
        )
        queries = (
            replace(
                query,
                ideal=query.ideal and exact(query.ideal),
                weight=exact(query.weight),
                greatest=None if query.greatest is None else exact(query.greatest),
            )
            for query in self.queries
        )
        return self.with_parts(streams, operators, queries)

    # Rates and sizes ----------------------------------------------------------------------------------------

    @cached_property
    def rates(self) -> Rates:
        """Tuples per second out of every stream and operator; None where a stream's rate is unknown."""
        return output_rates(self)

    @cached_property
    def fanout(self) -> Mapping[Edge, Number]:
        """For every queue, the output tuples of its operator per waiting tuple."""
        return fanouts(self, self.rates)

    @cached_property
    def costs(self) -> Mapping[Edge, Number]:
        """For every queue, the time of its operator per tuple of the input; for a close, in all its windows."""
        costs = {edge: self.operator_by_name[edge.target].costs[edge.port] for edge in self.edges}
        for name, panes in self.panes.items():
            for reader in panes.readers:
                costs[Edge(name, reader, 0)] *= panes.merges(reader)
        return costs

    @property
    def load(self) -> Number | None:
        """The share of one processor that the arrivals need: Σ rate × cost over all queues; None without rates.

        >>> Network.chains([[(0.2, 0.5), (0.1, 1)]], rate=4).load
        1.0
        """
        total: Number = 0
        for edge in self.edges:
            rate = self.rates[edge.source]
            if rate is None:
                return None
            total += rate * self.costs[edge]
        return total

    @cached_property
    def sizes(self) -> Mapping[str, Number]:
        """The size of a tuple out of every stream and operator."""
        sizes: dict[str, Number] = {stream.name: stream.size for stream in self.streams}
        for operator in self.operators:
            given = operator.size
            sizes[operator.name] = self._input_size(operator, sizes) if given is None else given
        return sizes

    def input_size(self, operator: str) -> Number:
        """Return the average size of an input tuple, weighted by the inputs' rates where known (JC03 2.1)."""
        return self._input_size(self.operator(operator), self.sizes)

    def _input_size(self, operator: Operator, sizes: Mapping[str, Number]) -> Number:
        if len(operator.inputs) == 1:
            return sizes[operator.inputs[0]]
        rates = [self.rates[source] for source in operator.inputs]
        known = [rate for rate in rates if rate is not None]
        weights = known if len(known) == len(rates) and sum(known) > 0 else [1] * len(rates)
        weighted = [weight * sizes[source] for weight, source in zip(weights, operator.inputs, strict=True)]
        return sum(weighted) / sum(weights)

    # Aggregates over windows --------------------------------------------------------------------------------

    @cached_property
    def panes(self) -> Mapping[str, Panes]:
        """The panes of every aggregate whose windows are known."""
        return all_panes(self.operators, self.queries)

    @cached_property
    def window_work(self) -> Mapping[Edge, WindowWork]:
        """For every queue of closed windows, the partial rows that a window and a slide have."""
        return all_window_work(self.streams, self.operators, self.rates, self.panes) if self.panes else {}

    @cached_property
    def items(self) -> Mapping[Edge, Number]:
        """For every queue of closed windows, the partial rows that a window stands for: those of a slide."""
        return {edge: work.per_slide for edge, work in self.window_work.items()}

    # SCLP08 §2 and §5 ---------------------------------------------------------------------------------------

    @cached_property
    def onward(self) -> Mapping[Path, Onward]:
        """S, C and the ideal time of every path from a queue to a root, for one item of that queue."""
        found: dict[Path, Onward] = {}
        for edge in reversed(self.edges):
            cost, made = self.costs[edge], self.fanout[edge]
            alone = self._alone(edge)
            for path in self.suffixes[edge]:
                rest = found[Path(path.query, path.edges[1:])] if len(path.edges) > 1 else Onward(1, 0, 0)
                found[path] = Onward(made * rest.S, cost + made * rest.C, alone + rest.ideal)
        for edge, items in self.items.items():
            for path in self.suffixes[edge]:
                S, C, ideal = found[path]
                found[path] = Onward(items * S, items * C, ideal)
        return found

    def _alone(self, edge: Edge) -> Number:
        """Return the time of an operator for one item of its queue: a tuple, or a window with its partial rows."""
        operator, work = self.operator_by_name[edge.target], self.window_work.get(edge)
        return operator.costs[edge.port] * (1 if work is None else work.rows)

    def S(self, path: Path) -> Number:
        """Return the global selectivity: results for one tuple at the path's first queue."""
        return self._own(path).S

    def C(self, path: Path) -> Number:
        """Return the global average cost: expected time to take one tuple from the first queue to the root."""
        return self._own(path).C

    def _own(self, path: Path) -> Onward:
        if not isinstance(path, Path) or path not in self.onward:
            raise NetworkError(f"{path!s} is not a path of this network; net.paths lists its paths")
        return self.onward[path]

    def T(self, query: str) -> Number:
        """Return the ideal processing time of a result: measured, or each operator once, joins once per input.

        That of an aggregate begins when its window ends: what was done before is not counted.
        """
        found = self.query(query)
        return self.ideal_times[found.root] if found.ideal is None else found.ideal

    @cached_property
    def ideal_times(self) -> Mapping[str, Number]:
        """Time to make one tuple at each stream (0) and operator, if it ran alone: C_L + C_R + 2 C_J + …"""
        ideal: dict[str, Number] = {stream.name: 0 for stream in self.streams}
        for operator in self.operators:
            below = sum(ideal[source] for source in operator.inputs)
            ideal[operator.name] = below + sum(operator.costs)
            if operator.series is not None:
                ideal[operator.name] = self._alone(*self.in_edges[operator.name])
        return ideal

    def shared_set(self, paths: Iterable[Path] = ()) -> SharedSet:
        """Return `paths` as a set that is executed as one, with shared operators counted once (SCLP08 §7)."""
        taken = SharedSet(self.fanout, self.costs, self.items)
        for path in paths:
            taken.add(path)
        return taken

    def time(self, path: Path, start: int = 0, stop: int | None = None) -> Number:
        """Return the expected time of one item in operators `start` up to `stop` of the path: c + s c' + …"""
        total: Number = 0
        edges = path.edges[start:stop]
        made = self.items.get(edges[0], 1) if edges else 1
        for edge in edges:
            total += made * self.costs[edge]
            made *= self.fanout[edge]
        return total

    # JC03 §2 and §3 -----------------------------------------------------------------------------------------

    def capacity(self, path: Path) -> Number:
        """Return the path's processing capacity: tuples it can consume per unit time, JC03 (2.2)."""
        return 1 / self.C(path)

    def path_release(self, path: Path) -> Number:
        """Return the path's memory release capacity, JC03 (2.3)."""
        return self.capacity(path) * self.sizes[path.source]

    def released(self, path: Path, start: int = 0, stop: int | None = None) -> Number:
        """Return the memory one item frees by passing operators `start` up to `stop` of the path.

        The root's output leaves at once, so a tuple that passes the root frees all of it (JC03 3.2, assumption 1).
        """
        self._own(path)
        edges = path.edges[start:stop]
        made = self.items.get(edges[0], 1)
        entering = made * self.input_size(edges[0].target)
        if edges[-1] == path.edges[-1]:
            return entering
        for edge in edges:
            made *= self.fanout[edge]
        return entering - made * self.sizes[edges[-1].target]

    def releases(self, path: Path) -> tuple[Number, ...]:
        """Return the memory release capacity of each operator of the path, JC03 (2.1)."""
        return tuple(
            self.released(path, i, i + 1) / (self.items.get(edge, 1) * self.costs[edge])
            for i, edge in enumerate(path.edges)
        )

    def segments(self) -> tuple[Segment, ...]:
        """Return JC03's segments over all paths: consecutive operators of non-decreasing release, pruned."""
        return self._segments(rising_runs)

    def simplified_segments(self, gamma: Number = SIMILAR) -> tuple[Segment, ...]:
        """Return at most two segments per path: the leaf with similar ones, then the rest (JC03 §3.3), pruned."""
        return self._segments(lambda releases: first_run_and_rest(releases, gamma))

    def _segments(self, cut: Callable[[Sequence[Number]], list[tuple[int, int]]]) -> tuple[Segment, ...]:
        candidates = (
            Segment(path, start, stop, self.released(path, start, stop), self.time(path, start, stop))
            for path in self.paths
            for start, stop in cut(self.releases(path))
        )
        place = {operator.name: index for index, operator in enumerate(self.operators)}
        return tuple(sorted(pruned(candidates), key=lambda segment: [place[name] for name in segment.operators]))

    # BBDM03 §3 ----------------------------------------------------------------------------------------------

    def chart(self, path: Path) -> ProgressChart:
        """Return the path's progress chart: time spent on one tuple against the memory left of it."""
        self._own(path)
        points: list[tuple[Number, Number]] = [(0, self.sizes[path.source])]
        time: Number = 0
        made: Number = 1
        for edge in path.edges:
            time += made * self.costs[edge]
            made *= self.fanout[edge]
            points.append((time, made * self.sizes[edge.target]))
        points[-1] = (time, 0)
        return ProgressChart(tuple(points))

    def envelope(self, path: Path) -> tuple[EnvelopeSegment, ...]:
        """Return the segments of the lower envelope of the path's progress chart."""
        return self.chart(path).envelope()

    @cached_property
    def envelope_segment_at(self) -> Mapping[Path, EnvelopeSegment]:
        """The envelope segment of the first operator of every path from a queue; the steepest, if on several."""
        found: dict[Path, EnvelopeSegment] = {}
        for path in self.paths:
            for segment in self.envelope(path):
                for place in range(segment.start, segment.stop):
                    rest = Path(path.query, path.edges[place:])
                    if rest not in found or segment.slope > found[rest].slope:
                        found[rest] = segment
        return found


def _pair(pair: object, name: str) -> tuple[Number, Number]:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise NetworkError(f"operator {name!r} must be given as (cost, selectivity), not {pair!r}")
    return pair[0], pair[1]
