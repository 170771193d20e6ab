"""Resolved expressions as SQL of Spark: columns of FROM items under the names that they have in an operator."""

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from penstock.language.dialect import DIALECT
from penstock.language.statements import GROUPED
from penstock.plan.may_fail import may_fail
from penstock.plan.steps import Condition

Rename = Callable[[int, str], tuple[str, str]]
"""Maps a place in FROM and a column to its alias in SQL (or an empty string) and its name there."""
GROUP = -1
"""The place of the columns of a group of rows: keys and aggregates."""


def place_of(column: exp.Column) -> int:
    """Return the place in FROM of a resolved column."""
    return GROUP if column.table == GROUPED else int(column.table[1:])


def places_in(tree: exp.Expression) -> frozenset[int]:
    """Return the places in FROM whose columns an expression reads."""
    return frozenset(place_of(column) for column in tree.find_all(exp.Column))


def ordered(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return distinct conditions in a fixed order, so that equal steps have equal SQL.

    Spark evaluates them in this order, and in ANSI mode a division by zero fails the query: `x <> 0 AND 1 / x >
    2`.
    """
    found = {condition.sql: condition for condition in conditions}.values()
    return tuple(sorted(found, key=lambda condition: (condition.late, condition.sql)))


def condition_of(tree: exp.Expression, rename: Rename) -> Condition:
    """Return an expression as SQL, with the columns that it reads."""
    copy = tree.copy()
    columns: set[str] = set()
    nodes: Sequence[exp.Column] = [copy] if isinstance(copy, exp.Column) else list(copy.find_all(exp.Column))
    for column in nodes:
        alias, name = rename(place_of(column), column.name)
        column.this.set("this", name)
        column.set("table", exp.to_identifier(alias) if alias else None)
        columns.add(f"{alias}.{name}" if alias else name)
    late = may_fail(copy)
    return Condition(DIALECT.generate(copy, copy=False, comments=False), frozenset(columns), late=late)
