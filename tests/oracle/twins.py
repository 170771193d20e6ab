"""Expressions twice over: as SQL text that Spark and DuckDB read alike, and as a Python function of the rows.

NULL is None, and conditions have three values. Compound expressions bring their own parentheses.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.oracle.brute import Environment
from tests.oracle.sqltext import literal

COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


@dataclass(frozen=True)
class Twin:
    """An expression as text and as a function."""

    sql: str
    value: Callable[[Environment], Any]


@dataclass(frozen=True)
class Ref:
    """A source as an expression refers to it; `bare` leaves the qualifier out of the text."""

    name: str
    bare: bool = False

    def __getitem__(self, column: str) -> Twin:
        text = column if self.bare else f"{self.name}.{column}"
        return Twin(text, lambda env: env[self.name][column])


def strict(sql: str, function: Callable, *parts: Twin) -> Twin:
    """NULL where any part is NULL, else the function of the parts."""

    def value(env):
        values = [part.value(env) for part in parts]
        return None if any(v is None for v in values) else function(*values)

    return Twin(sql, value)


def constant(value) -> Twin:
    return Twin(literal(value), lambda env: value)


def compare(op: str, left: Twin, right: Twin) -> Twin:
    return strict(f"{left.sql} {op} {right.sql}", COMPARISONS[op], left, right)


def arithmetic(op: str, left: Twin, right: Twin) -> Twin:
    return strict(f"({left.sql} {op} {right.sql})", ARITHMETIC[op], left, right)


def concat(left: Twin, right: Twin) -> Twin:
    return strict(f"({left.sql} || {right.sql})", operator.add, left, right)


def call(name: str, part: Twin) -> Twin:
    functions = {"ABS": abs, "LENGTH": len, "UPPER": str.upper, "LOWER": str.lower}
    return strict(f"{name}({part.sql})", functions[name], part)


def between(part: Twin, low: Twin, high: Twin) -> Twin:
    return strict(f"{part.sql} BETWEEN {low.sql} AND {high.sql}", lambda v, lo, hi: lo <= v <= hi, part, low, high)


def like(part: Twin, pattern: str) -> Twin:
    signs = {"%": ".*", "_": "."}
    regex = re.compile("".join(signs.get(c, re.escape(c)) for c in pattern), re.DOTALL)
    return strict(f"{part.sql} LIKE {literal(pattern)}", lambda v: regex.fullmatch(v) is not None, part)


def is_in(part: Twin, values: list) -> Twin:
    return strict(f"{part.sql} IN ({', '.join(map(literal, values))})", lambda v: v in values, part)


def is_null(part: Twin, negated: bool = False) -> Twin:
    text = "IS NOT NULL" if negated else "IS NULL"
    return Twin(f"{part.sql} {text}", lambda env: (part.value(env) is None) != negated)


def negate(part: Twin) -> Twin:
    return strict(f"NOT ({part.sql})", operator.not_, part)


def any_of(*parts: Twin) -> Twin:
    def value(env):
        values = [part.value(env) for part in parts]
        return True if True in values else None if None in values else False

    return Twin("(" + " OR ".join(part.sql for part in parts) + ")", value)


def all_of(*parts: Twin) -> Twin:
    """Without parentheses: a WHERE clause; of no parts, the empty one."""

    def value(env):
        values = [part.value(env) for part in parts]
        return False if False in values else None if None in values else True

    return Twin(" AND ".join(part.sql for part in parts), value)


def coalesce(part: Twin, default: Twin) -> Twin:
    def value(env):
        found = part.value(env)
        return default.value(env) if found is None else found

    return Twin(f"COALESCE({part.sql}, {default.sql})", value)


def case(condition: Twin, then: Twin, otherwise: Twin) -> Twin:
    return Twin(
        f"CASE WHEN {condition.sql} THEN {then.sql} ELSE {otherwise.sql} END",
        lambda env: then.value(env) if condition.value(env) is True else otherwise.value(env),
    )
