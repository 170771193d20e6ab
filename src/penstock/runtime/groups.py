"""Groups of queries at work: their table of constants, their rows told apart, a part of a group tried alone."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.network import Edge
from penstock.plan.columns import arrow_type, is_hidden, numbers
from penstock.plan.group import QUERY, Group
from penstock.plan.plan import Plan
from penstock.plan.steps import ARRIVAL, Lookup, seq
from penstock.plan.template import MEMBER
from penstock.runtime.query_state import QueryState
from penstock.runtime.recorder import Recorder
from penstock.spark.job import Work


def constants_of(group: Group) -> pa.Table:
    """Return the table that a group's plan is joined with: the constants of each member, and its number."""
    columns = {
        f"c{place}": pa.array([member.values[place] for member in group.members.values()], arrow_type(kind))
        for place, kind in enumerate(group.template.types)
    }
    members = pa.array([member.number for member in group.members.values()], pa.int32())
    return pa.table({**columns, MEMBER: members})


def emitted_by(
    group: Group,
    states: Mapping[str, QueryState],
    table: pa.Table,
    now_us: int,
    ideal_s: float,
    recorder: Recorder | None = None,
) -> pa.Table | None:
    """Count a group's results, and return them with a column `__query`; None if there are none.

    Rows that a member does not see, because it came later or had ended, and rows of members that have gone are
    left out.
    """
    places = numbers(table, MEMBER)
    here = {number: states[name] for number, name in group.names.items() if states[name].live}
    kept = _seen(group, here, table, places)
    if not kept.all():
        table, places = table.filter(pa.array(kept)), places[kept]
    if not table.num_rows:
        return None
    waited = (now_us - numbers(table, ARRIVAL)) / 1e6
    _count(here, places, waited, ideal_s)
    if recorder is not None:
        recorder.emitted_by(group, places, waited, ideal_s)
    names = [""] * group.used
    for number, name in group.names.items():
        names[number] = name
    whose = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(names, pa.string()))
    columns = [name for name in table.column_names if not is_hidden(name)]
    return table.select(columns).add_column(0, QUERY, whose)


def _seen(
    group: Group, here: Mapping[int, QueryState], table: pa.Table, places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    streams = [item.relation.name for item in group.template.query.streams]
    live = np.zeros(group.used, dtype=bool)
    live[list(here)] = True
    kept = live[places]
    for place, stream in enumerate(streams):
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


def _count(
    here: Mapping[int, QueryState], places: NDArray[np.int64], waited: NDArray[np.float64], ideal_s: float
) -> None:
    counts = np.bincount(places)
    totals = np.bincount(places, waited)
    squares = np.bincount(places, waited * waited)
    most = np.zeros(len(counts))
    np.maximum.at(most, places, waited)
    for number in np.flatnonzero(counts).tolist():
        state = here[number]
        count, total = int(counts[number]), float(totals[number])
        square, highest = float(squares[number]), float(most[number])
        state.outputs += count
        state.response.merge(count, total, square, highest)
        state.slowdown.merge(count, total / ideal_s, square / ideal_s**2, highest / ideal_s)


def split(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Return the rows of each query of a table with a column `__query`, without that column."""
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


def of_members(plan: Plan, edge: Edge, rows: pa.Table) -> pa.Table:
    """Return the rows that wait at an edge without those of members that have left their group since."""
    step = plan.steps.get(edge.source)
    if not (isinstance(step, Lookup) and step.table.is_constants):
        return rows
    group = plan.groups[step.table.name]
    return rows if len(group.names) == group.used else _only(rows, step.named(MEMBER), list(group.names))


def restricted(work: Work, group: Group, members: Collection[str]) -> Work:
    """Return the work as if these were all members of the group."""
    left = [group.members[name].number for name in members]
    constants = {
        name: _only(table, MEMBER, left) if name == group.name else table for name, table in work.constants.items()
    }
    takes = {}
    for edge, rows in work.takes.items():
        step = work.plan.steps.get(edge.source)
        takes[edge] = rows
        if isinstance(step, Lookup) and step.table.name == group.name:
            takes[edge] = _only(rows, step.named(MEMBER), left)
    return replace(work, constants=constants, takes=takes)


def _only(table: pa.Table, column: str, members: list[int]) -> pa.Table:
    return table.filter(pa.array(np.isin(numbers(table, column), members)))
