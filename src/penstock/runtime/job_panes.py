"""Partial aggregates of a job: those of the windows that it closes, and older ones to merge with new ones."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from penstock.language.statements import Column, StreamDef
from penstock.language.types import ColumnType
from penstock.network import Edge
from penstock.plan.columns import arrow_type, numbers, spark_type
from penstock.plan.steps import ARRIVAL, PANE, TIME, Aggregate, Close, seq
from penstock.runtime.chunk import Chunk
from penstock.runtime.closings import SIZE, panes_of_windows
from penstock.runtime.pane_log import PANES
from penstock.runtime.rows.job_input import InputRows
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.written_segments import RESIDENT_BYTES, SEGMENT_BYTES, SegmentWriter
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import Taken
from penstock.runtime.work import ClosingPanes, pane_keys

MOST_CHUNKS = 8
"""Chunks of partial aggregates; if there are more, the latest are merged with new ones."""
_SHARE_OF_LIMIT = 4
"""All resident partial aggregates may take this fraction of a memory limit: a quarter."""


def closing_panes(state: RuntimeState, takes: Mapping[Edge, InputRows]) -> dict[str, ClosingPanes]:
    """Return the windows that a job closes, and the partial aggregates that it needs for them."""
    found = {}
    for edge, rows in takes.items():
        step = state.plan.steps[edge.target]
        if not isinstance(step, Close):
            continue
        assert rows.table is not None
        log = state.panes[edge.source]
        starts, sizes = numbers(rows.table, seq(0)), numbers(rows.table, SIZE)
        first, end = int(starts.min()), int((starts + sizes).max())
        windows = panes_of_windows(rows.table, log.by_block)
        chunks = log.between(first, end)
        resident = [chunk for chunk in chunks if not chunk.is_stored]
        stored = tuple(chunk.place for chunk in chunks if isinstance(chunk.place, StoredRows))
        table = rows_of_chunks(resident) if resident else _no_rows(stored[0])
        needed = np.isin(pane_keys(table, TIME), pane_keys(windows, PANE))
        rows = table if needed.all() else table.filter(pa.array(needed))
        found[edge.target] = ClosingPanes(windows, rows, stored)
    return found


def _no_rows(stored: StoredRows) -> pa.Table:
    """Return no rows, with the columns of stored partial aggregates."""
    fields = [pa.field(column.name, arrow_type(column.type.name)) for column in stored.batch.stream.columns]
    hidden = [pa.field(name, pa.int64()) for name in (TIME, ARRIVAL)]
    return pa.schema([*fields, *hidden]).empty_table()


def store_panes(state: RuntimeState, writer: SegmentWriter, memory: int | None = None) -> None:
    """Write the oldest partial aggregates of logs that take too much memory, or too much of a limit."""
    resident, together = RESIDENT_BYTES, SEGMENT_BYTES
    if memory is not None:
        half = memory // (2 * _SHARE_OF_LIMIT * max(len(state.panes), 1))
        resident, together = min(resident, half), min(together, half)
    busy = _busy(state)
    for name, log in state.panes.items():
        if log.resident_bytes <= resident + together:
            continue
        chunks = log.oldest_resident(resident, busy)
        if not chunks:
            continue
        rows = rows_of_chunks(chunks)
        shown = [field for field in rows.schema if field.name not in (TIME, ARRIVAL, seq(0))]
        columns = tuple(Column(field.name, ColumnType(spark_type(field.type))) for field in shown)
        if seq(0) not in rows.column_names:  # segments have numbers
            rows = rows.append_column(seq(0), pa.array(np.arange(rows.num_rows), pa.int64()))
        log.store(chunks, state.chunk(name, writer.stored(StreamDef(name, columns, PANES), [rows])))
        state.changed_panes.add(name)


def older_panes(
    state: RuntimeState, taken: Taken, through: frozenset[Edge], most_rows: int
) -> dict[str, tuple[Chunk, ...]]:
    """Return the partial aggregates that a job merges with those that it makes, at most so many.

    If there are many chunks, it takes the latest, from the newest on, while they are not much larger than all
    that it takes. So a row is merged as often as the logarithm of their number, and few chunks remain.
    """
    found = {}
    busy = _busy(state)
    for name in {edge.target for edge in (*taken, *through)}:
        log = state.panes.get(name)
        if log is None or not isinstance(state.plan.steps[name], Aggregate) or len(log.chunks) < MOST_CHUNKS:
            continue
        chunks: list[Chunk] = []
        rows = 0
        for chunk in reversed(log.chunks):
            is_free = not chunk.is_stored and chunk.number not in busy
            if not is_free or rows + chunk.rows > most_rows or (chunks and chunk.rows > 2 * rows):
                break
            chunks.append(chunk)
            rows += chunk.rows
        if len(chunks) > 1:
            found[name] = tuple(reversed(chunks))
    return found


def _busy(state: RuntimeState) -> set[int]:
    """Return the numbers of the chunks that jobs in flight merge."""
    return {chunk.number for job in state.in_flight for chunks in job.merged.values() for chunk in chunks}


def rows_of_chunks(chunks: Iterable[Chunk]) -> pa.Table:
    """Return partial aggregates as one table. Older ones may lack aggregates that newer queries need."""
    return pa.concat_tables([chunk.table for chunk in chunks], promote_options="default")
