"""`Plan`: the queries of a script as one network of shared operators, and what each operator does."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.language.script import Script
from penstock.language.statements import QueryDef
from penstock.language.steps import Columns, Join, Lookup, Project, Select, Step
from penstock.language.translate import Steps, steps_of
from penstock.network import Edge, Network, Operator, Query, Stream, Window

# What is assumed of an operator until it was measured: seconds per row, rows out per row in.
COSTS = {"select": 1e-6, "lookup": 3e-6, "project": 1e-6, "join": 10e-6}
SELECTIVITIES = {"select": 0.3, "lookup": 1.0, "project": 1.0}
FANOUT = 1.0
"""Results a row finds in the windows of a join, until it was measured."""
RATE = 1000.0
"""Rows per second of a stream whose rate is not declared."""
_LEAST = 1e-9


@dataclass(frozen=True)
class Plan:
    """A network whose operators can be executed. Queries come and go; operators that are equal are one.

    >>> script = Script.parse('''
    ...     CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 10);
    ...     CREATE QUERY q AS SELECT a FROM s WHERE b > 3;
    ...     CREATE QUERY r AS SELECT b FROM s WHERE b > 3;
    ... ''')
    >>> plan = Plan.of(script)
    >>> [(op.name, op.inputs) for op in plan.network.operators]
    [('select.1', ('s',)), ('project.2', ('select.1',)), ('project.3', ('select.1',))]
    >>> plan.steps["select.1"].sql
    '(`b` > 3)'
    """

    network: Network = field(default_factory=Network)
    steps: Mapping[str, Step] = field(default_factory=dict)
    queries: Mapping[str, QueryDef] = field(default_factory=dict)
    used: int = 0
    """Numbers given to operators so far; none is given twice."""

    @classmethod
    def of(cls, script: Script) -> "Plan":
        """Return the plan of all queries of a script."""
        adding = _Adding(cls())
        roots = [Query(query.name, adding.add(query, steps_of(query))) for query in script.queries.values()]
        network = Network(adding.streams, tuple(adding.operators), tuple(roots))
        return cls(network, adding.steps, dict(script.queries), len(adding.operators))

    def with_query(self, query: QueryDef, starts: Mapping[str, int] | None = None) -> "Plan":
        """Return the plan with one more query, which sees rows from `starts` on, by stream."""
        return self._with_steps(query, steps_of(query, starts))

    def _with_steps(self, query: QueryDef, steps: Steps) -> "Plan":
        adding = _Adding(self)
        root = adding.add(query, steps)
        return Plan(
            network=self.network.register(query.name, root, adding.operators, adding.streams),
            steps={**self.steps, **adding.steps},
            queries={**self.queries, query.name: query},
            used=self.used + len(adding.operators),
        )

    def without_query(self, name: str) -> "Plan":
        """Return the plan without a query and what only it used."""
        network = self.network.unregister(name)
        names = {operator.name for operator in network.operators}
        return Plan(
            network=network,
            steps={each: step for each, step in self.steps.items() if each in names},
            queries={each: query for each, query in self.queries.items() if each != name},
            used=self.used,
        )

    def with_ending(
        self, name: str, starts: Mapping[str, int], ends: Mapping[str, int]
    ) -> tuple["Plan", Mapping[Edge, Edge]]:
        """Return the plan in which a query sees no rows from `ends` on, and which queues took over which.

        To its windows the streams end there, which changes what a row window holds. So its join becomes its own,
        and what waits for the join it left, and behind that, waits for the new one too.
        """
        query = self.queries[name]
        after = self._with_steps(replace(query, name=f"{name} (ending)"), steps_of(query, starts, ends))
        root = after.network.query(f"{name} (ending)").root
        moved: dict[Edge, Edge] = {}
        pending = [(self.network.query(name).root, root)]
        while pending:
            old, new = pending.pop()
            if old == new:
                continue
            below = zip(after.network.operator(old).inputs, after.network.operator(new).inputs, strict=True)
            for port, (source, other) in enumerate(below):
                moved[Edge(source, old, port)] = Edge(other, new, port)
                pending.append((source, other))
        network = after.network.unregister(name)
        *others, _ = network.queries
        network = Network(network.streams, network.operators, (*others, Query(name, root)))
        names = {operator.name for operator in network.operators}
        steps = {each: step for each, step in after.steps.items() if each in names}
        return Plan(network, steps, self.queries, after.used), moved

    def measured(self, network: Network) -> "Plan":
        """Return the plan with the same network, newly measured."""
        return replace(self, network=network)

    def type_of(self, node: str, column: str) -> str:
        """Return Spark's type of a column that a stream or an operator below the results sends on."""
        step = self.steps.get(node)
        if step is None:
            relations = (item.relation for query in self.queries.values() for item in query.items)
            found = next(each.column(column) for each in relations if each.name == node)
            assert found is not None
            return found.type.name
        if isinstance(step, Lookup) and column in step.makes:
            found = step.table.column(step.makes[column])
            assert found is not None
            return found.type.name
        inputs = self.network.operator(node).inputs
        if isinstance(step, Join):
            port, _, rest = column.removeprefix("__p").partition("_")
            return self.type_of(inputs[int(port)], rest)
        return self.type_of(inputs[0], column)

    def wanted(self) -> dict[Edge, Columns]:
        """Return for every queue the columns that its operator, and what follows it, will read of its rows.

        Everything else can be left behind before it: projections are pushed down to the logs.
        """
        found: dict[Edge, Columns] = {}
        for operator in reversed(self.network.operators):
            out = self.network.out_edges.get(operator.name, ())
            after: Columns = frozenset().union(*(found[edge] for edge in out))
            needed = self.steps[operator.name].reads(after)
            found.update(zip(self.network.in_edges[operator.name], needed, strict=True))
        return found


class _Adding:
    """Queries on their way into a plan."""

    def __init__(self, plan: Plan) -> None:
        self.operators: list[Operator] = []
        self.steps: dict[str, Step] = {}
        self._rates: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._known = {_meaning(op): op.name for op in plan.network.operators}
        self._used = plan.used
        self._selectivity = {op.name: op.selectivity for op in plan.network.operators}

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams that the queries read."""
        return tuple(Stream(name, rate, self._sizes[name]) for name, rate in self._rates.items())

    def add(self, query: QueryDef, steps: Steps) -> str:
        """Add the operators of a query that are not there yet, and return the one that makes its result."""
        for item in query.streams:
            self._rates[item.relation.name] = float(item.relation.options.get("rate", RATE))
            self._sizes[item.relation.name] = item.relation.row_bytes
        tops: list[str] = []
        paths: list[tuple[str, ...]] = []
        shares: list[float] = []
        for stream, chain in zip(steps.streams, steps.chains, strict=True):
            path = list(self._in_a_row(stream, chain))
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
        for name in self._in_a_row(top, steps.tail):
            top = name
        return top

    def _in_a_row(self, below: str, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps:
            assert isinstance(step, Select | Lookup | Project)
            kind = type(step).__name__.lower()
            below = self._intern(
                Operator(
                    self._name(kind),
                    (below,),
                    COSTS[kind],
                    SELECTIVITIES[kind],
                    kind=kind,  # type: ignore[arg-type]
                    expression=step.sql,
                ),
                step,
            )
            yield below

    def _join(self, step: Join, tops: list[str], shares: list[float]) -> str:
        """Add a join. A network counts a row window in rows that reach the join, a script before WHERE."""
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
        name = self._known.setdefault(_meaning(operator), operator.name)
        if name == operator.name:
            self.operators.append(operator)
            self.steps[name] = step
            self._selectivity[name] = operator.selectivity
        return name


def _meaning(operator: Operator) -> tuple[object, ...]:
    """Return what makes it the same as another; a join's sizes of windows change as selectivities are measured."""
    return operator.kind, operator.inputs, operator.expression
