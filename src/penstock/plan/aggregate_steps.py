"""The steps of aggregates: partial ones by pane, the windows that close, constants of a group, HAVING."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.language.names import quoted
from penstock.language.statements import (
    CONSTANTS,
    WINDOW_END,
    WINDOW_START,
    AggregateCall,
    Aggregation,
    Column,
    TableDef,
    WindowDef,
)
from penstock.language.types import ColumnType
from penstock.plan.conditions import GROUP, Rename, condition_of, ordered
from penstock.plan.steps import MEMBER, VARIANT, Aggregate, Call, Close, Condition, Key, Lookup, Select

CONSTANTS_PREFIX = "__c_"
"""Begins the names of a group's constants where they are joined with the results of windows."""
PANE_SIZE = "__pane"
"""The column of a group's variants with the size of the panes of each."""
BLOCK_SIZE = "__block"
"""The column of a group's variants with the size of the blocks of each; 0 for none."""
VARIANTS = " variants"
"""Ends the name of the table of a group's variants, after the group's own."""

NO_FIRST = -(2**63) + 1
"""A beginning of a window that is before all others."""

Names = Mapping[tuple[int, str], str]
"""The column for each place in FROM and name there."""


@dataclass(frozen=True)
class Constants:
    """The constants of a group: their place in FROM, their table, and that of the variants if rows meet any."""

    place: int
    table: TableDef
    variants: TableDef | None


def variants_table(constants: TableDef, trees: Collection[exp.Expression], place: int) -> TableDef | None:
    """Return the table of the constants that rows meet, one row for each variant; None if rows meet none."""
    read = {column.name for tree in trees for column in tree.find_all(exp.Column) if column.table == f"f{place}"}
    if not read:
        return None
    columns = [column for column in constants.columns if column.name in read]
    sizes = (Column(name, ColumnType("BIGINT")) for name in (PANE_SIZE, BLOCK_SIZE))
    own = (*sizes, Column(VARIANT, ColumnType("INT")))
    return TableDef(f"{constants.name}{VARIANTS}", (*columns, *own), CONSTANTS)


@dataclass(frozen=True)
class AggregateSteps:
    """The steps from rows to groups that meet HAVING, and the names of the columns after them."""

    steps: tuple[Aggregate | Close | Lookup | Select, ...]
    names: Names


def aggregate_steps(
    aggregation: Aggregation,
    window: WindowDef,
    below: Names,
    constants: Constants | None,
    first: int | None = None,
) -> AggregateSteps:
    """Return the steps of an aggregation over the windows of one stream, given the columns below it."""

    def rename(place: int, name: str) -> tuple[str, str]:
        return "", below[place, name]

    keys = [_key(tree, rename) for tree in aggregation.keys]
    calls = [_call(call, rename) for call in aggregation.calls]
    pane_column = block_column = None
    if constants is not None and constants.variants is not None:
        variant = below[constants.place, VARIANT]
        keys.append(Key(quoted(variant), frozenset({variant}), is_variant=True))
        pane_column, block_column = (below[constants.place, each] for each in (PANE_SIZE, BLOCK_SIZE))
    distinct = tuple(sorted(dict.fromkeys(keys), key=lambda key: key.sql))
    every = tuple(sorted(dict.fromkeys(calls), key=lambda call: call.sql))
    size = 0 if pane_column else window.pane
    steps: list[Aggregate | Close | Lookup | Select] = [
        Aggregate(distinct, window.kind, size, every, pane_column, block_column),
        Close(distinct, every, None if constants else window, constants.table.name if constants else None, first),
    ]
    names = {(GROUP, f"k{place}"): key.name for place, key in enumerate(keys)}
    names |= {(GROUP, f"a{place}"): call.name for place, call in enumerate(calls)}
    names |= {(GROUP, name): name for name in (WINDOW_START, WINDOW_END)}
    if constants is not None:
        steps.append(_own_constants(constants.table))
        columns = (column.name for column in constants.table.columns)
        names |= {(constants.place, name): f"{CONSTANTS_PREFIX}{name}" for name in columns}
    having = (condition_of(tree, lambda place, name: ("", names[place, name])) for tree in aggregation.having)
    kept = ordered(having)
    if kept:
        steps.append(Select(kept))
    return AggregateSteps(tuple(steps), names)


def _own_constants(table: TableDef) -> Lookup:
    """Return the join of a window of a member with the member's constants."""
    same = f"s.{quoted(MEMBER)} = t.{quoted(MEMBER)}"
    return Lookup(table, CONSTANTS_PREFIX, (Condition(same, frozenset({MEMBER})),))


def _key(tree: exp.Expression, rename: Rename) -> Key:
    made = condition_of(tree, rename)
    return Key(made.sql, made.columns)


def _call(call: AggregateCall, rename: Rename) -> Call:
    arguments = [condition_of(tree, rename) for tree in call.arguments]
    condition = None if call.condition is None else condition_of(call.condition, rename)
    columns: frozenset[str] = frozenset().union(*(each.columns for each in arguments))
    if condition is not None:
        columns |= condition.columns
    sql = None if condition is None else condition.sql
    return Call(call.function, tuple(each.sql for each in arguments), sql, columns, call.scaled)


def trees_of(aggregation: Aggregation) -> Iterator[exp.Expression]:
    """Yield the expressions that are computed from rows: keys, arguments of aggregates, and their conditions."""
    yield from aggregation.keys
    for call in aggregation.calls:
        yield from call.arguments
        if call.condition is not None:
            yield call.condition
