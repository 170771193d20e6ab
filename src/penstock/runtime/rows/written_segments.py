"""Rows of generated streams and sockets as segments, where they are many: the driver writes them once.

A log that holds more than fits is written out from its oldest chunks on. The files are removed when nothing needs
them any more.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.language.statements import StreamDef
from penstock.plan.columns import numbers
from penstock.plan.steps import ARRIVAL, TIME, seq
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.segment import SEGMENT_CODEC, FileStamp, Segment
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.stored_batch import AdmittedFile, StoredBatch
from penstock.runtime.rows.time_index import TimeIndexBuilder
from penstock.runtime.state import RuntimeState

RESIDENT_BYTES = 64 * 1024 * 1024
"""Bytes of a log that stay in memory."""
SEGMENT_BYTES = 16 * 1024 * 1024
"""Bytes that are written together at least."""
_ROW_GROUP = 64 * 1024


class SegmentWriter:
    """Writes rows of streams to segments in a folder, and removes them."""

    def __init__(
        self,
        folder: Path,
        *,
        always: bool = False,
        prefix: str = "",
        release: Callable[[Path], object] | None = None,
    ) -> None:
        self._folder = folder
        self._prefix = prefix
        """Begins the names of files: they are unique then, also among those of earlier processes."""
        self._release = release or _remove
        """Called with files that nothing needs any more."""
        self.always = always
        """Whether rows are written as soon as they are admitted."""
        self._number = 0
        self._owned: set[Path] = set()

    def stored(self, stream: StreamDef, tables: Iterable[pa.Table]) -> StoredRows:
        """Write admitted rows to a segment, with their numbers, times and arrivals, and return them as stored."""
        rows = pa.concat_tables(tables)
        self._number += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{self._prefix}{self._number:08d}.parquet"
        pq.write_table(rows, path, row_group_size=_ROW_GROUP, compression=SEGMENT_CODEC)
        arrivals = numbers(rows, ARRIVAL)
        index = TimeIndexBuilder()
        index.add(numbers(rows, TIME))
        segment = Segment(
            path,
            rows.num_rows,
            rows.nbytes,
            FileStamp.of(path),
            TIME,
            int(numbers(rows, seq(0))[0]),
            stream=stream.name,
            numbered=True,
            owned=True,
            last_sequence=int(numbers(rows, seq(0))[-1]),
        )
        names = {column.name: column.name for column in stream.columns}
        batch = StoredBatch(
            stream,
            (AdmittedFile(segment, segment.rows),),
            int(arrivals.min()),
            index.built(),
            names,
            float(np.mean(arrivals)),
        )
        self.own([segment])
        return StoredRows.of(batch)

    def shortened(self, stream: StreamDef, chunks: list[Chunk]) -> list[Chunk]:
        """Return the chunks of a log with the oldest resident ones written, if they take too much memory."""
        held = sum(chunk.bytes for chunk in chunks if not chunk.is_stored)
        if held <= RESIDENT_BYTES + SEGMENT_BYTES:
            return chunks
        first = next(place for place, chunk in enumerate(chunks) if not chunk.is_stored)
        end, size = first, 0
        while end < len(chunks) and not chunks[end].is_stored and held - size > RESIDENT_BYTES:
            size += chunks[end].bytes
            end += 1
        places = [chunk.place for chunk in chunks[first:end]]
        rows = self.stored(stream, [place.table for place in places if isinstance(place, ResidentRows)])
        return [*chunks[:first], Chunk(rows, chunks[first].number), *chunks[end:]]

    def own(self, segments: Iterable[Segment]) -> None:
        """Remember the files that Penstock wrote for this run."""
        self._owned.update(segment.path for segment in segments if segment.owned)

    def sweep(self, state: RuntimeState) -> None:
        """Remove the files that nothing needs any more: no queue, no log and no job in flight."""
        if self._owned:
            unused = self._owned - {segment.path for segment in state.segments()}
            for path in unused:
                self._release(path)
            self._owned -= unused


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
