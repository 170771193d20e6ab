"""The check of an expression before anything runs: is every part known, and does it fit where it stands?

Spark would turn the string 'abc' into a number while a query runs, and stop it there. Here a string is not
compared with a number at all; where that is meant, CAST says so.
"""

import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

from sqlglot import exp

from penstock.errors import nearest
from penstock.language import functions
from penstock.language.select import span_of_node
from penstock.language.statements import FromItem
from penstock.language.text import Span, Text
from penstock.language.times import is_time
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
_CONDITIONS = (*_COMPARED, *_LIKE, exp.Escape, exp.Between, exp.In, exp.Is, exp.Not, exp.And, exp.Or)
_AROUND_AGGREGATES = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Distinct, exp.Order)

MOST_DIGITS = 38
"""Of a number without an exponent, which Spark reads as a DECIMAL where it is too large for a BIGINT."""
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?", re.ASCII | re.IGNORECASE)
_CALL = re.compile(r"(\w+) ?\(.*\)( (OVER|FILTER|WITHIN) .*)?", re.IGNORECASE)
_AMOUNT = re.compile(r"[+-]?\d{1,18}(\.\d{1,9})?", re.ASCII)


class Checker:
    """Tells the family of a resolved expression, or fails at the part that does not fit."""

    def __init__(self, text: Text, items: Sequence[FromItem], span: Span) -> None:
        self._text = text
        self._items = items
        self._span = span

    def family(self, node: exp.Expression | None) -> Family:
        """Return what kind of value the expression has."""
        if node is None:  # as in functions that only sqlglot knows
            self._text.fail("a function in this query misses an argument", self._span)
        for kinds, rule in self._rules:
            if isinstance(node, kinds):
                return rule(self, node)
        name = self._written(node)
        inner = node
        while isinstance(inner, _AROUND_AGGREGATES) and isinstance(inner.this, exp.Expression):
            inner = inner.this
        if isinstance(inner, exp.AggFunc):
            self._fail(f"{name.upper()} is refused: aggregates are not built yet", node)
        if isinstance(node, exp.Window):
            self._fail("OVER is refused: window functions are not built yet", node)
        if name.lower() in functions.CHANGING:
            self._fail(
                f"{name.upper()} is refused: a result is a function of the input alone, so that "
                "a replay gives the same rows",
                node,
            )
        hint = "" if name.lower() in functions.NAMES else nearest(name.lower(), functions.NAMES)
        self._fail(f"{name!r} is not known here.{hint}", node)

    # Rules --------------------------------------------------------------------------------------------------

    def _paren(self, node: exp.Expression) -> Family:
        return self.family(node.this)

    def _column(self, node: exp.Expression) -> Family:
        place = int(node.args["table"].name[1:])
        column = self._items[place].relation.column(node.this.name)
        assert column is not None
        return column.type.family

    def _literal(self, node: exp.Expression) -> Family:
        if node.is_string:
            return "text"
        number = _NUMBER.fullmatch(node.name)
        if number is None:
            self._fail(f"{node.name[:40]!r} is not a number", node)
        whole, _, fraction = node.name.partition(".")
        if math.isinf(float(node.name)) if number[2] else len(whole.lstrip("0") + fraction) > MOST_DIGITS:
            self._fail(f"this number is out of range: {MOST_DIGITS} digits, or 1e308", node)
        return "number"

    def _truth(self, node: exp.Expression) -> Family:
        return "truth"

    def _null(self, node: exp.Expression) -> Family:
        return "null"

    def _interval(self, node: exp.Expression) -> Family:
        unit = node.args.get("unit")
        if not isinstance(node.this, exp.Literal):
            self._fail("INTERVAL needs a number or a string, not an expression", node)
        if isinstance(unit, exp.Var):
            self._expect_word(unit.name.upper().removesuffix("S"), functions.INTERVAL_UNITS, "INTERVAL", node)
            if not _AMOUNT.fullmatch(node.this.name.strip()):
                self._fail(f"{node.this.name[:40]!r} is not a number of {unit.name.lower()}", node)
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
        self._expect_brackets(node.this)
        if isinstance(node.expression, exp.Boolean):
            return self._expect(node.this, "truth", f"IS {node.expression.sql()}")
        if not isinstance(node.expression, exp.Null):
            self._fail("IS is followed by NULL, TRUE or FALSE", node)
        self.family(node.this)
        return "truth"

    def _neg(self, node: exp.Expression) -> Family:
        return self._expect(node.this, "number", "-")

    def _compared(self, node: exp.Expression) -> Family:
        self._expect_brackets(node.this, node.expression)
        self._alike([node.this, node.expression], "compared", node)
        return "truth"

    def _arithmetic(self, node: exp.Expression) -> Family:
        self._expect_brackets(node.this, node.expression)
        if isinstance(node.expression, exp.Add):  # INTERVAL 1 DAY 2 HOURS is read as a sum
            self._fail("put this sum in brackets", node.expression)
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
        self._expect_brackets(node.this, node.expression)
        word = "RLIKE" if isinstance(node, exp.RegexpLike) else node.key.upper()
        for part in (node.this, node.expression):
            self._expect(part, "text", word)
        if node.args.get("flag") is not None:
            self._fail(f"{word} takes a string and a pattern, and nothing else", node)
        return "truth"

    def _escape(self, node: exp.Expression) -> Family:
        sign = node.expression
        if not isinstance(sign, exp.Literal) or not sign.is_string or len(sign.name) != 1:
            self._fail("ESCAPE needs one character in quotes", node)
        return self.family(node.this)

    def _between(self, node: exp.Expression) -> Family:
        self._expect_brackets(node.this, node.args["low"], node.args["high"])
        self._alike([node.this, node.args["low"], node.args["high"]], "compared", node)
        return "truth"

    def _in(self, node: exp.Expression) -> Family:
        if any(node.args.get(each) is not None for each in ("query", "unnest", "field")):
            self._fail("IN is followed by values in brackets; subqueries are not built yet", node)
        if not node.expressions:
            self._fail("IN needs a value in its brackets", node)
        self._expect_brackets(node.this)
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
        results = [node.args["true"], node.args.get("false")]
        if results[1] is None:
            self._fail("IF needs three parts: a condition and two results", node)
        return self._alike(results, "results of one IF", node)

    def _same(self, node: exp.Expression) -> Family:
        parts = [part for part in (node.this, node.args.get("expression"), *node.expressions) if part is not None]
        return self._alike(parts, "compared", node)

    def _concat(self, node: exp.Expression) -> Family:
        parts = node.expressions or (node.this, node.expression)
        if isinstance(node, exp.DPipe):
            self._expect_brackets(*parts)
        for part in parts:
            self._expect(part, "text", "a concatenation")
        return "text"

    def _cast(self, node: exp.Expression) -> Family:
        family = self.family(node.this)
        target = node.args["to"].sql("spark").upper()
        word = target.split("(")[0]
        if word not in NAMES.values():
            self._fail(f"there is no type {target[:40]!r} to cast to.{nearest(word.lower(), NAMES)}", node)
        if family == "interval":
            self._fail("an interval cannot be cast", node)
        found = ColumnType(word).family
        if found == "time" and not isinstance(node, exp.TryCast):
            self._expect_time(node.this)
        return found

    def _extract(self, node: exp.Expression) -> Family:
        self._expect_word(node.name.upper(), functions.FIELDS, "EXTRACT", node)
        self._expect(node.expression, "time", "EXTRACT")
        return "number"

    def _date_trunc(self, node: exp.Expression) -> Family:
        word = self._written(node).upper()
        units = functions.TIME_UNITS if isinstance(node, exp.TimestampTrunc) else functions.DATE_UNITS
        unit = node.args.get("unit")
        self._expect_word("" if unit is None else unit.name.upper(), units, word, node)
        self._expect(node.this, "time", word)
        return "time"

    def _function(self, node: exp.Expression) -> Family:
        wanted, least, result = functions.FUNCTIONS[type(node)]
        word = self._written(node).upper()
        given = [value for value in node.args.values() if isinstance(value, exp.Expression)]
        # sqlglot reads YEAR(ts) as YEAR(TS_OR_DS_TO_DATE(ts)), and writes it as it was
        given = [value.this if isinstance(value, exp.TsOrDsToDate) else value for value in given]
        given = [value for value in given if value is not None]
        if not least <= len(given) <= len(wanted):
            count = str(least) if least == len(wanted) else f"{least} to {len(wanted)}"
            self._fail(f"{word} takes {count} argument{'' if count == '1' else 's'}, not {len(given)}", node)
        if isinstance(node, exp.Initcap) and node.expression != exp.Literal.string(" "):
            self._fail(f"{word} takes 1 argument, not 2", node)
        for part, family in zip(given, wanted, strict=False):
            self._expect(part, family, word)
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
        (tuple(functions.FUNCTIONS), _function),
    )

    # What fits ----------------------------------------------------------------------------------------------

    def _expect(self, node: exp.Expression, wanted: Family, where: str) -> Family:
        family = self.family(node)
        if family not in (wanted, "null", "any"):
            self._fail(f"{where} needs {called(wanted)}, and this is {called(family)}.{_cast_hint(family)}", node)
        return wanted

    def _alike(self, nodes: Sequence[exp.Expression], what: str, whole: exp.Expression) -> Family:
        families = [(self.family(node), node) for node in nodes]
        kinds = list(dict.fromkeys(family for family, _ in families if family not in ("null", "any")))
        texts = [node for family, node in families if family == "text"]
        if set(kinds) == {"time", "text"} and all(isinstance(node, exp.Literal) for node in texts):
            for node in texts:
                self._expect_time(node)
            return "time"  # a time may be compared with one written as a string
        if len(kinds) > 1:
            words = " and ".join(called(kind) for kind in kinds)
            self._fail(f"{words} cannot be {what}.{_cast_hint(*kinds)}", whole)
        return kinds[0] if kinds else "null"

    def _expect_time(self, node: exp.Expression) -> None:
        """Fail if this is a string in quotes that no time looks like: Spark would find out when it runs."""
        if isinstance(node, exp.Literal) and node.is_string and not is_time(node.name):
            self._fail(f"{node.name[:40]!r} is not a time: write it as '2026-01-31 12:00:00'", node)

    def _expect_brackets(self, *nodes: exp.Expression) -> None:
        """Fail if a condition stands bare inside another: Spark and sqlglot differ on what belongs together."""
        for node in nodes:
            if isinstance(node, _CONDITIONS):
                self._fail("put this condition in brackets", node)

    def _expect_word(self, word: str, words: Collection[str], where: str, node: exp.Expression) -> None:
        if word not in words:
            hint = nearest(word, words) or f" There are {', '.join(sorted(words))}"
            self._fail(f"{where} does not know {word[:40]!r}.{hint}", node)

    def _written(self, node: exp.Expression) -> str:
        """Return the name of a function as the script has it, or the text of anything else."""
        span = span_of_node(node, self._span)
        text = " ".join(self._text.content[span.start : span.stop].split())
        call = _CALL.fullmatch(text)
        return call[1] if call else text[:40]

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))


def _cast_hint(*families: Family) -> str:
    if "text" not in families:
        return ""
    return f" CAST(… AS {'TIMESTAMP' if 'time' in families else 'INT'}) or the like turns one into the other"
