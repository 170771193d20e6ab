"""Translation of a query to steps, with conditions pushed down; equal steps have equal SQL.

A condition on the columns of one stream becomes a selection below the join. This is always valid: windows count
rows before the selection, which the probe of the log takes into account. A stored table is also looked up below
the join if one stream (and tables before it) suffice to find its rows. The remaining conditions belong to the
join.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from penstock.language.dialect import DIALECT
from penstock.language.statements import FromItem, QueryDef, TableDef, WindowDef
from penstock.plan.may_fail import may_fail
from penstock.plan.steps import Bound, Condition, Join, Lookup, Port, Project, Select, Step

Rename = Callable[[int, str], tuple[str, str]]
"""Maps a place in FROM and a column to its alias in SQL (or an empty string) and its name there."""


@dataclass
class StreamSteps:
    """The steps of one stream before the join, and the names of its columns after them."""

    place: int
    steps: list[Select | Lookup] = field(default_factory=list)
    names: dict[tuple[int, str], str] = field(default_factory=dict)
    reach: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Steps:
    """A query as steps: a chain for each stream, the join (if there are several streams), and the tail."""

    streams: tuple[str, ...]
    chains: tuple[tuple[Select | Lookup, ...], ...]
    join: Join | None
    tail: tuple[Step, ...]


def steps_of(
    query: QueryDef, starts: Mapping[str, int] | None = None, ends: Mapping[str, int] | None = None
) -> Steps:
    """Return the steps of a query. It and its windows see rows from `starts` on and before `ends`, by stream."""
    return _Translation(query, starts or {}, ends or {}).steps()


def places_in(tree: exp.Expression) -> frozenset[int]:
    """Return the places in FROM whose columns an expression reads."""
    return frozenset(int(column.table[1:]) for column in tree.find_all(exp.Column))


class _Translation:
    def __init__(self, query: QueryDef, starts: Mapping[str, int], ends: Mapping[str, int]) -> None:
        self.query = query
        self.starts, self.ends = starts, ends
        self.left = [(condition, places_in(condition)) for condition in query.conditions]
        self.chains = [
            StreamSteps(
                place,
                names={(place, column.name): column.name for column in item.relation.columns},
                reach={place},
            )
            for place, item in enumerate(query.items)
            if item.is_stream
        ]
        self.tables = [place for place, item in enumerate(query.items) if not item.is_stream]
        self._delay_constants()

    def _delay_constants(self) -> None:
        """Join the constants of a group after all other tables, and evaluate conditions that may fail with them.

        Only there is it known which rows other conditions exclude. An equality that may fail is written as two
        comparisons, because Spark evaluates equalities first.
        """
        last = len(self.query.items) - 1
        relation = self.query.items[last].relation
        self.constants = last if isinstance(relation, TableDef) and relation.is_constants else None
        if self.constants is not None:
            self.left = [
                (_as_range(each), places | {last}) if may_fail(each) else (each, places)
                for each, places in self.left
            ]

    def steps(self) -> Steps:
        for chain in self.chains:
            local = self._take(lambda places, chain=chain: places <= chain.reach)  # type: ignore[misc]
            if chain is self.chains[0]:
                local += self._take(lambda places: not places)
            self._select(chain, local)
        self._look_up_below()
        if len(self.chains) == 1:
            tail_chain, join = self.chains[0], None
            head = list(tail_chain.steps)
        else:
            tail_chain, join = self._join()
            head = []
        for place in self.tables:
            self._look_up(tail_chain, place)
        left = self._take(lambda places: True)
        self._select(tail_chain, left)
        tail: list[Step] = [*tail_chain.steps[len(head) :], self._project(tail_chain)]
        return Steps(
            streams=tuple(self.query.items[chain.place].relation.name for chain in self.chains),
            chains=(tuple(head),) if join is None else tuple(tuple(chain.steps) for chain in self.chains),
            join=join,
            tail=tuple(tail),
        )

    def _take(self, fits: Callable[[frozenset[int]], bool]) -> list[exp.Expression]:
        taken = [condition for condition, places in self.left if fits(places)]
        self.left = [(condition, places) for condition, places in self.left if not fits(places)]
        return taken

    def _select(self, chain: StreamSteps, conditions: Iterable[exp.Expression]) -> None:
        found = _sorted(
            _condition(each, lambda place, name: ("", chain.names[place, name])) for each in conditions
        )
        if found:
            chain.steps.append(Select(found))

    def _look_up_below(self) -> None:
        """Look up each table below the join, with the first stream that suffices; tables may depend on tables."""
        moved = True
        while moved:
            moved = False
            for place in [each for each in self.tables if each != self.constants]:
                chain = self._found_by(place, exp.EQ) or self._found_by(place, exp.Expression)
                if chain is not None:
                    self._look_up(chain, place)
                    self.tables.remove(place)
                    moved = True

    def _found_by(self, place: int, kind: type[exp.Expression]) -> StreamSteps | None:
        """Return the first stream that a condition of that kind connects with the table, without other streams."""
        for chain in self.chains:
            for condition, places in self.left:
                linked = place in places and places & chain.reach and places <= chain.reach | {place}
                if linked and isinstance(condition, kind):
                    return chain
        return None

    def _look_up(self, chain: StreamSteps, place: int) -> None:
        table = self.query.items[place].relation
        assert isinstance(table, TableDef)
        prefix = f"__{len(chain.reach) - 1}_"  # the same in every query that shares what is below
        reach = chain.reach | {place}
        conditions = self._take(lambda places: place in places and places <= reach)

        def rename(where: int, name: str) -> tuple[str, str]:
            return ("t", name) if where == place else ("s", chain.names[where, name])

        found = _sorted(
            replace(_condition(each, rename), bounds=self._bounds(each, rename)) for each in conditions
        )
        found = tuple(
            replace(each, columns=frozenset(name[2:] for name in each.columns if name.startswith("s.")))
            for each in found
        )
        chain.steps.append(Lookup(table, prefix, found))
        chain.names |= {(place, column.name): f"{prefix}{column.name}" for column in table.columns}
        chain.reach.add(place)

    def _bounds(self, tree: exp.Expression, rename: Rename) -> tuple[Bound, ...]:
        """Return the constants of a group that a condition sets as limits of a column."""
        if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
            sides = [(tree.this, tree.args["low"], True), (tree.this, tree.args["high"], False)]
        elif isinstance(tree, exp.GT | exp.GTE | exp.LT | exp.LTE):
            rises = isinstance(tree, exp.GT | exp.GTE)
            sides = [(tree.this, tree.expression, rises), (tree.expression, tree.this, not rises)]
        else:
            return ()
        return tuple(
            Bound(rename(int(column.table[1:]), column.name)[1], limit.name, lower)
            for column, limit, lower in sides
            if self._is_exact(column) and self._is_exact(limit)
            if int(column.table[1:]) != self.constants == int(limit.table[1:])
        )

    def _is_exact(self, tree: exp.Expression) -> bool:
        """Return whether it is a numeric column that is compared exactly; a FLOAT rounds the other side."""
        if not isinstance(tree, exp.Column):
            return False
        column = self.query.items[int(tree.table[1:])].relation.column(tree.name)
        return column is not None and column.type.family == "number" and column.type.name != "FLOAT"

    def _join(self) -> tuple[StreamSteps, Join]:
        port_of = {place: port for port, chain in enumerate(self.chains) for place in chain.reach}
        reach = set(port_of)
        names = {
            key: Join.named(port, name)
            for port, chain in enumerate(self.chains)
            for key, name in chain.names.items()
        }

        def rename(place: int, name: str) -> tuple[str, str]:
            port = port_of[place]
            return f"p{port}", self.chains[port].names[place, name]

        def located(column: exp.Column) -> tuple[int, str]:
            alias, name = rename(int(column.table[1:]), column.name)
            return int(alias[1:]), name

        conditions = []
        for tree in self._take(lambda places: places <= reach):
            plain = _condition(tree, rename)
            columns = frozenset(
                Join.named(int(name[1 : name.index(".")]), name[name.index(".") + 1 :]) for name in plain.columns
            )
            ports = frozenset(port_of[place] for place in places_in(tree))
            sides = (tree.this, tree.args.get("expression")) if isinstance(tree, exp.EQ) else ()
            equal = tuple(located(side) for side in sides if isinstance(side, exp.Column))
            conditions.append(
                replace(plain, columns=columns, ports=ports, equal=equal if len(equal) == 2 else None)
            )
        inputs = tuple(
            Port(
                item.relation.name,
                _window(item),
                (),
                self.starts.get(item.relation.name, 0),
                self.ends.get(item.relation.name),
            )
            for item in self.query.streams
        )
        return StreamSteps(-1, names=names, reach=reach), Join(inputs, _sorted(conditions))

    def _project(self, chain: StreamSteps) -> Project:
        def rename(place: int, name: str) -> tuple[str, str]:
            return "", chain.names[place, name]

        columns: list[tuple[str, str]] = []
        uses: set[str] = set()
        for output in self.query.outputs:
            made = _condition(output.expression, rename)
            columns.append((made.sql, output.name))
            uses |= made.columns
        return Project(tuple(columns), frozenset(uses), len(self.chains))


def _window(item: FromItem) -> WindowDef:
    assert item.window is not None
    return item.window


def _sorted(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return distinct conditions in a fixed order, so that equal steps have equal SQL.

    Spark evaluates them in this order, and in ANSI mode a division by zero fails the query: `x <> 0 AND 1 / x >
    2`.
    """
    found = {condition.sql: condition for condition in conditions}.values()
    return tuple(sorted(found, key=lambda condition: (condition.late, condition.sql)))


def _condition(tree: exp.Expression, rename: Rename) -> Condition:
    copy = tree.copy()
    columns: set[str] = set()
    nodes: Sequence[exp.Column] = [copy] if isinstance(copy, exp.Column) else list(copy.find_all(exp.Column))
    for column in nodes:
        alias, name = rename(int(column.table[1:]), column.name)
        column.this.set("this", name)
        column.set("table", exp.to_identifier(alias) if alias else None)
        columns.add(f"{alias}.{name}" if alias else name)
    late = may_fail(copy)
    return Condition(DIALECT.generate(copy, copy=False, comments=False), frozenset(columns), late=late)


def _as_range(tree: exp.Expression) -> exp.Expression:
    if not isinstance(tree, exp.EQ):
        return tree
    return exp.And(
        this=exp.GTE(this=tree.this.copy(), expression=tree.expression.copy()),
        expression=exp.LTE(this=tree.this.copy(), expression=tree.expression.copy()),
    )
