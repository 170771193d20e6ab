"""Row windows over logs of which some rows are stored.

A row leaves the window ``[ROWS n]`` when the row n later in its stream comes. Only rows that leave it while rows
probe need that time (their *expiry*): those before them are outside the window, those after them inside.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.plan.columns import Micros, numbers
from penstock.plan.steps import ARRIVAL, TIME, seq
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.job_input import WindowRows
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.time_order import TimeOrder

EXPIRES = "__x"
"""The time from which a row is outside a row window: that of the row n later in its stream."""


_NONE = np.empty(0, np.int64)


class HasColumns(Protocol):
    """What a row window needs of a log."""

    def empty(self, columns: Iterable[str]) -> pa.Table:
        """Return no rows, with these columns of the stream and Penstock's own."""
        ...


def row_window(
    log: HasColumns,
    chunks: Sequence[Chunk],
    size: int,
    low: int,
    high: int,
    columns: Iterable[str],
    start: int,
    end: int | None,
) -> WindowRows:
    """Return the rows of chunks that rows with a time from `low` to `high` can find in a window of `size` rows."""
    names = list(columns)
    order = TimeOrder(chunks, start, end)
    before = order.count_below(low)
    until = order.count_below(high + 1)
    first = max(before - size, 0)
    if first >= until:
        return WindowRows(_with_expiry(log.empty(names), _expiries(_NONE, _NONE)))
    low_time, low_sequence = order.at(first)
    leaving = max(until - size, 0)
    """Rows before this position leave the window while rows probe."""
    expiries = _expiries(_NONE, _NONE)
    if leaving > first:
        last_time, _ = order.at(leaving - 1)
        _, sequences = order.between(low_time, last_time)
        skipped = first - order.count_below(low_time)
        sequences = sequences[skipped : skipped + leaving - first]
        partner_time, _ = order.at(first + size)
        partners, _ = order.between(partner_time, high)
        skipped = first + size - order.count_below(partner_time)
        expiries = _expiries(sequences, partners[skipped : skipped + leaving - first])
    resident = [_resident(chunk, names, low_time, low_sequence, high, start, end) for chunk in chunks]
    table = pa.concat_tables([log.empty(names), *(each for each in resident if each is not None)])
    stored = stored_near(chunks, low_time, high)
    return WindowRows(_with_expiry(table, expiries), stored, low_time, low_sequence, high, start, end, expiries)


def stored_near(chunks: Iterable[Chunk], low: float, high: float) -> tuple[StoredRows, ...]:
    """Return the stored rows of chunks, from the files that may hold times from `low` to `high`."""
    near = (chunk.place.near(low, high) for chunk in chunks if isinstance(chunk.place, StoredRows))
    return tuple(rows for rows in near if rows is not None)


def _expiries(sequences: Micros, times: Micros) -> pa.Table:
    return pa.table({seq(0): pa.array(sequences, pa.int64()), EXPIRES: pa.array(times, pa.int64())})


def _resident(
    chunk: Chunk, names: list[str], low_time: int, low_sequence: int, high: int, start: int, end: int | None
) -> pa.Table | None:
    """Return the rows of a resident chunk that are in the window at some time."""
    if chunk.is_stored:
        return None
    table = chunk.table.select([*names, seq(0), TIME, ARRIVAL])
    times, sequences = numbers(table, TIME), numbers(table, seq(0))
    inside = (times > low_time) | ((times == low_time) & (sequences >= low_sequence))
    inside &= (times <= high) & (sequences >= start)
    if end is not None:
        inside &= sequences < end
    return table.filter(pa.array(inside))


def _with_expiry(table: pa.Table, expiries: pa.Table) -> pa.Table:
    """Return rows with the column ``__x``; NULL for those that leave the window later."""
    known, when = numbers(expiries, seq(0)), numbers(expiries, EXPIRES)
    order = np.argsort(known)
    sequences = numbers(table, seq(0))
    places = np.searchsorted(known[order], sequences)
    found = np.zeros(len(sequences), dtype=bool)
    inside = places < len(known)
    found[inside] = known[order][places[inside]] == sequences[inside]
    times = np.zeros(len(sequences), np.int64)
    times[found] = when[order][places[found]]
    return table.append_column(EXPIRES, pa.array(times, pa.int64(), mask=~found))
