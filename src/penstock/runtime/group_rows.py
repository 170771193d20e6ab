"""Groups at run time: the table of constants, the rows of each member, and groups of fewer members."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.network import Edge
from penstock.plan.columns import arrow_type, numbers
from penstock.plan.group import QUERY, Group
from penstock.plan.plan import Plan
from penstock.plan.steps import Lookup, seq
from penstock.plan.template import MEMBER
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
    streams = [item.relation.name for item in group.template.query.streams]
    live = np.zeros(group.used, dtype=bool)
    live[list(here)] = True
    kept: NDArray[np.bool_] = live[places]
    for place, stream in enumerate(streams if table is not None else ()):
        first = np.zeros(group.used, dtype=np.int64)
        end = np.full(group.used, np.iinfo(np.int64).max)
        for number, state in here.items():
            first[number] = state.starts[stream]
            if state.ends is not None:
                end[number] = state.ends[stream]
        if first.any() or any(state.ends is not None for state in here.values()):
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
    step = plan.steps.get(edge.source)
    if not (isinstance(step, Lookup) and step.table.is_constants):
        return rows
    group = plan.groups[step.table.name]
    return rows if len(group.names) == group.used else _taken(rows, step.named(MEMBER), list(group.names))


def restricted(work: Work, group: Group, members: Collection[str]) -> Work:
    """Return the work as if the group had only these members."""
    left = [group.members[name].number for name in members]
    constants = {
        name: _only(table, MEMBER, left) if name == group.name else table for name, table in work.constants.items()
    }
    takes = {}
    for edge, rows in work.takes.items():
        step = work.plan.steps.get(edge.source)
        takes[edge] = rows
        if isinstance(step, Lookup) and step.table.name == group.name:
            takes[edge] = _taken(rows, step.named(MEMBER), left)
    return replace(work, constants=constants, takes=takes)


def _taken(rows: InputRows, column: str, members: list[int]) -> InputRows:
    """Return rows that wait behind a group's constants, only those of these members; they are resident."""
    assert not rows.stored
    return rows if rows.table is None else InputRows(_only(rows.table, column, members))


def _only(table: pa.Table, column: str, members: list[int]) -> pa.Table:
    return table.filter(pa.array(np.isin(numbers(table, column), members)))
