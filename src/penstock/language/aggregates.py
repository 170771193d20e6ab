"""The aggregate functions that a query may call: arguments, result and description of each, in one table.

| word of a signature | what the argument is |
|---|---|
| `number`, `truth` | of that type family |
| `simple` | anything but an array, a map or a struct |
| `value` | anything but a map, or something with a map inside |
| `any` | anything |

A trailing `*` marks an argument that may be repeated.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.language.names import name_key

Gives = Literal["number", "truth", "first"]
"""The family of a result; `first` is the type of the first argument."""


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate function: its arguments, its result, and what the manual says about it.

    >>> FUNCTIONS["min_by"].count, FUNCTIONS["min_by"].accepts(1), FUNCTIONS["count_distinct"].count
    ('2 arguments', False, '1 or more arguments')
    """

    takes: str
    gives: Gives
    written: str
    """How it is written, with its aliases."""
    about: str

    def kind(self, place: int) -> str:
        """Return what the argument at that place may be."""
        words = self.takes.split()
        return words[min(place, len(words) - 1)].rstrip("*")

    def accepts(self, count: int) -> bool:
        """Return whether it can have that number of arguments."""
        least = len(self.takes.split())
        return count >= least if self.takes.endswith("*") else count == least

    @property
    def count(self) -> str:
        """The number of arguments, in words."""
        least = len(self.takes.split())
        more = " or more" if self.takes.endswith("*") else ""
        return f"{least}{more} argument{'s' if more or least > 1 else ''}"


_of = AggregateFunction
FUNCTIONS: Mapping[str, AggregateFunction] = {
    "count": _of("any", "number", "count(*), count(x)", "number of rows; of those where x is not NULL"),
    "count_distinct": _of("simple*", "number", "count(DISTINCT x, …)", "number of different values, exactly"),
    "approx_count_distinct": _of(
        "simple", "number", "approx_count_distinct(x)", "about how many, in little memory: off by 2 % or so"
    ),
    "sum": _of("number", "number", "sum(x)", "sum"),
    "avg": _of("number", "number", "avg(x), mean(x)", "average"),
    "min": _of("simple", "first", "min(x)", "smallest value"),
    "max": _of("simple", "first", "max(x)", "largest value"),
    "min_by": _of("value simple", "first", "min_by(x, k)", "x of the row with the smallest k"),
    "max_by": _of("value simple", "first", "max_by(x, k)", "x of the row with the largest k"),
    "first": _of("value", "first", "first(x), first_value(x)", "x of the first row"),
    "last": _of("value", "first", "last(x), last_value(x)", "x of the last row"),
    "stddev_samp": _of(
        "number", "number", "stddev(x), stddev_samp(x), std(x)", "standard deviation of a sample: divided by n - 1"
    ),
    "stddev_pop": _of("number", "number", "stddev_pop(x)", "standard deviation of all: divided by n"),
    "var_samp": _of("number", "number", "variance(x), var_samp(x)", "variance of a sample: divided by n - 1"),
    "var_pop": _of("number", "number", "var_pop(x)", "variance of all: divided by n"),
    "bool_and": _of("truth", "truth", "bool_and(c), every(c)", "whether all conditions are true"),
    "bool_or": _of("truth", "truth", "bool_or(c), some(c), any(c)", "whether a condition is true"),
}
"""Every aggregate function, by its canonical name."""
COUNT_IF = "count_if"
"""A count with a FILTER."""
COUNT_IF_ABOUT = ("count_if(c)", "number of rows for which the condition is true")

ALIASES: Mapping[str, str] = {
    "mean": "avg",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "first_value": "first",
    "last_value": "last",
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
}
"""Other names of aggregate functions."""

_QUANTILE = "There are avg(x), min(x) and max(x), and counts such as count_if(x > 100)"
_LIST = "SELECT DISTINCT returns each value as a row, and count(DISTINCT x) counts them"
_SKETCH = "Write approx_count_distinct(x)"
_OVER = "window functions are not implemented yet"
UNSUPPORTED: Mapping[str, str] = {
    **dict.fromkeys(("percentile", "percentile_approx", "approx_percentile", "percentile_cont"), _QUANTILE),
    **dict.fromkeys(("percentile_disc", "median", "quantile", "approx_quantile", "histogram_numeric"), _QUANTILE),
    **dict.fromkeys(("collect_list", "collect_set", "array_agg", "array_unique_agg"), _LIST),
    **dict.fromkeys(("string_agg", "listagg", "group_concat"), _LIST),
    **dict.fromkeys(("mode", "approx_top_k"), "GROUP BY x and count(*) give the frequency of each value"),
    **dict.fromkeys(("corr", "skewness", "kurtosis", "regr_slope", "regr_intercept", "regr_r2"), ""),
    **dict.fromkeys(("regr_count", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"), ""),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor", "product", "covar_pop", "covar_samp"), ""),
    **dict.fromkeys(("count_min_sketch", "hll_sketch_agg", "hll_union_agg", "approx_distinct"), _SKETCH),
    **dict.fromkeys(("bitmap_construct_agg", "bitmap_or_agg"), _SKETCH),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "ntile", "percent_rank", "cume_dist"), _OVER),
    **dict.fromkeys(("lag", "lead", "nth_value"), f"{_OVER}; first(x) and last(x) are there"),
    **dict.fromkeys(("grouping", "grouping_id"), "A query has one grouping"),
    **dict.fromkeys(("arg_min", "argmin"), "Write min_by(x, k)"),
    **dict.fromkeys(("arg_max", "argmax"), "Write max_by(x, k)"),
    **dict.fromkeys(("logical_and", "bool_every"), "Write bool_and(condition)"),
    "logical_or": "Write bool_or(condition)",
    "countif": "Write count_if(condition)",
    "any_value": "Write first(x) or max(x)",
    "sum_distinct": "SELECT DISTINCT returns each value as a row",
    "try_sum": "Write sum(x)",
    "try_avg": "Write avg(x)",
}
"""Aggregate functions of Spark and other systems that are not supported, and what to write instead."""

NAMES = frozenset((*FUNCTIONS, *ALIASES, COUNT_IF, *UNSUPPORTED)) - {"count_distinct"}
"""All names by which the parser knows a call as an aggregate."""


def unsupported(name: str) -> str:
    """Return what is said against an aggregate that is not supported.

    >>> unsupported("arg_max")
    'ARG_MAX is not supported: this aggregate is not implemented. Write max_by(x, k)'
    """
    hint = UNSUPPORTED.get(name, "")
    if hint.startswith(_OVER):
        return f"{name.upper()} is not supported: {hint}"
    return f"{name.upper()} is not supported: this aggregate is not implemented. {hint}".rstrip(" .")


AROUND = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
"""What may follow the parentheses of an aggregate."""


def name_of(node: exp.Expression) -> str | None:
    """Return the name of the aggregate that an expression calls, in lower case; None if it calls none.

    >>> from penstock.language.dialect import DIALECT
    >>> [name_of(each) for each in DIALECT.parse("SELECT Sum(x) FILTER (WHERE y), abs(x)")[0].expressions]
    ['sum', None]
    """
    while isinstance(node, AROUND) and isinstance(node.this, exp.Expression):
        node = node.this
    if isinstance(node, exp.Anonymous):
        return node.name.lower() if node.name.lower() in NAMES else None
    return node.sql_name().lower() if isinstance(node, exp.AggFunc) else None


def parts_in(tree: exp.Expression) -> Iterator[tuple[exp.Expression, frozenset[str]]]:
    """Yield calls of aggregates, OVER and columns outside of both, from left to right; not those in subqueries.

    Each comes with the keys of the names that belong to lambdas around it.
    """
    pending: list[tuple[exp.Expression, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, hidden = pending.pop()
        if isinstance(node, exp.Column | exp.Window) or name_of(node) is not None:
            yield node, hidden
            continue
        if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
            continue
        if isinstance(node, exp.Lambda):
            hidden |= {name_key(variable.name) for variable in node.expressions}
        pending.extend((child, hidden) for child in node.iter_expressions(reverse=True))


def aggregates_in(tree: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the calls of aggregates from left to right, except those in others, in OVER and in subqueries."""
    return (node for node, _ in parts_in(tree) if name_of(node) is not None)


def bare_name(node: exp.Expression) -> str | None:
    """Return the key of a column's name that is written without an alias; None for anything else."""
    bare = isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and not node.args.get("table")
    return name_key(node.name) if bare else None
