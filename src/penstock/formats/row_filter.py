"""Row filters: conditions that Arrow and Spark evaluate alike, from the SQL of a WHERE.

Only what cannot fail is translated: whole numbers, DOUBLE and STRING columns compared with constants, connected by
AND and OR. A filter may keep rows that its condition excludes, but never excludes one that the condition keeps, so
the condition is evaluated again on the rows that are left.

>>> kinds = {"v": "INT", "word": "STRING"}
>>> row_filter("v >= 5 AND v < 7 AND upper(word) = 'X'", kinds)
('and', ('>=', 'v', 5), ('<', 'v', 7))
>>> row_filter("upper(word) = 'X' OR v < 7", kinds) is None
True
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.formats.parquet_scan import RowFilter
from penstock.language.dialect import DIALECT

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_LEAST, _MOST = -(2**63), 2**63 - 1
_MOST_LISTED = 50
"""Constants of an IN that are compared one by one, and ANDs and ORs of a condition."""


def row_filter(condition: str, kinds: Mapping[str, str]) -> RowFilter | None:
    """Return a condition as a filter of rows; None if it excludes no row that a filter could find.

    `kinds` are the declared types of the columns.
    """
    return _parsed(condition, tuple(sorted(kinds.items())))


@lru_cache(maxsize=10_000)
def _parsed(condition: str, types: tuple[tuple[str, str], ...]) -> RowFilter | None:
    kinds = dict(types)
    try:
        [tree] = DIALECT.parse(condition)
    except (SqlglotError, ValueError, RecursionError):
        return None
    if tree is None or sum(1 for _ in tree.find_all(exp.Connector)) > _MOST_LISTED:
        return None
    return _filter_of(tree, kinds)


def renamed(where: RowFilter, names: Mapping[str, str]) -> RowFilter:
    """Return a filter with other names of columns.

    >>> renamed(("and", (">", "v", 1), ("=", "w", "v")), {"v": "V", "w": "W"})
    ('and', ('>', 'V', 1), ('=', 'W', 'v'))
    """
    word, *given = where
    if word in ("and", "or"):
        return (word, *(renamed(each, names) for each in given))
    return (word, names[given[0]], given[1])


def columns_of(where: RowFilter) -> set[str]:
    """Return the columns that a filter reads."""
    word, *given = where
    return set().union(*map(columns_of, given)) if word in ("and", "or") else {given[0]}


def all_of(filters: list[RowFilter]) -> RowFilter | None:
    """Return a filter of the rows that all filters keep; None if there are none."""
    return _joined("and", filters) if filters else None


def any_of(filters: list[RowFilter | None]) -> RowFilter | None:
    """Return a filter of the rows that one of the filters keeps; None keeps every row."""
    known = [each for each in filters if each is not None]
    return _joined("or", known) if known and len(known) == len(filters) else None


def _joined(word: str, filters: list[RowFilter]) -> RowFilter:
    found: RowFilter = filters[0]
    for each in filters[1:]:
        found = (word, found, each)
    return found


def _filter_of(tree: exp.Expr, kinds: Mapping[str, str]) -> RowFilter | None:
    if isinstance(tree, exp.Paren):
        return _filter_of(tree.this, kinds)
    if isinstance(tree, exp.And):  # either side alone excludes no row that both keep
        sides = [_filter_of(side, kinds) for side in (tree.this, tree.expression)]
        return all_of([each for each in sides if each is not None])
    if isinstance(tree, exp.Or):
        return any_of([_filter_of(side, kinds) for side in (tree.this, tree.expression)])
    if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        bounds = (("low", ">="), ("high", "<="))
        limits = [_comparison(sign, tree.this, tree.args[name], kinds) for name, sign in bounds]
        return all_of([each for each in limits if each is not None])
    if isinstance(tree, exp.In) and len(tree.expressions) <= _MOST_LISTED:
        return any_of([_comparison("=", tree.this, each, kinds) for each in tree.expressions])
    sign = _OPERATORS.get(type(tree))
    if sign is None:
        return None
    return _comparison(sign, tree.this, tree.expression, kinds) or _comparison(
        _MIRRORED[sign], tree.expression, tree.this, kinds
    )


def _comparison(sign: str, column: exp.Expr, constant: exp.Expr, kinds: Mapping[str, str]) -> RowFilter | None:
    while isinstance(column, exp.Paren):
        column = column.this
    if not isinstance(column, exp.Column) or column.table or column.name not in kinds:
        return None
    value = _value(constant, kinds[column.name])
    return None if value is None else (sign, column.name, value)


def _value(constant: exp.Expr, kind: str) -> Any:  # noqa: ANN401
    """Return a constant that Spark compares with a column without rounding it; None for others."""
    while isinstance(constant, exp.Paren):
        constant = constant.this
    sign = ""
    if isinstance(constant, exp.Neg):
        sign, constant = "-", constant.this
    if not isinstance(constant, exp.Literal):
        return None
    text = str(constant.this)
    if constant.is_string:
        return text if kind == "STRING" and not sign else None
    try:
        if kind in _INTEGERS:
            number = int(sign + text)
            return number if _LEAST <= number <= _MOST else None
        return float(sign + text) if kind == "DOUBLE" else None
    except ValueError:
        return None
