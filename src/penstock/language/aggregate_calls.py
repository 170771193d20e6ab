"""Binding of the aggregates of one query: arguments, FILTER, types, and the columns that replace their calls."""

from typing import NoReturn, cast

from sqlglot import exp

from penstock.language.aggregates import (
    ALIASES,
    AROUND,
    COUNT_IF,
    FUNCTIONS,
    UNSUPPORTED,
    aggregates_in,
    name_of,
    unsupported,
)
from penstock.language.resolve import Resolver, column_of_group
from penstock.language.result_types import aggregate_type, result_type
from penstock.language.select import bare, span_of_node
from penstock.language.statements import AggregateCall
from penstock.language.text import Span, Text
from penstock.language.type_check import Checker
from penstock.language.type_rules import cast_hint
from penstock.language.types import ColumnType, Family, called

NO_VALUE = {
    "interval": "an interval cannot be aggregated or grouped: CAST times AS DOUBLE (seconds) and subtract those",
    "null": "NULL alone has no type: write CAST(NULL AS INT), for example",
}
"""Families of which neither an aggregate nor a group can be computed."""
_NOT_NULL = "FILTER (WHERE … IS NOT NULL) leaves NULLs out"
_INSIDE: dict[type[exp.Expression], str] = {
    exp.Order: "ORDER BY inside an aggregate is not supported: min_by(x, k) and max_by(x, k) choose by k",
    exp.Limit: "LIMIT inside an aggregate is not supported",
    exp.HavingMax: "HAVING inside an aggregate is not supported: write max_by(x, k)",
    exp.IgnoreNulls: f"IGNORE NULLS is not supported: {_NOT_NULL}",
    exp.RespectNulls: "RESPECT NULLS is not supported: leave it out, it changes nothing",
    exp.WithinGroup: "WITHIN GROUP is not supported",
}
"""What is said against clauses of an aggregate."""


class Calls:
    """The distinct aggregates of one query, and what their results are."""

    def __init__(self, text: Text, resolver: Resolver, checker: Checker, span: Span) -> None:
        self._text = text
        self._resolver = resolver
        self._checker = checker
        self._span = span
        self._names: dict[object, str] = {}
        self._calls: list[AggregateCall] = []
        self.types: dict[str, ColumnType] = {}
        """The type of each column, or only its family."""

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        """The aggregates in the order of their columns a0, a1, …"""
        return tuple(self._calls)

    def column(self, node: exp.Expression) -> exp.Column:
        """Return the column of the aggregate that an expression calls."""
        condition, call = self._unwrapped(node)
        written = call.name.lower()
        arguments = call.expressions
        function = ALIASES.get(written, written)
        if arguments and isinstance(arguments[0], exp.Distinct):
            if function != "count":
                extreme = function in ("min", "max")
                hint = "leave it out, it changes nothing" if extreme else "only count(DISTINCT x) has it"
                self._fail(f"DISTINCT in {written.upper()} is not supported: {hint}", node)
            function, arguments = "count_distinct", arguments[0].expressions
        elif function == "count":
            arguments = self._counted(arguments, call)
        if function == COUNT_IF:
            return self._count_if(arguments, condition, node)
        self._check_number(function, written, arguments, call)
        bound = [self._bound(each, f"in {written.upper()}") for each in arguments]
        for place, each in enumerate(bound):
            self._check_kind(each, FUNCTIONS[function].kind(place), written, node)
        known = None if condition is None else self._condition(condition, "FILTER")
        if function == "count" and bound and isinstance(bound[0], exp.Literal | exp.Boolean):
            bound = []  # count(1) is count(*)
        return self._kept(AggregateCall(function, tuple(bound), known), node)

    def _kept(self, call: AggregateCall, node: exp.Expression) -> exp.Column:
        """Return the column of a call; equal calls have one column."""
        key = (call.function, call.arguments, call.condition)
        if key not in self._names:
            self._names[key] = f"a{len(self._calls)}"
            self.types[self._names[key]] = self._type(call)
            self._calls.append(call)
        return column_of_group(self._names[key], node)

    def _type(self, call: AggregateCall) -> ColumnType:
        checker = self._checker
        types = [result_type(each, checker.family(each), checker.declared) for each in call.arguments]
        return aggregate_type(call.function, types)

    def _unwrapped(self, node: exp.Expression) -> tuple[exp.Expression | None, exp.Expression]:
        """Return the condition of FILTER, and the call itself."""
        name = name_of(node) or ""
        around: list[exp.Expression] = []
        call = node
        while isinstance(call, AROUND):
            around.append(call)
            call = call.this
        if name in UNSUPPORTED or not isinstance(call, exp.Anonymous):
            self._fail(unsupported(name), node)
        for each in around:
            if not isinstance(each, exp.Filter):
                self._fail(_INSIDE[type(each)], node)
        if len(around) > 1:
            self._fail("an aggregate has one FILTER: connect its conditions with AND", node)
        for each in call.expressions:
            if type(each) in _INSIDE:
                self._fail(_INSIDE[type(each)], node)
        return (around[0].expression.this if around else None), call

    def _counted(self, arguments: list[exp.Expression], call: exp.Expression) -> list[exp.Expression]:
        """Return the argument of count; none for count(*)."""
        if len(arguments) == 1 and isinstance(arguments[0], exp.Star) and not any(arguments[0].args.values()):
            return []
        if len(arguments) == 1:
            return arguments
        hint = ". FILTER (WHERE x IS NOT NULL AND y IS NOT NULL) counts rows with both" if arguments else ""
        self._fail(f"COUNT takes * or 1 argument, not {len(arguments)}{hint}", call)

    def _check_number(
        self, function: str, written: str, arguments: list[exp.Expression], call: exp.Expression
    ) -> None:
        if any(isinstance(each, exp.Star) or isinstance(each.this, exp.Star) for each in arguments):
            only = "only count(*) has a star" if written != "count" else "write count(*), or name the columns"
            self._fail(f"a star cannot be an argument: {only}", call)
        if any(isinstance(each, exp.Tuple) for each in arguments):
            self._fail("write the arguments without parentheses around them: count(DISTINCT x, y)", call)
        if function != "count" and not FUNCTIONS[function].accepts(len(arguments)):
            hint = f". {_NOT_NULL}" if function in ("first", "last") and len(arguments) == 2 else ""
            self._fail(f"{written.upper()} takes {FUNCTIONS[function].count}, not {len(arguments)}{hint}", call)

    def _count_if(
        self, arguments: list[exp.Expression], filtered: exp.Expression | None, node: exp.Expression
    ) -> exp.Column:
        """Return the column of a count with a FILTER."""
        if len(arguments) != 1:
            self._fail(f"COUNT_IF takes 1 argument, not {len(arguments)}", node)
        condition = self._condition(arguments[0], "COUNT_IF")
        if filtered is not None:
            both = (exp.Paren(this=each) for each in (condition, self._condition(filtered, "FILTER")))
            condition = exp.And(this=next(both), expression=next(both))
        return self._kept(AggregateCall("count", (), condition), node)

    def _condition(self, tree: exp.Expression, word: str) -> exp.Expression:
        condition = self._bound(tree, f"in {word}")
        family = self._checker.family(condition)
        if family not in ("truth", "null", "any"):
            self._fail(f"{word} needs a condition, but this is {called(family)}", condition)
        return condition

    def _bound(self, tree: exp.Expression, where: str) -> exp.Expression:
        """Return an argument with its names resolved, apart from the tree that it is in."""
        inner = next(aggregates_in(tree), None)
        if inner is not None:
            name = (name_of(inner) or "").upper()
            self._fail(f"{name} is an aggregate and cannot be {where}: aggregates do not contain others", inner)
        self._resolver.refuse_window_names(tree, where)
        return bare(self._resolver.resolved(tree)).copy()

    def _check_kind(self, node: exp.Expression, kind: str, written: str, call: exp.Expression) -> None:
        word = written.upper()
        family = self._checker.family(node)
        node = node if "start" in node.meta or node.find(exp.Column) else call  # TRUE and NULL have no place
        if family in NO_VALUE:
            self._fail(NO_VALUE[family], node)
        if kind in ("number", "truth") and family not in (kind, "any"):
            wanted = called(cast("Family", kind))
            self._fail(f"{word} needs {wanted}, but this is {called(family)}.{cast_hint(family)}", node)
        if kind == "simple" and family in ("array", "map", "struct"):
            self._fail(f"{word} compares simple values, but this is {called(family)}", node)
        if kind == "value" and family in ("array", "map", "struct"):
            full = self._checker.full_type(node)
            if full is None or "MAP<" in full.name:
                self._fail(f"{word} cannot return a map: take a value of it, as in m['key'], or to_json(m)", node)

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))
