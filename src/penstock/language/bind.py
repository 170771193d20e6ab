"""Binding of a parsed SELECT: resolves names, expands stars, checks conditions and result columns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from penstock.language.aggregates import aggregates_in, name_of
from penstock.language.from_clause import FromClause, Scope, is_left
from penstock.language.grouping import Grouping, grouped_by
from penstock.language.names import name_key
from penstock.language.resolve import WINDOW_NAMES, Resolver, column_at
from penstock.language.result_types import result_type
from penstock.language.row_order import in_order_of_time
from penstock.language.select import Parsed, conjuncts, forget_places, span_of_node
from penstock.language.statements import GROUPED, Output, QueryDef
from penstock.language.text import Span
from penstock.language.type_check import Checker
from penstock.language.types import ColumnType, called

_NO_COLUMN = {
    "interval": "a result column cannot be an interval: CAST the times AS DOUBLE (seconds) and subtract those",
    "null": "NULL alone has no type: write CAST(NULL AS INT), for example",
}
LONGEST_NAME = 200


@dataclass(frozen=True)
class BoundSelect:
    """A SELECT, resolved and checked: a query, and the type and the place of each of its result columns."""

    query: QueryDef
    types: tuple[ColumnType, ...]
    places: tuple[Span, ...]


def bound_select(name: str, parsed: Parsed, scope: Scope, span: Span, sql: str) -> BoundSelect:
    """Resolve and check a SELECT against the streams and tables that it may name."""
    return _Binder(parsed, scope, span).bound(name, sql)


class _Binder:
    def __init__(self, parsed: Parsed, scope: Scope, span: Span) -> None:
        self.parsed = parsed
        self.text = parsed.text
        self.span = span
        self.clause = FromClause(parsed, scope, span)
        self.items = self.clause.items
        self.resolver = Resolver(parsed.text, self.items, span)
        self.types: list[ColumnType] = []
        self.places: list[Span] = []

    def bound(self, name: str, sql: str) -> BoundSelect:
        tree = self.parsed.tree
        grouped = grouped_by(self.parsed, self.span)
        self.clause.read(grouped)
        checker = Checker(self.text, self.items, self.span)
        conditions = self._join_conditions(checker)
        if tree.args.get("where") is not None:
            conditions += self._condition(tree.args["where"].this, "WHERE", checker)
        grouping = None
        if grouped is not None:
            grouping = Grouping(self.parsed, self.items, self.resolver, checker, self.span)
        outputs = self._outputs(checker, grouping)
        if grouping is None:
            self.clause.refuse_slides()
        aggregation = None if grouping is None else grouping.aggregation()
        outer = [condition for item in self.items for condition in item.outer or ()]
        forget_places([*conditions, *outer, *(output.expression for output in outputs)])
        items = tuple(map(in_order_of_time, self.items))
        made = QueryDef(name, items, tuple(conditions), outputs, sql, self.span, aggregation)
        return BoundSelect(made, tuple(self.types), tuple(self.places))

    def _join_conditions(self, checker: Checker) -> list[exp.Expression]:
        """Return the conditions of JOIN; those of LEFT JOIN become a part of their item."""
        conditions: list[exp.Expression] = []
        for place, join in enumerate(self.parsed.tree.args.get("joins") or (), start=1):
            if join.args.get("on") is None:
                continue
            found = self._condition(join.args["on"], "ON", checker)
            if is_left(join):
                self.clause.check_outer(place, found)
                self.items[place] = replace(self.items[place], outer=tuple(found))
            else:
                conditions += found
        return conditions

    # Expressions --------------------------------------------------------------------------------------------

    def _condition(self, tree: exp.Expression, word: str, checker: Checker) -> list[exp.Expression]:
        found = next(aggregates_in(tree), None)
        if found is not None:
            hint = ": a condition on groups is HAVING, and FILTER (WHERE …) is one on the rows of an aggregate"
            self._fail(f"{(name_of(found) or '').upper()} is an aggregate and cannot be in {word}{hint}", found)
        if any(item.window is not None and item.window.slide is not None for item in self.items):
            self.resolver.refuse_window_names(tree, f"in {word}")
        parts = list(conjuncts(tree))
        parts = [self.resolver.resolved(part) for part in parts]
        for part in parts:
            family = checker.family(part)
            if family not in ("truth", "null", "any"):
                self._fail(f"{word} needs a condition, but this is {called(family)}", part)
        return parts

    def _outputs(self, rows: Checker, grouping: Grouping | None) -> tuple[Output, ...]:
        if not self.parsed.tree.expressions:
            self.text.fail("a query needs a column between SELECT and FROM", self.span)
        checker = rows if grouping is None else grouping.checker
        outputs: list[Output] = []
        places: list[exp.Expression] = []
        for tree in self.parsed.tree.expressions:
            for name, expression in self._named(tree, grouping):
                family = checker.family(expression)
                if family in ("interval", "null"):
                    self._fail(_NO_COLUMN[family], tree)
                self.types.append(result_type(expression, family, checker.declared))
                self.places.append(span_of_node(tree, self.span))
                bare = expression.unnest()
                if bare.meta.get("field") and not isinstance(tree, exp.Alias):
                    name = bare.expressions[0].name  # as it was declared
                if grouping is not None:
                    expression = grouping.of_group(expression, tree)
                outputs.append(Output(name, expression))
                places.append(tree)
        seen: set[str] = set()
        for output, tree in zip(outputs, places, strict=True):
            if name_key(output.name) in seen:
                self._fail(f"two result columns are named {output.name!r}: rename one with AS", tree)
            if not output.name or len(output.name) > LONGEST_NAME or output.name.startswith("__"):
                self._fail(f"{output.name[:40]!r} cannot be a column name: name the column with AS", tree)
            seen.add(name_key(output.name))
        return tuple(outputs)

    def _named(self, tree: exp.Expression, grouping: Grouping | None) -> Iterator[tuple[str, exp.Expression]]:
        star = tree.this if isinstance(tree, exp.Column) else tree
        if isinstance(star, exp.Star):
            if any(value for value in star.args.values()):
                self._fail("write a star as * or p.*, with nothing after it", tree)
            table = tree.args.get("table") if isinstance(tree, exp.Column) else None
            places = range(len(self.items)) if table is None else (self.resolver.item(table),)
            for place in places:
                for column in self.items[place].relation.columns:
                    yield column.name, column_at(place, column.name)
            return
        span = span_of_node(tree, self.span)
        resolved = self.resolver.resolved if grouping is None else grouping.resolved
        expression = resolved(tree.this if isinstance(tree, exp.Alias) else tree)
        bare = expression.unnest()
        if isinstance(tree, exp.Alias):
            yield tree.alias, expression
        elif isinstance(bare, exp.Column) and (bare.table != GROUPED or bare.name in WINDOW_NAMES):
            yield bare.name, expression
        else:
            yield " ".join(self.text.content[span.start : span.stop].split()), expression

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self.text.fail(message, span_of_node(node, self.span))
