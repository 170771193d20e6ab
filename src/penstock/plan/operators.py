"""Operators of a plan: made from the steps of queries, with assumed costs and selectivities."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import gcd

from penstock.language.statements import QueryDef, Relation, StreamDef
from penstock.network import Network, Operator, Stream, Window
from penstock.plan.aggregate_steps import CONSTANTS_PREFIX
from penstock.plan.panes import panes_fit
from penstock.plan.steps import Aggregate, Join, Lookup, Order, Step
from penstock.plan.translate import Steps

# Assumptions about an operator until it is measured: seconds per row, rows out per row in.
COSTS = {
    "select": 1e-6,
    "lookup": 3e-6,
    "project": 1e-6,
    "join": 10e-6,
    "aggregate": 2e-6,
    "close": 2e-6,
    "order": 1e-6,
}
SELECTIVITIES = {"select": 0.3, "lookup": 1.0, "project": 1.0, "aggregate": 0.01, "close": 1.0}
FANOUT = 1.0
"""Results per row of a join, until it is measured."""
RATE = 1000.0
"""Rows per second of a stream whose rate is not declared."""
_LEAST = 1e-9


class OperatorBuilder:
    """Makes the operators of queries; operators that are equal to one of the network are not made again.

    `used` is how many numbers were already assigned to operators and groups.
    """

    def __init__(self, network: Network, used: int = 0, steps: Mapping[str, Step] | None = None) -> None:
        self.operators: list[Operator] = []
        self.steps: dict[str, Step] = {}
        """The steps of new operators, and of operators that changed: partial aggregates, for one more reader."""
        self._before = steps or {}
        self._rates: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._known = {_identity(op): op.name for op in network.operators}
        self._used = used
        self._members = 1
        self._selectivity = {op.name: op.selectivity for op in network.operators}

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that the queries read."""
        return tuple(Stream(name, self._rates[name], size) for name, size in self._sizes.items())

    def add(self, query: QueryDef, steps: Steps, members: int = 1) -> str:
        """Add the operators of a query that do not exist yet, and return its root."""
        self._members = members
        for item in query.streams:
            self._add_stream(item.relation)
        tops: list[str] = []
        paths: list[tuple[str, ...]] = []
        shares: list[float] = []
        for stream, chain in zip(steps.streams, steps.chains, strict=True):
            path = list(self._chain(stream, chain))
            tops.append(path[-1] if path else stream)
            paths.append(tuple(path))
            share = 1.0
            for name in path:
                share *= float(self._selectivity[name])
            shares.append(max(share, _LEAST))
        top = tops[0]
        if steps.join is not None:
            ports = tuple(replace(port, path=path) for port, path in zip(steps.join.ports, paths, strict=True))
            top = self._join(replace(steps.join, ports=ports), tops, shares)
        for name in self._chain(top, steps.tail):
            top = name
        return top

    def derive(self, stream: StreamDef, branches: Iterable[Steps]) -> None:
        """Add a derived stream and its branches, if it does not exist yet."""
        if stream.name in self._selectivity:
            return
        roots = tuple(self.add(query, steps) for query, steps in zip(stream.branches, branches, strict=True))
        names = tuple(tuple(output.name for output in query.outputs) for query in stream.branches)
        step = Order(stream.name, stream.columns, names)
        cost, size = COSTS["order"], stream.row_bytes
        self._intern(Operator(stream.name, roots, cost, kind="order", size=size, expression=step.sql), step)

    def _add_stream(self, relation: Relation) -> None:
        """Add a stream that a query reads; a derived one is an operator already."""
        self._rates[relation.name] = float(relation.options.get("rate", RATE))
        if relation.name not in self._selectivity:
            self._sizes[relation.name] = relation.row_bytes

    def _chain(self, below: str, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps:
            assert not isinstance(step, Join)
            if isinstance(step, Aggregate):
                below = self._aggregate(below, step)
                yield below
                continue
            kind = type(step).__name__.lower()
            constants = isinstance(step, Lookup) and step.table.is_constants and step.prefix != CONSTANTS_PREFIX
            below = self._intern(
                Operator(
                    self._name(kind),
                    (below,),
                    COSTS[kind],
                    SELECTIVITIES["select"] * self._members if constants else SELECTIVITIES[kind],
                    kind=kind,  # type: ignore[arg-type]
                    expression=step.sql,
                ),
                step,
            )
            yield below

    def _aggregate(self, below: str, step: Aggregate) -> str:
        """Add partial aggregates, or share those of other queries if the panes of both are of similar sizes."""
        while True:
            made = Operator(
                self._name("aggregate"),
                (below,),
                COSTS["aggregate"],
                SELECTIVITIES["aggregate"],
                kind="aggregate",
                expression=step.sql,
            )
            name = self._intern(made, step)
            known = self.steps.get(name) or self._before[name]
            assert isinstance(known, Aggregate)
            if panes_fit(known.pane, step.pane):
                pane = gcd(known.pane, step.pane)
                calls = {call.sql: call for call in (*known.calls, *step.calls)}
                self.steps[name] = replace(known, pane=pane, calls=tuple(calls[sql] for sql in sorted(calls)))
                return name
            step = replace(step, apart=step.apart + 1)

    def _join(self, step: Join, tops: list[str], shares: list[float]) -> str:
        """Add a join. A row window counts rows at the join in a network, but rows before WHERE in a script."""
        windows, held = [], 1.0
        for port, share in zip(step.ports, shares, strict=True):
            rate = self._rates[port.stream]
            if port.window.kind == "rows":
                size = port.window.size * share
                held *= size
            else:
                size = max(port.window.size, 1) / 1e6
                held *= size * rate * share
            windows.append(Window(port.window.kind, max(size, _LEAST)))
        mean_others = held ** ((len(windows) - 1) / len(windows))
        operator = Operator(
            self._name("join"),
            tuple(tops),
            COSTS["join"],
            min(1.0, FANOUT / max(mean_others, 1.0)),
            kind="join",
            windows=tuple(windows),
            expression=step.sql,
        )
        return self._intern(operator, step)

    def _name(self, kind: str) -> str:
        return f"{kind}.{self._used + len(self.operators) + 1}"

    def _intern(self, operator: Operator, step: Step) -> str:
        name = self._known.setdefault(_identity(operator), operator.name)
        if name == operator.name:
            self.operators.append(operator)
            self.steps[name] = step
            self._selectivity[name] = operator.selectivity
        return name


def _identity(operator: Operator) -> tuple[object, ...]:
    """Return the key of equal operators, without window sizes, which change as selectivities are measured."""
    return operator.kind, operator.inputs, operator.expression
