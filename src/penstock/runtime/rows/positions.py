"""Positions of rows among those of their stream that were kept: what windows of rows count."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from penstock.plan.steps import POSITION
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.job_input import InputRows
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.stored_batch import Span


def with_positions(chunks: Sequence[Chunk]) -> InputRows:
    """Return the rows of chunks with their positions.

    Of stored rows, a position is the sequence number less the rows that were not kept before it. Where that
    changes from row to row, because rows of a file were rejected or dropped, the driver reads them.
    """
    tables = [_counted(chunk.table, chunk) for chunk in chunks if not chunk.is_stored]
    stored = [chunk for chunk in chunks if chunk.is_stored]
    before = {_not_kept_before(chunk) for chunk in stored}
    if len(before) > 1 or None in before:
        tables += [_counted(chunk.place.table(), chunk) for chunk in stored if isinstance(chunk.place, StoredRows)]
        stored, before = [], set()
    places = tuple(chunk.place for chunk in stored if isinstance(chunk.place, StoredRows))
    return InputRows(_together(tables), places, before.pop() if before else None)


def _counted(rows: pa.Table, chunk: Chunk) -> pa.Table:
    first = chunk.first_position
    return rows.append_column(POSITION, pa.array(np.arange(first, first + rows.num_rows), pa.int64()))


def _not_kept_before(chunk: Chunk) -> int | None:
    """Return how many rows before stored ones were not kept; None if some among them were not."""
    place = chunk.place
    assert isinstance(place, StoredRows)
    found = {span.file.segment.base + span.first - at for span, at in _spans(place, chunk.first_position)}
    clean = all(span.rows == span.end - span.first and not span.file.segment.numbered for span in place.spans)
    return found.pop() if clean and len(found) == 1 else None


def _spans(place: StoredRows, position: int) -> Iterator[tuple[Span, int]]:
    """Yield the rows of each file, with the position of the first."""
    for span in place.spans:
        yield span, position
        position += span.rows


def _together(tables: Iterable[pa.Table]) -> pa.Table | None:
    found = list(tables)
    return pa.concat_tables(found, promote_options="default") if found else None
