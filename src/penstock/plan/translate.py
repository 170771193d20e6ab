"""Translation of a query to steps, with conditions pushed down; equal steps have equal SQL.

A condition on the columns of one stream becomes a selection below the join. This is always valid: windows count
rows before the selection, which the probe of the log takes into account. A stored table is also looked up below
the join if one stream (and tables before it) suffice to find its rows. The remaining conditions belong to the
join.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from penstock.language.statements import Aggregation, FromItem, QueryDef, TableDef, WindowDef
from penstock.plan.aggregate_steps import Constants, aggregate_steps, trees_of, variants_table
from penstock.plan.conditions import Rename, condition_of, ordered, places_in
from penstock.plan.may_fail import may_fail
from penstock.plan.steps import Bound, Join, Lookup, Port, Project, Select, Step


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
    query: QueryDef,
    starts: Mapping[str, int] | None = None,
    ends: Mapping[str, int] | None = None,
    first_window: int | None = None,
) -> Steps:
    """Return the steps of a query. It and its windows see rows from `starts` on and before `ends`, by stream.

    The aggregates of a derived stream begin with `first_window`.
    """
    return _Translation(query, starts or {}, ends or {}, first_window).steps()


class _Translation:
    def __init__(
        self, query: QueryDef, starts: Mapping[str, int], ends: Mapping[str, int], first_window: int | None
    ) -> None:
        self.query = query
        self.first_window = first_window
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
            if place != self.constants or self._table_at(place) is not None:
                self._look_up(tail_chain, place)
        left = self._take(lambda places: True)
        self._select(tail_chain, left)
        tail: list[Step] = [*tail_chain.steps[len(head) :]]
        if self.query.aggregation is not None:
            tail += self._aggregated(tail_chain, self.query.aggregation)
        tail.append(self._project(tail_chain))
        return Steps(
            streams=tuple(self.query.items[chain.place].relation.name for chain in self.chains),
            chains=(tuple(head),) if join is None else tuple(tuple(chain.steps) for chain in self.chains),
            join=join,
            tail=tuple(tail),
        )

    def _table_at(self, place: int) -> TableDef | None:
        """Return the table with which rows are joined; None if rows meet no constants of a group."""
        table = self.query.items[place].relation
        assert isinstance(table, TableDef)
        aggregation = self.query.aggregation
        if place != self.constants or aggregation is None:
            return table
        return variants_table(table, [*self.query.conditions, *trees_of(aggregation)], place)

    def _aggregated(self, chain: StreamSteps, aggregation: Aggregation) -> tuple[Step, ...]:
        """Return the steps of an aggregation; from there on, the columns are those of groups."""
        [item] = self.query.streams
        constants = None
        if self.constants is not None:
            relation = self.query.items[self.constants].relation
            assert isinstance(relation, TableDef)
            constants = Constants(self.constants, relation, self._table_at(self.constants))
        found = aggregate_steps(aggregation, _window(item), chain.names, constants, self.first_window)
        chain.names = dict(found.names)
        return found.steps

    def _take(self, fits: Callable[[frozenset[int]], bool]) -> list[exp.Expression]:
        taken = [condition for condition, places in self.left if fits(places)]
        self.left = [(condition, places) for condition, places in self.left if not fits(places)]
        return taken

    def _select(self, chain: StreamSteps, conditions: Iterable[exp.Expression]) -> None:
        found = ordered(
            condition_of(each, lambda place, name: ("", chain.names[place, name])) for each in conditions
        )
        if found:
            chain.steps.append(Select(found))

    def _look_up_below(self) -> None:
        """Look up each table below the join, with the first stream that suffices; tables may depend on tables."""
        moved = True
        while moved:
            moved = False
            for place in [each for each in self.tables if each != self.constants]:
                if self.query.items[place].outer is not None:
                    chain = self._sufficient_for(place)
                else:
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

    def _sufficient_for(self, place: int) -> StreamSteps | None:
        """Return the first stream whose columns are all that the ON of a LEFT JOIN reads."""
        reads = frozenset().union(*map(places_in, self.query.items[place].outer or ())) - {place}
        return next((chain for chain in self.chains if reads <= chain.reach), None)

    def _look_up(self, chain: StreamSteps, place: int) -> None:
        table = self._table_at(place)
        assert table is not None
        prefix = f"__{len(chain.reach) - 1}_"  # the same in every query that shares what is below
        reach = chain.reach | {place}
        outer = self.query.items[place].outer
        conditions = outer or self._take(lambda places: place in places and places <= reach)

        def rename(where: int, name: str) -> tuple[str, str]:
            return ("t", name) if where == place else ("s", chain.names[where, name])

        found = ordered(
            replace(condition_of(each, rename), bounds=self._bounds(each, rename)) for each in conditions
        )
        found = tuple(
            replace(each, columns=frozenset(name[2:] for name in each.columns if name.startswith("s.")))
            for each in found
        )
        chain.steps.append(Lookup(table, prefix, found, outer=outer is not None))
        chain.names |= {(place, column.name): f"{prefix}{column.name}" for column in table.columns}
        chain.reach.add(place)
        if outer is not None:
            self._select(chain, self._take(lambda places: place in places and places <= reach))

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
            plain = condition_of(tree, rename)
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
        return StreamSteps(-1, names=names, reach=reach), Join(inputs, ordered(conditions))

    def _project(self, chain: StreamSteps) -> Project:
        def rename(place: int, name: str) -> tuple[str, str]:
            return "", chain.names[place, name]

        columns: list[tuple[str, str]] = []
        uses: set[str] = set()
        for output in self.query.outputs:
            made = condition_of(output.expression, rename)
            columns.append((made.sql, output.name))
            uses |= made.columns
        return Project(tuple(columns), frozenset(uses), len(self.chains))


def _window(item: FromItem) -> WindowDef:
    assert item.window is not None
    return item.window


def _as_range(tree: exp.Expression) -> exp.Expression:
    if not isinstance(tree, exp.EQ):
        return tree
    return exp.And(
        this=exp.GTE(this=tree.this.copy(), expression=tree.expression.copy()),
        expression=exp.LTE(this=tree.this.copy(), expression=tree.expression.copy()),
    )
