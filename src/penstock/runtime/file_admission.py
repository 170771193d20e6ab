"""Admission of files whose rows stay where they are: only times are read, and the rows that are rejected.

The decisions are the same as for rows that pass the driver (`admission.py`).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.language.statements import StreamDef
from penstock.plan.columns import Micros, typed
from penstock.runtime.admission import BAD, RAW, REJECTED, Admitted, no_time, rejected_rows, time_name
from penstock.runtime.lateness import late_rows
from penstock.runtime.rows.segment import ArrivedFiles, LostSegmentError, Segment
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.stored_batch import AdmittedFile, StoredBatch
from penstock.runtime.rows.time_index import TimeIndex, TimeIndexBuilder
from penstock.shedding.drop_box import DropBox

_NONE = np.empty(0, np.int64)


def admitted_files(
    definition: StreamDef,
    arrived: ArrivedFiles,
    next_sequence: int,
    newest: int | None,
    box: DropBox | None = None,
) -> Admitted:
    """Number the rows of files, find late and malformed ones, and drop by the drop box."""
    files, rejected, dropped, first = [], [], 0, next_sequence
    index = TimeIndexBuilder()
    for each in arrived.segments:
        segment = replace(each, base=next_sequence)
        before = index.copy()
        try:
            examined = _examined(definition, segment, newest, arrived.arrival_us, box, index)
            away = _rejected(definition, segment, examined, arrived.names)
        except LostSegmentError as error:
            rejected.append(_unreadable(segment, error))
            next_sequence += 1
            index = before
            continue
        newest = examined.newest
        rejected.append(away)
        dropped += examined.dropped
        if examined.kept:
            share = 1.0 if box is None else box.keep
            files.append(AdmittedFile(segment, examined.kept, examined.excluded, share))
        next_sequence += segment.rows
    stored = None
    if files:
        has_times = definition.timestamp is not None
        found = index.built() if has_times else TimeIndex.constant(arrived.arrival_us)
        stored = StoredRows.of(StoredBatch(definition, tuple(files), arrived.arrival_us, found, arrived.names))
    none = pa.schema([]).empty_table()
    offered = next_sequence - first
    return Admitted(none, pa.concat_tables(rejected), next_sequence, newest, dropped, stored, offered)


@dataclass
class _Examined:
    """What admission found in a file."""

    newest: int | None
    kept: int = 0
    dropped: int = 0
    excluded: Micros = field(default_factory=lambda: _NONE)
    """The places of rejected rows."""
    late_by: Micros = field(default_factory=lambda: _NONE)
    """For each of these, how much later it is than allowed rows; 0 if it is not late."""


def _examined(
    definition: StreamDef,
    segment: Segment,
    newest: int | None,
    arrival_us: int,
    box: DropBox | None,
    index: TimeIndexBuilder,
) -> _Examined:
    """Decide about the rows of a file in batches, and add the times of kept ones to the index."""
    found = _Examined(newest)
    if segment.time_column is None and not segment.has_bad and (box is None or box.keep == 1):
        found.kept, found.newest = segment.rows, max(arrival_us, arrival_us if newest is None else newest)
        return found
    bad = segment.places_with(BAD) if segment.has_bad else _NONE
    excluded, late_by = [_NONE], [_NONE]
    for first, times, known in _times(segment, arrival_us):
        fits = known.copy()
        fits[bad[(bad >= first) & (bad < first + len(fits))] - first] = False
        late, before = late_rows(times, fits, found.newest, definition.lateness_us)
        good = fits & ~late
        if fits.any():
            latest = int(times[fits].max())
            found.newest = latest if found.newest is None else max(found.newest, latest)
        away = np.flatnonzero(~good)
        excluded.append(first + away)
        late_by.append(np.where(late, before - times, 0)[away])
        if box is not None and box.keep < 1:
            kept = good & box.keeps(np.arange(first, first + len(good), dtype=np.int64) + segment.base)
            found.dropped += int(good.sum() - kept.sum())
            good = kept
        found.kept += int(good.sum())
        if segment.time_column is not None:
            index.add(times[good])
    found.excluded, found.late_by = np.concatenate(excluded), np.concatenate(late_by)
    return found


def _times(segment: Segment, arrival_us: int) -> Iterator[tuple[int, Micros, NDArray[np.bool_]]]:
    """Yield the times of a segment's rows; without a time column, the arrival is the time of every row."""
    if segment.time_column is not None:
        yield from segment.times()
        return
    for first in range(0, segment.rows, _AT_ONCE):
        count = min(_AT_ONCE, segment.rows - first)
        yield first, np.full(count, arrival_us, np.int64), np.ones(count, dtype=bool)


_AT_ONCE = 256 * 1024


def _unreadable(segment: Segment, error: Exception) -> pa.Table:
    """Return the row that stands for a file that cannot be read."""
    name = segment.path.name
    reason = f"file {name} cannot be read: {error}"
    held = json.dumps({"file": name}, ensure_ascii=False)
    return pa.table([[segment.base], ["malformed"], [reason], [held]], schema=REJECTED)


def _rejected(definition: StreamDef, segment: Segment, found: _Examined, names: Mapping[str, str]) -> pa.Table:
    """Return the rejected rows of a file with the reasons, which are read from it."""
    places = found.excluded
    if not len(places):
        return REJECTED.empty_table()
    own = [BAD, RAW] if segment.has_bad else []
    columns = definition.columns
    rows = segment.read(places, [*(names[column.name] for column in columns), *own])
    held = [rows.column(names[column.name]) for column in columns]
    table = typed(pa.table(held, [column.name for column in columns]), columns)
    bad = rows.column(BAD).combine_chunks() if own else pa.nulls(len(places), pa.string())
    name = time_name(definition)
    if name is not None:
        nameless = pc.if_else(
            pc.is_null(table.column(name).combine_chunks()), no_time(name), pa.scalar(None, pa.string())
        )
        bad = pc.coalesce(bad, nameless)
    return rejected_rows(definition, rows, table, segment.base + places, bad, found.late_by)
