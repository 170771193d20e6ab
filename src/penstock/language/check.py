"""The check of an expression before anything runs: is every part known, and does it fit where it stands?

Spark would turn the string 'abc' into a number while a query runs, and stop it there. Here a string is not
compared with a number at all; where that is meant, CAST says so.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from sqlglot import exp

from penstock.errors import nearest
from penstock.language.select import span_of_node
from penstock.language.statements import FromItem
from penstock.language.text import Span, Text
from penstock.language.types import NAMES, ColumnType, Family, called

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_ARITHMETIC = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
)
_LIKE = (exp.Like, exp.ILike, exp.RegexpLike)
_CHANGING = (exp.Rand, exp.Randn, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.Uuid)
_NO_TIME = {"rand", "random", "randn", "uuid", "now", "current_timestamp", "current_date", "unix_timestamp"}

_FUNCTIONS: Mapping[type[exp.Expression], tuple[Sequence[Family], Family]] = {
    exp.Upper: (("text",), "text"),
    exp.Lower: (("text",), "text"),
    exp.Initcap: (("text",), "text"),
    exp.Reverse: (("text",), "text"),
    exp.Length: (("text",), "number"),
    exp.Trim: (("text", "text"), "text"),
    exp.Substring: (("text", "number", "number"), "text"),
    exp.Left: (("text", "number"), "text"),
    exp.Right: (("text", "number"), "text"),
    exp.Replace: (("text", "text", "text"), "text"),
    exp.RegexpReplace: (("text", "text", "text"), "text"),
    exp.RegexpExtract: (("text", "text", "number"), "text"),
    exp.StartsWith: (("text", "text"), "truth"),
    exp.EndsWith: (("text", "text"), "truth"),
    exp.Contains: (("text", "text"), "truth"),
    exp.MD5: (("text",), "text"),
    exp.SHA: (("text",), "text"),
    exp.Abs: (("number",), "number"),
    exp.Sign: (("number",), "number"),
    exp.Round: (("number", "number"), "number"),
    exp.Floor: (("number",), "number"),
    exp.Ceil: (("number",), "number"),
    exp.Sqrt: (("number",), "number"),
    exp.Cbrt: (("number",), "number"),
    exp.Exp: (("number",), "number"),
    exp.Ln: (("number",), "number"),
    exp.Pow: (("number", "number"), "number"),
    exp.Year: (("time",), "number"),
    exp.Month: (("time",), "number"),
    exp.Day: (("time",), "number"),
    exp.DayOfMonth: (("time",), "number"),
    exp.DayOfWeek: (("time",), "number"),
    exp.DayOfYear: (("time",), "number"),
    exp.Hour: (("time",), "number"),
    exp.Minute: (("time",), "number"),
    exp.Second: (("time",), "number"),
}
"""Functions of fixed arguments: their families in order, and that of the result."""

_KNOWN_NAMES = sorted(
    {name.lower() for kind in _FUNCTIONS if issubclass(kind, exp.Func) for name in kind.sql_names()}
    | {"coalesce", "concat", "if", "nullif", "greatest", "least", "cast", "try_cast", "case"}
)


class Checker:
    """Tells the family of a resolved expression, or fails at the part that does not fit."""

    def __init__(self, text: Text, items: Sequence[FromItem], span: Span) -> None:
        self._text = text
        self._items = items
        self._span = span

    def family(self, node: exp.Expression) -> Family:
        """Return what kind of value the expression has."""
        for kinds, rule in self._rules:
            if isinstance(node, kinds):
                return rule(self, node)
        if isinstance(node, exp.AggFunc):
            self._fail(f"{node.sql_name()} is refused: aggregates are not built yet", node)
        if isinstance(node, exp.Window):
            self._fail("OVER is refused: window functions are not built yet", node)
        if isinstance(node, _CHANGING) or _function_name(node) in _NO_TIME:
            self._fail(
                f"{_function_name(node).upper()} is refused: a result is a function of the input alone, so that "
                "a replay gives the same rows",
                node,
            )
        name = _function_name(node)
        self._fail(f"{name!r} is not known here.{nearest(name, _KNOWN_NAMES)}", node)

    # Rules --------------------------------------------------------------------------------------------------

    def _paren(self, node: exp.Expression) -> Family:
        return self.family(node.this)

    def _column(self, node: exp.Expression) -> Family:
        place = int(node.args["table"].name[1:])
        column = self._items[place].relation.column(node.this.name)
        assert column is not None
        return column.type.family

    def _literal(self, node: exp.Expression) -> Family:
        return "text" if node.is_string else "number"

    def _truth(self, node: exp.Expression) -> Family:
        return "truth"

    def _null(self, node: exp.Expression) -> Family:
        return "null"

    def _interval(self, node: exp.Expression) -> Family:
        return "interval"

    def _and_or(self, node: exp.Expression) -> Family:
        pending = [node]
        while pending:  # a chain of thousands is as deep as it is long
            each = pending.pop()
            for part in (each.this, each.expression):
                if isinstance(part, exp.And | exp.Or):
                    pending.append(part)
                else:
                    self._expect(part, "truth", each.key.upper())
        return "truth"

    def _not(self, node: exp.Expression) -> Family:
        self._expect(node.this, "truth", "NOT")
        return "truth"

    def _is(self, node: exp.Expression) -> Family:
        self.family(node.this)
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            self._fail("IS is followed by NULL, TRUE or FALSE", node)
        return "truth"

    def _neg(self, node: exp.Expression) -> Family:
        return self._expect(node.this, "number", "-")

    def _compared(self, node: exp.Expression) -> Family:
        self._alike([node.this, node.expression], "compared", node)
        return "truth"

    def _arithmetic(self, node: exp.Expression) -> Family:
        left, right = self.family(node.this), self.family(node.expression)
        if isinstance(node, exp.Add | exp.Sub) and ("time" in (left, right) or "interval" in (left, right)):
            return self._time_arithmetic(node, left, right)
        for family, part in ((left, node.this), (right, node.expression)):
            if family not in ("number", "null", "any"):
                self._fail(f"arithmetic needs numbers, and this is {called(family)}.{_cast_hint(family)}", part)
        return "number"

    def _time_arithmetic(self, node: exp.Expression, left: Family, right: Family) -> Family:
        if (left, right) in (("time", "interval"), ("interval", "time")):
            return "time"
        if left == right == "interval" or (left == right == "time" and isinstance(node, exp.Sub)):
            return "interval"
        self._fail(f"{called(left)} and {called(right)} cannot be added or subtracted", node)

    def _like(self, node: exp.Expression) -> Family:
        self._expect(node.this, "text", "LIKE")
        self._expect(node.expression, "text", "LIKE")
        return "truth"

    def _escape(self, node: exp.Expression) -> Family:
        return self.family(node.this)

    def _between(self, node: exp.Expression) -> Family:
        self._alike([node.this, node.args["low"], node.args["high"]], "compared", node)
        return "truth"

    def _in(self, node: exp.Expression) -> Family:
        if node.args.get("query") is not None or not node.expressions:
            self._fail("IN (SELECT …) is refused: subqueries are not built yet", node)
        self._alike([node.this, *node.expressions], "compared", node)
        return "truth"

    def _case(self, node: exp.Expression) -> Family:
        results = []
        for branch in node.args["ifs"]:
            if node.this is not None:
                self._alike([node.this, branch.this], "compared", node)
            else:
                self._expect(branch.this, "truth", "WHEN")
            results.append(branch.args["true"])
        if node.args.get("default") is not None:
            results.append(node.args["default"])
        return self._alike(results, "results of one CASE", node)

    def _if(self, node: exp.Expression) -> Family:
        self._expect(node.this, "truth", "IF")
        results = [node.args["true"], node.args.get("false") or exp.Null()]
        return self._alike(results, "results of one IF", node)

    def _same(self, node: exp.Expression) -> Family:
        parts = [part for part in (node.this, node.args.get("expression"), *node.expressions) if part is not None]
        return self._alike(parts, "compared", node)

    def _concat(self, node: exp.Expression) -> Family:
        for part in node.expressions or (node.this, node.expression):
            self._expect(part, "text", "a concatenation")
        return "text"

    def _cast(self, node: exp.Expression) -> Family:
        family = self.family(node.this)
        target = node.args["to"].sql("spark").upper()
        word = target.split("(")[0].lower()
        if word not in NAMES:
            self._fail(f"there is no type {target[:40]!r} to cast to.{nearest(word, NAMES)}", node)
        if family == "interval":
            self._fail("an interval cannot be cast", node)
        return ColumnType(NAMES[word]).family

    def _extract(self, node: exp.Expression) -> Family:
        self._expect(node.expression, "time", "EXTRACT")
        return "number"

    def _date_trunc(self, node: exp.Expression) -> Family:
        self._expect(node.this, "time", "DATE_TRUNC")
        return "time"

    def _function(self, node: exp.Expression) -> Family:
        wanted, result = _FUNCTIONS[type(node)]
        given = [value for value in node.args.values() if isinstance(value, exp.Expression)]
        for part, family in zip(given, wanted, strict=False):
            if not isinstance(part, exp.Var):
                self._expect(part, family, _function_name(node).upper())
        return result

    _rules: tuple[tuple[tuple[type[exp.Expression], ...], Callable[["Checker", exp.Expression], Family]], ...] = (
        ((exp.Paren,), _paren),
        ((exp.Column,), _column),
        ((exp.Literal,), _literal),
        ((exp.Boolean,), _truth),
        ((exp.Null,), _null),
        ((exp.Interval,), _interval),
        ((exp.And, exp.Or), _and_or),
        ((exp.Not,), _not),
        ((exp.Is,), _is),
        ((exp.Neg, exp.BitwiseNot), _neg),
        (_COMPARED, _compared),
        (_ARITHMETIC, _arithmetic),
        ((exp.Escape,), _escape),
        (_LIKE, _like),
        ((exp.Between,), _between),
        ((exp.In,), _in),
        ((exp.Case,), _case),
        ((exp.If,), _if),
        ((exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif), _same),
        ((exp.Concat, exp.DPipe), _concat),
        ((exp.TryCast, exp.Cast), _cast),
        ((exp.Extract,), _extract),
        ((exp.TimestampTrunc, exp.DateTrunc), _date_trunc),
        (tuple(_FUNCTIONS), _function),
    )

    # What fits ----------------------------------------------------------------------------------------------

    def _expect(self, node: exp.Expression, wanted: Family, where: str) -> Family:
        family = self.family(node)
        if family not in (wanted, "null", "any"):
            self._fail(f"{where} needs {called(wanted)}, and this is {called(family)}.{_cast_hint(family)}", node)
        return wanted

    def _alike(self, nodes: Sequence[exp.Expression], what: str, whole: exp.Expression) -> Family:
        families = {self.family(node): node for node in nodes}
        kinds = [family for family in families if family not in ("null", "any")]
        if set(kinds) == {"time", "text"} and any(
            isinstance(node, exp.Literal) for node in nodes if self.family(node) == "text"
        ):
            return "time"  # a time may be compared with one written as a string
        if len(kinds) > 1:
            words = " and ".join(called(kind) for kind in kinds)
            self._fail(f"{words} cannot be {what}.{_cast_hint(*kinds)}", whole)
        return kinds[0] if kinds else "null"

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))


def _function_name(node: exp.Expression) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key


def _cast_hint(*families: Family) -> str:
    return " CAST(… AS INT) or the like turns one into the other" if "text" in families else ""
