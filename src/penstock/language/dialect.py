"""The SQL dialect of scripts: Spark's, with the place in the text kept in every node of the tree."""

from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from penstock.language import aggregates
from penstock.language.functions import FUNCTIONS

E = TypeVar("E", bound=exp.Expr)
_AS_WRITTEN = (FUNCTIONS.keys() - {"div", "mod", "substr", "substring", "trim"}) | aggregates.NAMES
"""Functions whose calls are kept as written. The others are parsed; some have keywords between arguments."""


def _mod(args: list[exp.Expr]) -> exp.Paren:
    dividend, divisor = args
    return exp.Paren(this=SparkParser.FUNCTIONS["MOD"]([dividend, divisor]))  # or ~MOD(a, b) is (~a) % b


def _div(args: list[exp.Expr]) -> exp.Paren:
    dividend, divisor = args
    return exp.Paren(this=SparkParser.FUNCTIONS["DIV"]([dividend, divisor]).unnest())


class _Parser(SparkParser):
    STRICT_CAST = True  # CAST is exp.Cast, and TRY_CAST alone exp.TryCast
    ADD_JOIN_ON_TRUE = False  # a JOIN without ON has no condition, instead of an added TRUE
    # Left out: functions that are passed on as written, names that Spark does not know, and parsers that skip what
    # they do not expect.
    FUNCTIONS = {
        name: build
        for name, build in SparkParser.FUNCTIONS.items()
        if name.lower() not in _AS_WRITTEN and name not in ("AND", "OR") and not name.endswith("_TO_DATE_STR")
    } | {"DIV": _div, "MOD": _mod}
    FUNCTION_PARSERS = {  # noqa: RUF012
        name: read
        for name, read in SparkParser.FUNCTION_PARSERS.items()
        if name.lower() not in _AS_WRITTEN and name not in ("AND", "OR")
    }
    NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012
        name: read
        for name, read in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
        if name != "ANY"  # it would read any(a) * b as any(a * b)
    }

    def _parse_unary(self) -> exp.Expr | None:
        start = self._curr.start
        return self._placed(super()._parse_unary(), start)

    def _parse_function(self, *args: Any, **kwargs: Any) -> exp.Expr | None:  # noqa: ANN401
        first = self._curr
        try:
            return self._placed(super()._parse_function(*args, **kwargs), first.start if first else 0)
        except ParseError as error:
            if error.errors[0].pop("call", False):  # an error of this function, not of one inside
                error.errors[0].update(function=first.text, start=first.start, end=self._end_of_call)
            raise
        except (
            ValueError,
            LookupError,
            AttributeError,
            TypeError,
        ) as error:  # for DATE_TRUNC()
            details = {"function": first.text, "start": first.start, "end": self._end_of_call}
            raise ParseError("Wrong arguments", [details]) from error

    @property
    def _end_of_call(self) -> int:
        closed = self._curr is not None and self._curr.token_type == TokenType.R_PAREN
        return (self._curr if closed else self._prev).end

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        start, leftmost = self._curr.start, this
        while isinstance(leftmost, exp.Expr):
            start = leftmost.meta.get("start", start)
            leftmost = None if "start" in leftmost.meta else leftmost.this
        return self._placed(super()._parse_range(this, parse_is), start)

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:  # noqa: ANN401
        start = self._curr.start
        return self._placed(super()._parse_table(*args, **kwargs), start)

    def _parse_select(self, *args: Any, **kwargs: Any) -> exp.Expr | None:  # noqa: ANN401
        """Record the offset of the keyword in each SELECT."""
        first = self._curr
        query = leftmost = super()._parse_select(*args, **kwargs)
        if first.token_type == TokenType.SELECT:
            while isinstance(leftmost, exp.SetOperation | exp.Subquery):
                leftmost = leftmost.this
            if isinstance(leftmost, exp.Select):
                leftmost.meta.setdefault("select", first.start)
        return query

    def _parse_with(self, *args: Any, **kwargs: Any) -> exp.With | None:  # noqa: ANN401
        start = self._curr.start
        clause = super()._parse_with(*args, **kwargs)
        self._placed(clause, start)
        return clause

    def parse_set_operation(self, *args: Any, **kwargs: Any) -> exp.SetOperation | None:  # noqa: ANN401
        """Record the place of UNION, EXCEPT or INTERSECT."""
        word = self._curr
        made = super().parse_set_operation(*args, **kwargs)
        if made is not None:
            made.meta.update(word=(word.start, word.end + 1))
        return made

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:  # noqa: ANN401
        start = self._curr.start
        if self._curr.token_type == TokenType.COMMA and self._next.token_type == TokenType.L_PAREN:
            self._advance()  # the parser would report errors inside of the subquery at the comma
            join: exp.Join | None = self.expression(exp.Join(this=self._parse_table()))
        else:
            join = super()._parse_join(*args, **kwargs)
        if join is not None and self._prev.token_type == TokenType.ON:
            self.raise_error("Required condition", self._prev)
        self._placed(join, start)
        return join

    def _placed(self, node: exp.Expr | None, start: int) -> exp.Expr | None:
        """Record where a node begins and ends in the text; sqlglot does so only for names and literals."""
        if node is not None:
            node.meta.update(start=start, end=self._prev.end)
        return node

    def validate_expression(self, expression: E, args: list[Any] | None = None) -> E:
        """Reject a function call of which the tree lost an argument, such as MOD(a, b, c)."""
        try:
            expression = super().validate_expression(expression, args)
            for arg in args or ():
                lost = isinstance(arg, exp.Expr) and arg is not expression and arg.root() is not expression
                if lost and not isinstance(expression, exp.TimestampTrunc | exp.DateTrunc):  # these keep a word
                    self.raise_error("Too many arguments")
        except ParseError as error:
            written_as_call = args is not None or isinstance(expression, exp.Func)
            error.errors[0]["call"] = written_as_call and not isinstance(expression, exp.Binary)
            raise
        return expression

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Raise the error with the offsets of the token."""
        at = token or self._curr or self._prev
        try:
            super().raise_error(message, at)
        except ParseError as error:
            error.errors[0].update(start=at.start, end=at.end)
            raise


class PenstockDialect(Spark):
    """Spark's dialect, with doubled quotes inside quotes, as Spark reads them since version 4."""

    class Tokenizer(Spark.Tokenizer):
        """Reads 'it''s' as one string."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012

    Parser = _Parser


DIALECT = PenstockDialect()
