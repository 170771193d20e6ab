"""Type check of expressions before anything runs: every part is known and has a type that fits its place.

Spark would cast the string 'abc' to a number while a query runs, and fail there. Here a string cannot be
compared with a number without a CAST.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import NoReturn, cast

from sqlglot import exp

from penstock.errors import nearest
from penstock.language import aggregates, functions
from penstock.language.names import quoted
from penstock.language.nested import field_of
from penstock.language.type_rules import COMPARED, LIKE, Fitting, cast_hint
from penstock.language.types import MOST_DIGITS, NAMES, NO_DECIMAL, ColumnType, Family, called, is_decimal

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

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?", re.ASCII | re.IGNORECASE)
_TAKEN_APART: dict[type[exp.Expression], str] = {exp.Substring: "substring", exp.Trim: "trim"}
"""Functions that the parser reads itself, because of the keywords between their arguments."""
_AMOUNT = re.compile(r"[+-]?\d{1,18}(\.\d{1,9})?", re.ASCII)


class Checker(Fitting):
    """Returns the type family of a resolved expression, or fails at the part that does not fit."""

    def family(self, node: exp.Expression | None) -> Family:
        """Return the type family of an expression."""
        if node is None:  # in functions that only sqlglot knows
            self._text.fail("an argument of a function in this query is missing", self._span)
        for kinds, rule in self._rules:
            if isinstance(node, kinds):
                return rule(self, node)
        self._fail_unknown(node)

    def _fail_unknown(self, node: exp.Expression) -> NoReturn:
        name = self._written(node)
        if isinstance(node, exp.Filter):
            self._fail("FILTER must follow an aggregate: sum(x) FILTER (WHERE x > 3)", node)
        if isinstance(node, exp.Window):
            self._fail("OVER is not supported: window functions are not implemented yet", node)
        if name.lower() in functions.CHANGING:
            self._fail(
                f"{name.upper()} is not supported: results depend on the input alone, so that "
                "a replay gives the same rows",
                node,
            )
        column = next((found for item in self._items if (found := item.relation.column(name))), None)
        if column is not None:
            self._fail(f"write the column {column.name!r} in backticks: {quoted(column.name)}", node)
        known = name.lower() in functions.NAMES
        names = (*functions.NAMES, *aggregates.FUNCTIONS)
        hint = functions.INSTEAD.get(name.lower()) or ("" if known else nearest(name.lower(), names))
        self._fail(f"unknown function or expression {name!r}. {hint.strip()}".rstrip(), node)

    # Rules --------------------------------------------------------------------------------------------------

    def _paren(self, node: exp.Expression) -> Family:
        return self.family(node.this)

    def _column(self, node: exp.Expression) -> Family:
        if isinstance(node, exp.Identifier) and node.name not in self._variables:
            self._fail_unknown(node)
        return self.declared(node).family

    def _bracket(self, node: exp.Expression) -> Family:
        """Check a part of an array, a map or a struct; a field is also a part."""
        family, outer = self.family(node.this), self.full_type(node.this)
        index = node.expressions[0] if len(node.expressions) == 1 else None
        if outer is None or not outer.is_nested:
            what = f"field {index.name!r}" if node.meta.get("field") and index is not None else "parts in […]"
            self._fail(f"{what}: only arrays, maps and structs have parts, but this is {called(family)}", node)
        if index is None or isinstance(index, exp.Slice):
            self._fail("[…] takes one number or one key", node)
        if outer.family == "map":
            self._expect(index, outer.key.family, "a key of this map")
        elif outer.family == "struct" or (index.is_string and outer.element.family == "struct"):
            self._name_field(outer if outer.family == "struct" else outer.element, index)
        else:
            self._expect(index, "number", "an array's […]")
        part = self.full_type(node)
        assert part is not None
        return part.family

    def _name_field(self, struct: ColumnType, index: exp.Expression) -> None:
        """Replace the name of a field by its declared spelling."""
        if not isinstance(index, exp.Literal) or not index.is_string:
            self._fail("write a field of a struct as column.field", index)
        name = field_of(struct, index.name)
        if name is None:
            hint = nearest(index.name, list(struct.fields)) or f" There are {', '.join(struct.fields)}"
            self._fail(f"there is no field {index.name!r} in this struct.{hint}", index)
        index.set("this", name)

    def _literal(self, node: exp.Expression) -> Family:
        if node.is_string:
            return "text"
        number = _NUMBER.fullmatch(node.name)
        if number is None:
            self._fail(f"{node.name[:40]!r} is not a number", node)
        whole, _, fraction = node.name.partition(".")
        if math.isinf(float(node.name)) if number[2] else len(whole.lstrip("0") + fraction) > MOST_DIGITS:
            self._fail(f"this number is out of range: at most {MOST_DIGITS} digits, or 1e308", node)
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
            word = unit.name.upper().removesuffix("S")
            self._expect_word(word, functions.INTERVAL_UNITS, "INTERVAL", node)
            if not _AMOUNT.fullmatch(node.this.name.strip()):
                self._fail(f"{node.this.name[:40]!r} is not a number of {unit.name.lower()}", node)
            most = functions.INTERVAL_UNITS[word]
            if abs(float(node.this.name)) > most:
                self._fail(f"an interval has at most {most:,} {unit.name.lower()}", node)
        return "interval"

    def _and_or(self, node: exp.Expression) -> Family:
        pending = [node]
        while pending:  # no recursion: a chain of thousands of conditions is as deep as it is long
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
            self._fail("IS must be followed by NULL, TRUE or FALSE", node)
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
            self._fail("put this sum in parentheses", node.expression)
        left, right = self.family(node.this), self.family(node.expression)
        if isinstance(node, exp.Add | exp.Sub) and ("time" in (left, right) or "interval" in (left, right)):
            return self._time_arithmetic(node, left, right)
        for family, part in ((left, node.this), (right, node.expression)):
            if family not in ("number", "null", "any"):
                self._fail(f"arithmetic needs numbers, but this is {called(family)}.{cast_hint(family)}", part)
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
            self._fail("IN must be followed by values in parentheses; a subquery can only be in FROM", node)
        if not node.expressions:
            self._fail("IN needs a value in its parentheses", node)
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
        return self._alike(results, "results of one CASE", node, nested=True)

    def _if(self, node: exp.Expression) -> Family:
        self._expect(node.this, "truth", "IF")
        results = [node.args["true"], node.args.get("false")]
        if results[1] is None:
            self._fail("IF needs three parts: a condition and two results", node)
        return self._alike(results, "results of one IF", node, nested=True)

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
        digits = [int(each.name) for each in node.args["to"].expressions if each.name.isdigit()]
        if word == "DECIMAL" and digits and not (len(digits) <= 2 and is_decimal(*digits)):
            self._fail(NO_DECIMAL, node)
        found = ColumnType(word).family
        if family in ("array", "map", "struct") and found != "text":
            self._fail(f"{called(family)} can only be cast to STRING", node)
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
        word = self._written(node)
        name = _TAKEN_APART.get(type(node)) or node.name.lower()
        function = functions.FUNCTIONS.get(name)
        if function is None:
            self._fail_unknown(node)
        given = _arguments(node)
        if name == "unix_timestamp" and not given:
            self._fail(f"{word.upper()} without an argument is not supported: it is the time of the call", node)
        if not function.accepts(len(given)):
            self._fail(f"{word.upper()} takes {function.count}, not {len(given)}", node)
        for place, part in enumerate(given):
            self._argument(part, function.kind(place), word.upper(), given[0])
        if function.gives == "same":
            return self._alike(given, "compared", node, nested=name in ("coalesce", "nvl", "ifnull"))
        made = self.full_type(node)
        return cast("Family", function.gives) if made is None else made.family

    def _argument(self, node: exp.Expression, kinds: Sequence[str], word: str, first: exp.Expression) -> None:
        """Check one argument of a function against the types that it may have."""
        outer = self.full_type(first)
        if kinds == ("same",):
            return  # checked together, against each other
        if kinds == ("any",):
            self.family(node)
        elif kinds == ("lambda",):
            assert outer is not None
            self._lambda(node, outer.element, word)
        elif kinds == ("pattern",):
            self._pattern(node, word)
        elif kinds in (("key",), ("element",)):
            assert outer is not None
            index = kinds == ("key",) and outer.family == "array"
            inner = outer.key if kinds == ("key",) and not index else outer.element
            if inner.is_nested and not index:
                self._fail(f"{word} compares simple values, but this is {called(inner.family)}", first)
            self._expect(node, "number" if index else inner.family, word)
        else:
            family = self.family(node)
            if family not in (*kinds, "null", "any"):
                wanted = " or ".join(called(cast("Family", kind)) for kind in kinds)
                self._fail(f"{word} needs {wanted}, but this is {called(family)}.{cast_hint(family)}", node)
            if family == "null" and set(kinds) & {"array", "map"}:
                whole = node.parent if isinstance(node.parent, exp.Expression) else node
                self._fail(f"{word} needs an array or a map, but this is NULL", whole)

    def _lambda(self, node: exp.Expression, element: ColumnType, word: str) -> None:
        if not isinstance(node, exp.Lambda) or len(node.expressions) != 1:
            self._fail(f"{word} needs a condition on one element: x -> x > 3", node)
        self._variables[node.expressions[0].name] = element
        self._expect(node.this, "truth", word)

    def _pattern(self, node: exp.Expression, word: str) -> None:
        """Fail on letters that Spark does not know: Spark itself would fail only at the first row."""
        self._expect(node, "text", word)
        if not isinstance(node, exp.Literal):
            return
        for letter in re.sub(r"'[^']*'", "", node.name):
            if letter.isascii() and letter.isalpha() and letter not in functions.PATTERN_LETTERS:
                hint = " Did you mean 'y'?" if letter == "Y" else " Put other text in single quotes"
                self._fail(
                    f"{word}: {letter!r} is not a letter of a pattern such as 'yyyy-MM-dd HH:mm:ss'.{hint}", node
                )

    _rules: tuple[tuple[tuple[type[exp.Expression], ...], Callable[["Checker", exp.Expression], Family]], ...] = (
        ((exp.Paren,), _paren),
        ((exp.Column, exp.Identifier), _column),
        ((exp.Bracket,), _bracket),
        ((exp.Literal,), _literal),
        ((exp.Boolean,), _truth),
        ((exp.Null,), _null),
        ((exp.Interval,), _interval),
        ((exp.And, exp.Or), _and_or),
        ((exp.Not,), _not),
        ((exp.Is,), _is),
        ((exp.Neg, exp.BitwiseNot), _neg),
        (COMPARED, _compared),
        (_ARITHMETIC, _arithmetic),
        ((exp.Escape,), _escape),
        (LIKE, _like),
        ((exp.Between,), _between),
        ((exp.In,), _in),
        ((exp.Case,), _case),
        ((exp.If,), _if),
        ((exp.Concat, exp.DPipe), _concat),
        ((exp.TryCast, exp.Cast), _cast),
        ((exp.Extract,), _extract),
        ((exp.TimestampTrunc, exp.DateTrunc), _date_trunc),
        ((exp.Anonymous, *_TAKEN_APART), _function),
    )


def _arguments(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Anonymous):
        return node.expressions
    return [value for value in node.args.values() if isinstance(value, exp.Expression)]
