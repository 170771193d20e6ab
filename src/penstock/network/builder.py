"""`NetworkBuilder`: builds a network from streams, operators, joins and queries, by name."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.errors import NetworkError
from penstock.network.aggregates import merged, windowed_aggregate
from penstock.network.checks import check_inputs, check_root
from penstock.network.network import Network
from penstock.network.numbers import Number
from penstock.network.operator import Kind, Operator, Query, SlidingWindow, Stream, Window, listed


class NetworkBuilder:
    """Collects the parts of a network. A call that raises adds nothing.

    Operators are added from the leaves up. One that is an input twice, or is used in two queries, is shared.

    >>> build = NetworkBuilder()
    >>> build.stream("left", rate=10), build.stream("right", rate=20)
    ('left', 'right')
    >>> cheap = build.operator("cheap", "left", cost=1, selectivity=0.5)
    >>> meet = build.join("meet", [cheap, "right"], cost=2, selectivity=0.1, windows=[Window("range", 3)] * 2)
    >>> build.query("q", meet)
    >>> net = build.build()
    >>> [float(net.S(path)) for path in net.paths]
    [3.0, 1.5]
    """

    def __init__(self, network: Network | None = None) -> None:
        start = network or Network()
        self._streams = {stream.name: stream for stream in start.streams}
        self._operators = {operator.name: operator for operator in start.operators}
        self._queries = {query.name: query for query in start.queries}
        self._names = {*self._streams, *self._operators}
        self._same = {op.identity: op.name for op in start.operators}

    def stream(self, name: str, rate: Number | None = None, size: Number = 1) -> str:
        """Add a stream and return its name."""
        stream = Stream(name, rate, size)
        self._check_new(name)
        self._names.add(name)
        self._streams[name] = stream
        return name

    def operator(
        self,
        name: str,
        source: str,
        *,
        cost: Number,
        selectivity: Number = 1,
        kind: Kind = "select",
        size: Number | None = None,
        expression: str = "",
    ) -> str:
        """Add an operator with one input and return its name.

        If there is already an operator with the same `expression` over the same input, its name is returned.
        """
        return self._add(Operator(name, (source,), cost, selectivity, kind, size, (), expression))

    def join(
        self,
        name: str,
        sources: Sequence[str],
        *,
        cost: Number | tuple[Number, ...],
        selectivity: Number = 1,
        windows: Iterable[Window] = (),
        size: Number | None = None,
        expression: str = "",
    ) -> str:
        """Add a join and return its name.

        With windows (one for each input), `selectivity` is that of the predicate; without, it is the number of
        outputs per input tuple of any side. The `cost` may differ by input.
        """
        inputs = listed(sources, f"the inputs of operator {name!r}")
        held = listed(windows, f"the windows of operator {name!r}")
        return self._add(Operator(name, inputs, cost, selectivity, "join", size, held, expression))

    def aggregate(
        self,
        name: str,
        source: str,
        *,
        cost: Number,
        window: SlidingWindow,
        close_cost: Number,
        groups: int = 1,
        by: str = "",
        having: Number = 1,
        size: Number | None = None,
        result_size: Number | None = None,
    ) -> str:
        """Add an aggregate over windows and return its name, which is that of the operator that makes its results.

        `cost` is per tuple, `close_cost` per partial row of a window when it closes. `groups` is the number of
        distinct keys. Aggregates of one source and kind of window with the same `by` and `groups` share their
        partial rows, which have this `size`. `having` is the share of results that pass a selection above, which
        costs as much as a partial row.

        >>> build = NetworkBuilder()
        >>> packets = build.stream("packets", rate=100)
        >>> window = SlidingWindow("range", 10, slide=2)
        >>> root = build.aggregate("talkers", packets, cost=1e-4, window=window, close_cost=1e-5, groups=50)
        >>> build.query("q", root)
        >>> [(each.name, round(float(each.selectivity), 4)) for each in build.build().operators]
        [('talkers.partial', 0.2454), ('talkers', 1.0187)]
        """
        partial, close, select = windowed_aggregate(
            name, source, cost=cost, window=window, groups=groups, by=by, close_cost=close_cost, having=having,
            size=size, result_size=result_size,
        )  # fmt: skip
        known = self._operators.get(self._same.get(partial.identity, ""))
        below = merged(partial, known, name)
        new = [partial] if below is partial else []
        new += [replace(close, inputs=(below.name,)), *([select] if select else [])]
        for operator in new:
            self._check_new(operator.name)
        check_inputs(partial, self._names)
        for operator in new:
            self._add(operator)
        return new[-1].name

    def query(self, name: str, root: str) -> None:
        """Register a query whose result is the output of `root`."""
        query = Query(name, root)
        if name in self._queries:
            raise NetworkError(f"more than one query is named {name!r}")
        check_root(query, self._operators, self._names)
        self._queries[name] = query

    def build(self) -> Network:
        """Return the network; more parts can be added afterwards."""
        return Network(
            tuple(self._streams.values()), tuple(self._operators.values()), tuple(self._queries.values())
        )

    def _add(self, operator: Operator) -> str:
        if operator.expression and operator.identity in self._same:
            return self._same[operator.identity]
        self._check_new(operator.name)
        check_inputs(operator, self._names)
        self._names.add(operator.name)
        self._same[operator.identity] = operator.name
        self._operators[operator.name] = operator
        return operator.name

    def _check_new(self, name: str) -> None:
        if name in self._names:
            raise NetworkError(f"more than one stream or operator is named {name!r}")
