"""The SQL of a script: Spark's, where every part of a tree knows the place it was read from."""

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser


class _Parser(SparkParser):
    ADD_JOIN_ON_TRUE = False  # a JOIN without ON stays one, and ON without a condition is an error

    def _parse_unary(self) -> exp.Expr | None:
        start = self._curr.start
        return self._placed(super()._parse_unary(), start)

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        start = self._curr.start
        if this is not None:
            start = min((each.meta["start"] for each in this.walk() if "start" in each.meta), default=start)
        return self._placed(super()._parse_range(this, parse_is), start)

    def _placed(self, node: exp.Expr | None, start: int) -> exp.Expr | None:
        """Write down where a part begins and ends; sqlglot itself does so for names and literals alone."""
        if node is not None:
            node.meta.update(start=start, end=self._prev.end)
        return node


class Penstock(Spark):
    """Spark's dialect, with a quote doubled inside quotes, as Spark reads it since version 4."""

    class Tokenizer(Spark.Tokenizer):
        """Reads 'it''s' as one string."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012

    Parser = _Parser


DIALECT = Penstock()
