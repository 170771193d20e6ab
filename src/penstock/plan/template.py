"""Query templates: a query with its constants replaced by slots, shared by queries that differ only in constants.

A literal that is compared, calculated with or returned is a *slot*. The template reads every slot from a table of
constants, which is the last in FROM; joined with that table, one plan serves all queries of the template. Types of
literals, lengths of IN-lists, names of results, windows of joins, patterns and intervals are part of the template.
The windows of aggregates are not: each query may have its own.
"""

from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlglot import exp

from penstock.language.dialect import DIALECT
from penstock.language.statements import (
    CONSTANTS,
    AggregateCall,
    Aggregation,
    Column,
    FromItem,
    Output,
    QueryDef,
    TableDef,
    WindowDef,
)
from penstock.language.types import ColumnType
from penstock.plan.aggregate_steps import trees_of
from penstock.plan.conditions import places_in
from penstock.plan.may_fail import may_fail
from penstock.plan.steps import MEMBER

Value = int | float | str | Decimal | WindowDef
"""A constant; the last one of a query with aggregates is its window."""

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between)
_CALCULATED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_WIDEST = 28
"""The most digits of a DECIMAL that leave room for the ten of an INT."""
_LARGEST_INT, _LARGEST_BIGINT = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True)
class QueryTemplate:
    """The common part of queries that differ only in constants.

    >>> from penstock.language import Script
    >>> script = Script.parse('''
    ...     CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 10);
    ...     CREATE QUERY q AS SELECT a FROM s WHERE b > 3;
    ...     CREATE QUERY r AS SELECT a FROM s WHERE b > 40;
    ...     CREATE QUERY other AS SELECT a FROM s WHERE b > 4.5;
    ... ''')
    >>> (q, three), (r, forty), (other, _) = (template_of(query) for query in script.queries.values())
    >>> three, forty, q == r, q == other
    ((3,), (40,), True, False)
    """

    key: str
    query: QueryDef = field(compare=False)
    """The query that reads its constants from a table, the last in FROM, and also returns the member's number."""
    example: QueryDef = field(compare=False)
    """The query from which the template was made."""
    types: tuple[str, ...] = field(compare=False)
    of_rows: tuple[int, ...] = field(default=(), compare=False)
    """Of a query with aggregates: the places of the constants that rows meet, and not only groups."""

    def reading(self, table: str) -> QueryDef:
        """Return the query of the whole group, named after the table of constants that it reads."""
        *items, constants = self.query.items
        named = replace(constants, relation=replace(constants.relation, name=table))
        return replace(self.query, name=table, items=(*items, named))


def template_of(query: QueryDef) -> tuple[QueryTemplate, tuple[Value, ...]] | None:
    """Return the template of a query and its constants; None if it has no constant that could differ."""
    slots = Slots(query)
    conditions = sorted(map(slots.opened, query.conditions), key=lambda part: (part.text, str(part.values)))
    outputs = [slots.opened(output.expression) for output in query.outputs]
    grouping = _Grouping.of(query.aggregation, slots)
    parts = [*conditions, *grouping.below, *grouping.having, *outputs]
    types = tuple(kind for part in parts for kind in part.types)
    windows = grouping.windows(query)
    if not (types or windows) or any(map(_belongs_below, conditions)):
        return None
    place = len(query.items)
    for number, hole in enumerate(hole for part in parts for hole in part.holes):
        hole.this.set("this", f"c{number}")
        hole.set("table", exp.to_identifier(f"f{place}"))
    columns = [Column(f"c{number}", ColumnType(kind)) for number, kind in enumerate(types)]
    constants = TableDef("constants", (*columns, Column(MEMBER, ColumnType("INT"))), CONSTANTS)
    results = [Output(output.name, part.tree) for output, part in zip(query.outputs, outputs, strict=True)]
    whole = replace(
        query,
        items=(*query.items, FromItem(constants, f"f{place}")),
        conditions=tuple(part.tree for part in conditions),
        outputs=(*results, Output(MEMBER, exp.column(MEMBER, table=f"f{place}", quoted=True))),
        aggregation=grouping.aggregation,
    )
    key = (
        tuple((item.relation.name, _kind(item.window), _outer(item)) for item in query.items),
        tuple(part.text for part in conditions),
        grouping.key,
        tuple((output.name, part.text) for output, part in zip(query.outputs, outputs, strict=True)),
    )
    values = [value for part in parts for value in part.values]
    of_rows = len([hole for part in (*conditions, *grouping.below) for hole in part.holes])
    template = QueryTemplate(repr(key), whole, query, types, tuple(range(of_rows)) if windows else ())
    return template, (*values, *windows)


def _kind(window: WindowDef | None) -> object:
    """Return what is part of the template of a window: all of a join's, the kind of one of aggregates."""
    return window if window is None or window.slide is None else window.kind


def _outer(item: FromItem) -> object:
    """Return the ON of a LEFT JOIN as text; its constants are part of the template."""
    return item.outer and tuple(DIALECT.generate(tree, comments=False) for tree in item.outer)


@dataclass(frozen=True)
class Part:
    """An expression with columns in place of its slots, and the types and values of these."""

    tree: exp.Expression
    text: str
    holes: tuple[exp.Column, ...]
    types: tuple[str, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True)
class _Grouping:
    """The aggregation of a template, and what is part of the template of it."""

    aggregation: Aggregation | None
    below: tuple[Part, ...] = ()
    """What is computed from rows."""
    having: tuple[Part, ...] = ()
    key: object = None

    @classmethod
    def of(cls, aggregation: Aggregation | None, slots: "Slots") -> "_Grouping":
        if aggregation is None:
            return cls(None)
        keys = [slots.opened(tree) for tree in aggregation.keys]
        having = sorted(map(slots.opened, aggregation.having), key=lambda part: (part.text, str(part.values)))
        calls: list[AggregateCall] = []
        inside: list[Part] = []
        texts = []
        for call in aggregation.calls:
            arguments = [slots.argument(tree) for tree in call.arguments]
            condition = None if call.condition is None else slots.opened(call.condition)
            of_call = arguments if condition is None else [*arguments, condition]
            calls.append(
                replace(
                    call,
                    arguments=tuple(part.tree for part in arguments),
                    condition=None if condition is None else condition.tree,
                )
            )
            inside += of_call
            texts.append((call.function, call.scaled, condition is None, *(part.text for part in of_call)))
        return cls(
            Aggregation(tuple(part.tree for part in keys), tuple(calls), tuple(part.tree for part in having)),
            (*keys, *inside),
            tuple(having),
            (tuple(part.text for part in keys), tuple(texts), tuple(part.text for part in having)),
        )

    def windows(self, query: QueryDef) -> tuple[WindowDef, ...]:
        """Return the window of the stream, if the query has aggregates."""
        found = [item.window for item in query.streams if item.window is not None]
        return tuple(found) if self.aggregation is not None else ()


def _belongs_below(part: Part) -> bool:
    """Return whether a condition must select rows to join and may fail: with the constants it comes too late."""
    joins = not part.holes and len(places_in(part.tree)) > 1
    return (joins or isinstance(part.tree, exp.NullSafeEQ)) and may_fail(part.tree)


class Slots:
    """Finds the slots of a query: the constants that may differ within a template."""

    def __init__(self, query: QueryDef) -> None:
        decimals = [
            column.type.name
            for item in query.items
            for column in item.relation.columns
            if column.type.name.startswith("DECIMAL")
        ]
        trees = [*query.conditions, *(output.expression for output in query.outputs)]
        if query.aggregation is not None:
            trees += [*trees_of(query.aggregation), *query.aggregation.having]
        self._exact = bool(decimals) or any(_is_decimal(node) for tree in trees for node in tree.walk())
        self._wide = any(int(name[8:].split(",")[0]) > _WIDEST for name in decimals)

    def opened(self, tree: exp.Expression) -> Part:
        """Return a copy of the expression with a column in place of each slot, named after its type."""
        copy = tree.copy()
        holes, values = [], []
        for node in list(copy.find_all(exp.Literal)):
            whole = node.parent if isinstance(node.parent, exp.Neg) and not node.is_string else node
            kind, value = self._value(node, negative=whole is not node)
            if not self._is_slot(whole, kind):
                continue
            hole = exp.column(kind, table="slot", quoted=True)
            copy = hole if whole is copy else copy
            whole.replace(hole)
            holes.append(hole)
            values.append(value)
        text = DIALECT.generate(copy, copy=False, comments=False)
        return Part(copy, text, tuple(holes), tuple(hole.name for hole in holes), tuple(values))

    def argument(self, tree: exp.Expression) -> Part:
        """Return an argument of an aggregate with its slots; one that is only a constant has none."""
        if isinstance(tree, exp.Literal):
            return Part(tree, DIALECT.generate(tree), (), (), ())
        return self.opened(tree)

    def type_of(self, node: exp.Literal) -> str:
        """Return the type that Spark gives a constant."""
        return self._value(node, negative=isinstance(node.parent, exp.Neg) and not node.is_string)[0]

    def _is_slot(self, node: exp.Expression, kind: str) -> bool:
        above = node.parent
        while isinstance(above, exp.Paren):
            above = above.parent
        if kind in ("INT", "BIGINT") and (self._wide or (self._exact and isinstance(above, _CALCULATED))):
            return False  # beside a DECIMAL, Spark types an integer literal by its own digits, a column by ten
        return above is None or isinstance(above, (*_COMPARED, *_CALCULATED, exp.In))

    @staticmethod
    def _value(node: exp.Literal, *, negative: bool) -> tuple[str, Value]:
        """Return the type that Spark gives a literal, and its value."""
        if node.is_string:
            return "STRING", node.name
        text = f"-{node.name}" if negative else node.name
        if "e" in text.lower():
            return "DOUBLE", float(text)
        if "." not in text and abs(int(text)) <= _LARGEST_BIGINT:
            return "INT" if abs(int(text)) <= _LARGEST_INT else "BIGINT", int(text)
        whole, _, fraction = node.name.partition(".")
        precision = max(len((whole + fraction).lstrip("0")), len(fraction), 1)
        return f"DECIMAL({precision},{len(fraction)})", Decimal(text)


def _is_decimal(node: exp.Expr) -> bool:
    """Return whether a node is a DECIMAL by itself: a number with a point, a large number, or a cast."""
    if isinstance(node, exp.Literal) and not node.is_string:
        whole = node.name.isdecimal()
        return int(node.name) > _LARGEST_BIGINT if whole else "e" not in node.name.lower()
    return isinstance(node, exp.Cast) and node.to.is_type(exp.DataType.Type.DECIMAL)
