"""What fits together in an expression: families of types, times in quotes, words, brackets."""

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
from penstock.language.times import is_time
from penstock.language.types import ColumnType, Family, called

COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
LIKE = (exp.Like, exp.ILike, exp.RegexpLike)
_CONDITIONS = (*COMPARED, *LIKE, exp.Escape, exp.Between, exp.In, exp.Is, exp.Not, exp.And, exp.Or)
_CALL = re.compile(r"(\w+) ?\(.*\)( (OVER|FILTER|WITHIN) .*)?", re.IGNORECASE)
_INSTEAD = {
    "struct": "compare their fields, as in a.id.port = b.id.port",
    "array": "array_contains and exists look into one",
    "map": "compare their values, as in a.m['k'] = b.m['k']",
}
"""What may be compared instead of what is nested."""


class Fitting(ABC):
    """The rules by which parts of an expression fit together, for a check that knows their families."""

    def __init__(self, text: Text, items: Sequence[FromItem], span: Span) -> None:
        self._text = text
        self._items = items
        self._span = span
        self._variables: dict[str, ColumnType] = {}
        """The types of the variables of lambdas."""

    @abstractmethod
    def family(self, node: exp.Expression | None) -> Family:
        """Return what kind of value the expression has."""

    def full_type(self, node: exp.Expression) -> ColumnType | None:
        """Return the type of an expression if it follows from declarations alone, as that of a nested one does."""
        return full_type(node, self._declared)

    def _declared(self, node: exp.Expression) -> ColumnType:
        if isinstance(node, exp.Identifier):
            return self._variables[node.name]
        column = self._items[int(node.args["table"].name[1:])].relation.column(node.this.name)
        assert column is not None
        return column.type

    def _expect(self, node: exp.Expression, wanted: Family, where: str) -> Family:
        family = self.family(node)
        if family not in (wanted, "null", "any"):
            self._fail(f"{where} needs {called(wanted)}, and this is {called(family)}.{cast_hint(family)}", node)
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
            return "time"  # a time may be compared with one written as a string
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
            hint = {
                "struct": "compare their fields: a.id.port = b.id.port",
                "array": "array_contains looks into one",
            }
            self._fail(f"{family}s cannot be compared: {hint.get(family, 'compare their values')}", whole)
        if len(types) > 1:
            self._fail(f"{' and '.join(types).replace('`', '')} cannot be {what}", whole)

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


def cast_hint(*families: Family) -> str:
    """Return how a string becomes what is wanted, if one of these is a string."""
    if "text" not in families:
        return ""
    return f" CAST(… AS {'TIMESTAMP' if 'time' in families else 'INT'}) or the like turns one into the other"
