"""Rules for which parts of an expression fit together: type families, time literals, keywords, parentheses."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import NoReturn

from sqlglot import exp

from penstock.errors import nearest
from penstock.language.nested import full_type
from penstock.language.select import span_of_node
from penstock.language.statements import FromItem
from penstock.language.text import Span, Text
from penstock.language.time_literals import is_time
from penstock.language.types import ColumnType, Family, called

COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
LIKE = (exp.Like, exp.ILike, exp.RegexpLike)
_CONDITIONS = (*COMPARED, *LIKE, exp.Escape, exp.Between, exp.In, exp.Is, exp.Not, exp.And, exp.Or)
_CALL = re.compile(r"(\w+) ?\(.*\)( (OVER|FILTER|WITHIN) .*)?", re.IGNORECASE)
_COMPARE_INSTEAD = {
    "struct": "compare their fields: a.id.port = b.id.port",
    "array": "use array_contains to search one",
    "map": "compare their values",
}
"""What to write instead of a comparison of nested values."""


class Fitting(ABC):
    """Checks that parts of an expression fit together; a subclass knows their type families."""

    def __init__(self, text: Text, items: Sequence[FromItem], span: Span) -> None:
        self._text = text
        self._items = items
        self._span = span
        self._variables: dict[str, ColumnType] = {}
        """The types of the variables of lambdas."""

    @abstractmethod
    def family(self, node: exp.Expression | None) -> Family:
        """Return the type family of an expression."""

    def full_type(self, node: exp.Expression) -> ColumnType | None:
        """Return the type of an expression if it follows from declarations alone, as for nested values."""
        return full_type(node, self.declared)

    def declared(self, node: exp.Expression) -> ColumnType:
        """Return the type of a column, or of the variable of a lambda."""
        if isinstance(node, exp.Identifier):
            return self._variables[node.name]
        column = self._items[int(node.args["table"].name[1:])].relation.column(node.this.name)
        assert column is not None
        return column.type

    def _expect(self, node: exp.Expression, wanted: Family, where: str) -> Family:
        family = self.family(node)
        if family not in (wanted, "null", "any"):
            self._fail(f"{where} needs {called(wanted)}, but this is {called(family)}.{cast_hint(family)}", node)
        return wanted

    def _alike(
        self, nodes: Sequence[exp.Expression], what: str, whole: exp.Expression, *, nested: bool = False
    ) -> Family:
        families = [(self.family(node), node) for node in nodes]
        kinds = list(dict.fromkeys(family for family, _ in families if family not in ("null", "any")))
        texts = [node for family, node in families if family == "text"]
        if set(kinds) == {"time", "text"} and all(isinstance(node, exp.Literal) for node in texts):
            for node in texts:
                self._expect_time(node)
            return "time"  # a time may be compared with a time written as a string
        if len(kinds) > 1:
            words = " and ".join(called(kind) for kind in kinds)
            self._fail(f"{words} cannot be {what}.{cast_hint(*kinds)}", whole)
        if kinds and kinds[0] in ("array", "map", "struct"):
            self._alike_inside(nodes, what, whole, nested=nested)
        return kinds[0] if kinds else "null"

    def _alike_inside(
        self, nodes: Sequence[exp.Expression], what: str, whole: exp.Expression, *, nested: bool
    ) -> None:
        types = {each.name: each for node in nodes if (each := self.full_type(node)) is not None}
        family = next(iter(types.values())).family
        if not nested:
            self._fail(f"{family}s cannot be compared: {_COMPARE_INSTEAD[family]}", whole)
        if len(types) > 1:
            self._fail(f"{' and '.join(types).replace('`', '')} cannot be {what}", whole)

    def _expect_time(self, node: exp.Expression) -> None:
        """Fail if this is a string literal that is not a time: Spark itself would fail only when it runs."""
        if isinstance(node, exp.Literal) and node.is_string and not is_time(node.name):
            self._fail(f"{node.name[:40]!r} is not a time: write it as '2026-01-31 12:00:00'", node)

    def _expect_brackets(self, *nodes: exp.Expression) -> None:
        """Fail if a condition is inside another without parentheses: Spark and sqlglot differ in precedence."""
        for node in nodes:
            if isinstance(node, _CONDITIONS):
                self._fail("put this condition in parentheses", node)

    def _expect_word(self, word: str, words: Collection[str], where: str, node: exp.Expression) -> None:
        if word not in words:
            hint = nearest(word, words) or f" There are {', '.join(sorted(words))}"
            self._fail(f"{where} does not know {word[:40]!r}.{hint}", node)

    def _written(self, node: exp.Expression) -> str:
        """Return the name of a function as the script spells it, or the text of any other node."""
        span = span_of_node(node, self._span)
        text = " ".join(self._text.content[span.start : span.stop].split())
        call = _CALL.fullmatch(text)
        return call[1] if call else text[:40]

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))


def cast_hint(*families: Family) -> str:
    """Return a hint to cast a string, if one of these families is a string."""
    if "text" not in families:
        return ""
    return f" Use a cast such as CAST(… AS {'TIMESTAMP' if 'time' in families else 'INT'})"
