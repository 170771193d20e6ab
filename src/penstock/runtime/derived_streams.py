"""Derived streams: results of queries become rows of a stream once no earlier one can come.

Rows are numbered in the order of time, then by branch, by the sequence numbers of the rows of which they were
made, and by all their columns. So their order depends on the input alone.
"""

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.network import Edge
from penstock.plan.columns import Micros, is_sequence, numbers, typed
from penstock.plan.steps import ARRIVAL, TIME, Aggregate, Close, Order
from penstock.runtime.admission import Arrived
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.state import RuntimeState

_BRANCH = "__branch"


def derived_in_order(state: RuntimeState) -> Iterator[tuple[str, Order]]:
    """Yield the derived streams that run, each after those that it reads."""
    for operator in state.plan.network.operators:
        step = state.plan.steps[operator.name]
        if isinstance(step, Order):
            yield operator.name, step


def output_watermark(state: RuntimeState, name: str) -> float:
    """Return the time up to which all rows that a stream or an operator will ever make have been made.

    A window of time has the time of its end: when all rows before a time are there, all windows up to it are.
    """
    if name in state.streams and name not in state.plan.steps:
        return state.streams[name].watermark
    step = state.plan.steps[name]
    if isinstance(step, Order):
        return state.streams[name].watermark
    below = [
        min(output_watermark(state, edge.source), _first_waiting(state, edge) - 1)
        for edge in state.plan.network.in_edges[name]
    ]
    if isinstance(step, Close):
        [edge] = state.plan.network.in_edges[name]
        aggregate = state.plan.steps[edge.source]
        assert isinstance(aggregate, Aggregate)
        made = output_watermark(state, edge.source) + (1 if aggregate.by == "range" else 0)
        return min(made, _first_waiting(state, edge) - 1)
    return min(below)


def _first_waiting(state: RuntimeState, edge: Edge) -> float:
    """Return the earliest time of a row that waits at an edge, or that a job in flight took there."""
    return min((chunk.first_time for chunk in state.waiting_at(edge)), default=math.inf)


def take_ordered(state: RuntimeState, name: str, step: Order) -> Arrived | None:
    """Take the rows of a derived stream that no earlier one can precede, in order; None if there are none.

    Its watermark moves.
    """
    log = state.streams[name]
    edges = state.plan.network.in_edges[name]
    watermark = min(output_watermark(state, edge.source) for edge in edges)
    log.ended = watermark == math.inf
    if not math.isinf(watermark):
        log.source_watermark = max(int(watermark), log.source_watermark or int(watermark))
    tables = []
    for place, (edge, names) in enumerate(zip(edges, step.branches, strict=True)):
        for rows in _ready(state, edge, watermark):
            columns = rows.select(names).rename_columns([column.name for column in step.columns])
            hidden = [each for each in rows.column_names if is_sequence(each)]
            table = typed(columns, step.columns)
            for each in (*hidden, TIME, ARRIVAL):
                table = table.append_column(each, rows.column(each))
            tables.append(table.append_column(_BRANCH, pa.array(np.full(rows.num_rows, place))))
    if not tables:
        return None
    table = pa.concat_tables(tables, promote_options="default")
    table = table.take(pa.array(_order(table, [column.name for column in step.columns])))
    visible = table.select([column.name for column in step.columns])
    return Arrived(visible, numbers(table, ARRIVAL), numbers(table, TIME))


def _ready(state: RuntimeState, edge: Edge, watermark: float) -> Iterator[pa.Table]:
    """Take the rows of an edge with a time up to the watermark; the others stay."""
    queue = state.queues[edge]
    if queue.first_time > watermark:
        return
    chunks = queue.take(math.inf, queue.rows)
    state.changed.add(edge)
    for chunk in chunks:
        assert isinstance(chunk.place, ResidentRows)
        if chunk.last_time <= watermark:
            yield chunk.table
            continue
        now = chunk.place.times <= watermark
        if now.any():
            yield chunk.table.filter(pa.array(now))
            queue.put(state.chunk(edge.source, ResidentRows(chunk.table.filter(pa.array(~now)))))
        else:
            queue.put(chunk)


def _order(rows: pa.Table, columns: list[str]) -> Micros:
    """Return the places of rows in the order of a derived stream; NULL comes first."""
    names = [TIME, _BRANCH, *sorted(each for each in rows.column_names if is_sequence(each)), *columns]
    ranks = [_ranked(rows.column(name)) for name in names]
    found: Micros = np.lexsort(ranks[::-1])
    return found


def _ranked(column: pa.ChunkedArray) -> Micros:
    """Return numbers in the order of a column's values; values that Arrow cannot sort are ordered as text."""
    if pa.types.is_nested(column.type):
        column = pa.chunked_array(
            [pa.array([None if each is None else repr(each) for each in column.to_pylist()])]
        )
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    ranks = np.array(pc.rank(values, sort_keys="ascending", tiebreaker="min").to_numpy(), dtype=np.int64)
    ranks[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return ranks
