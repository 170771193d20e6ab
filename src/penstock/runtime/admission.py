"""Admission: every row gets its sequence number; late and malformed rows are rejected with a reason.

Of the others, the stream's drop box keeps its share.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.json_rows import as_object, json_lines
from penstock.formats.log_times import seconds
from penstock.language.statements import StreamDef
from penstock.plan.columns import Micros, stamped, typed
from penstock.runtime.chunk import Place
from penstock.runtime.lateness import late_rows
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.stored import StoredRows
from penstock.shedding.drop_box import DropBox

BAD = "__bad"
"""The column with the reason why a row is malformed."""

RAW = "__raw"
"""The column with the text of a malformed row."""

REJECTED = pa.schema([("seq", pa.int64()), ("kind", pa.string()), ("reason", pa.string()), ("row", pa.string())])


@dataclass(frozen=True)
class Arrived:
    """Rows from a source: declared columns, perhaps ``__bad``; their arrivals, and their times if known."""

    rows: pa.Table
    arrival_us: int | Micros
    times_us: Micros | None = None

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.rows.num_rows)


@dataclass(frozen=True)
class Admitted:
    """Rows that passed, rejected rows, how many were dropped, the next sequence number and the newest time."""

    rows: pa.Table
    """The rows that passed, if they are resident."""
    rejected: pa.Table
    next_sequence: int
    newest: int | None
    dropped: int = 0
    stored: StoredRows | None = None
    """The rows that passed, if they are stored."""

    @property
    def kept(self) -> Place | None:
        """The rows that passed; None if none did."""
        if self.stored is not None:
            return self.stored
        return ResidentRows(self.rows) if self.rows.num_rows else None


def admitted(
    definition: StreamDef, arrived: Arrived, next_sequence: int, newest: int | None, box: DropBox | None = None
) -> Admitted:
    """Number the rows, find their times, reject malformed and late rows, and drop by the drop box."""
    rows = arrived.rows
    count = rows.num_rows
    sequence = np.arange(next_sequence, next_sequence + count, dtype=np.int64)
    bad = rows.column(BAD).combine_chunks() if BAD in rows.column_names else pa.nulls(count, pa.string())
    arrivals = np.broadcast_to(np.asarray(arrived.arrival_us, dtype=np.int64), (count,))
    table = typed(rows, definition.columns)
    name = time_name(definition)
    if arrived.times_us is not None:
        times = arrived.times_us
    elif name is not None:
        column = table.column(name).combine_chunks()
        nameless = pc.if_else(pc.is_null(column), no_time(name), pa.scalar(None, pa.string()))
        bad = pc.coalesce(bad, nameless)
        times = np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False), dtype=np.int64)
    else:
        times = arrivals
    fits = np.asarray(pc.is_null(bad).to_numpy(zero_copy_only=False), dtype=bool)
    late, newest_before = late_rows(times, fits, newest, definition.lateness_us)
    good = fits & ~late
    fitting = int(good.sum())
    if box is not None and box.keep < 1:
        good &= box.keeps(sequence)
    kept = stamped(table.filter(pa.array(good)), sequence[good], times[good], arrivals[good])
    rejected = rejected_rows(definition, rows, table, sequence, bad, np.where(late, newest_before - times, 0))
    latest = newest
    if fits.any():
        latest = int(times[fits].max()) if newest is None else max(newest, int(times[fits].max()))
    return Admitted(kept, rejected, next_sequence + count, latest, fitting - kept.num_rows)


def time_name(definition: StreamDef) -> str | None:
    """Return the column with the times of a stream's rows; None if they have the time of their arrival."""
    return definition.column(definition.timestamp).name if definition.timestamp else None  # type: ignore[union-attr]


def no_time(name: str) -> str:
    """Return the reason to reject a row without a time."""
    return f"no time: column {name} is NULL"


def rejected_rows(
    definition: StreamDef, rows: pa.Table, table: pa.Table, sequence: Micros, bad: pa.Array, late_by: Micros
) -> pa.Table:
    """Return the rejected rows, each as JSON under the names or paths that its columns are read by."""
    away = np.asarray(pc.is_valid(bad).to_numpy(zero_copy_only=False), dtype=bool) | (late_by > 0)
    if not away.any():
        return REJECTED.empty_table()
    mask = pa.array(away)
    kinds = np.where(late_by > 0, "late", "malformed")[away]
    allowed = f"older than the newest row before it, and lateness is {seconds(definition.lateness_us)}"
    reasons = [
        reason or f"{seconds(late)} {allowed}"
        for reason, late in zip(bad.filter(mask).to_pylist(), late_by[away].tolist(), strict=True)
    ]
    named = table.rename_columns([column.path or column.name for column in definition.columns])
    texts = json_lines(named.filter(mask))
    if RAW in rows.column_names:
        raw = rows.column(RAW).filter(mask).to_pylist()
        texts = [as_object(each) if each else text for each, text in zip(raw, texts, strict=True)]
    return pa.table([sequence[away], kinds.tolist(), reasons, texts], schema=REJECTED)
