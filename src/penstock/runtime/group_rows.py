"""Groups at run time: the table of constants, the rows of each member, and groups of fewer members."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.network import Edge
from penstock.plan.aggregate_steps import BLOCK_SIZE, PANE_SIZE, VARIANTS
from penstock.plan.columns import arrow_type, numbers
from penstock.plan.group import QUERY, Group
from penstock.plan.plan import Plan
from penstock.plan.steps import MEMBER, VARIANT, Close, Lookup, seq
from penstock.runtime.query_state import QueryState
from penstock.runtime.rows.job_input import InputRows
from penstock.runtime.work import Work


def constants_of(group: Group) -> pa.Table:
    """Return the table of constants of a group: those of each member, with its number."""
    columns = {
        f"c{place}": pa.array([member.values[place] for member in group.members.values()], arrow_type(kind))
        for place, kind in enumerate(group.template.types)
    }
    members = pa.array([member.number for member in group.members.values()], pa.int32())
    return pa.table({**columns, MEMBER: members})


def variants_of(group: Group) -> pa.Table:
    """Return the table of a group's variants: the constants that rows meet, each combination once."""
    types = [group.template.types[place] for place in group.template.of_rows]
    columns = {
        f"c{place}": pa.array([variant.values[index] for variant in group.variants.values()], arrow_type(kind))
        for index, (place, kind) in enumerate(zip(group.template.of_rows, types, strict=True))
    }
    columns[PANE_SIZE] = pa.array([variant.pane for variant in group.variants.values()], pa.int64())
    columns[BLOCK_SIZE] = pa.array([group.blocks[number] for number in group.variants], pa.int64())
    return pa.table({**columns, VARIANT: pa.array(list(group.variants), pa.int32())})


def seen_by_members(
    group: Group, states: Mapping[str, QueryState], table: pa.Table, *, numbered: bool = True
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return the rows of a group that their members see, and each row's member number.

    Unless rows are `numbered`, live members see all of them.

    Rows of members that are gone are left out, and those from before a member's start or after its end.
    """
    members = numbers(table, MEMBER)
    live = {number: states[name] for number, name in group.names.items() if states[name].live}
    kept = _seen(group, live, table if numbered else None, members)
    if kept.all():
        return table, members
    return table.filter(pa.array(kept)), members[kept]


def named_rows(group: Group, rows: pa.Table, members: NDArray[np.int64]) -> pa.Table:
    """Return rows of a group with the column `__query`, the name of each row's query."""
    names = [""] * group.used
    for number, name in group.names.items():
        names[number] = name
    whose = pa.DictionaryArray.from_arrays(pa.array(members, pa.int32()), pa.array(names, pa.string()))
    return rows.add_column(0, QUERY, whose)


def _seen(
    group: Group, here: Mapping[int, QueryState], table: pa.Table | None, places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    live = np.zeros(group.used, dtype=bool)
    live[list(here)] = True
    kept: NDArray[np.bool_] = live[places]
    bounds = {number: state.bounds for number, state in here.items()}
    for place in range(len(group.template.query.streams) if table is not None else 0):
        first = np.full(group.used, np.iinfo(np.int64).min)
        end = np.full(group.used, np.iinfo(np.int64).max)
        bounded = False
        for number, (low, high) in ((number, each[place]) for number, each in bounds.items()):
            bounded = bounded or low is not None or high is not None
            first[number] = first[number] if low is None else low
            end[number] = end[number] if high is None else high
        if bounded:
            sequence = numbers(table, seq(place))
            kept &= (sequence >= first[places]) & (sequence < end[places])
    return kept


def split(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield each query of a table with the column `__query`, and its rows without that column."""
    whose = rows.column(QUERY).combine_chunks()
    if isinstance(whose, pa.ChunkedArray):
        whose = whose.chunk(0)
    places = whose.indices.to_numpy()
    order = np.argsort(places, kind="stable")
    ordered = rows.drop_columns([QUERY]).take(pa.array(order))
    bounds = np.flatnonzero(np.diff(places[order])) + 1
    for first, end in zip([0, *bounds], [*bounds, len(places)], strict=True):
        if end > first:
            yield whose.dictionary[int(places[order[first]])].as_py(), ordered.slice(first, end - first)


def of_members(plan: Plan, edge: Edge, rows: InputRows) -> InputRows:
    """Return the rows that wait at an edge, without those of members that have left their group."""
    found = _owners_at(plan, edge)
    if found is None:
        return rows
    group = plan.groups[found.group]
    used = group.used_variants if found.of_variants else group.used
    numbers_left = list(group.variants if found.of_variants else group.names)
    return rows if len(numbers_left) == used else _taken(rows, found.column, numbers_left)


class _Owners(NamedTuple):
    """The column of rows with the members of a group, or the variants, to which they belong."""

    group: str
    column: str
    of_variants: bool


def _owners_at(plan: Plan, edge: Edge) -> _Owners | None:
    """Return to which members of a group the rows belong that wait at an edge; None if they belong to none."""
    for step in (plan.steps[edge.target], plan.steps.get(edge.source)):
        if isinstance(step, Close):
            return None if step.group is None else _Owners(step.group, MEMBER, False)
    step = plan.steps.get(edge.source)
    if not (isinstance(step, Lookup) and step.table.is_constants):
        return None
    of_variants = step.table.name.endswith(VARIANTS)
    column = step.named(VARIANT if of_variants else MEMBER)
    return _Owners(step.table.name.removesuffix(VARIANTS), column, of_variants)


def restricted(work: Work, group: Group, members: Collection[str]) -> Work:
    """Return the work as if the group had only these members."""
    left = [group.members[name].number for name in members]
    variants = sorted({group.members[name].variant for name in members})
    constants = dict(work.constants)
    for name, column, numbers_left in (
        (group.name, MEMBER, left),
        (f"{group.name}{VARIANTS}", VARIANT, variants),
    ):
        if name in constants:
            constants[name] = _only(constants[name], column, numbers_left)
    takes = {}
    for edge, rows in work.takes.items():
        found = _owners_at(work.plan, edge)
        if found is not None and found.group == group.name:
            rows = _taken(rows, found.column, variants if found.of_variants else left)
        takes[edge] = rows
    closing = {}
    for name, each in work.closing.items():
        step = work.plan.steps[name]
        own = isinstance(step, Close) and step.group == group.name
        closing[name] = replace(each, windows=_only(each.windows, MEMBER, left)) if own else each
    return replace(work, constants=constants, takes=takes, closing=closing)


def _taken(rows: InputRows, column: str, members: list[int]) -> InputRows:
    """Return rows that wait behind a group's constants, only those of these members; they are resident."""
    assert not rows.stored
    return rows if rows.table is None else InputRows(_only(rows.table, column, members))


def _only(table: pa.Table, column: str, members: list[int]) -> pa.Table:
    return table.filter(pa.array(np.isin(numbers(table, column), members)))
