"""`StateSegments`: writes rows of streams to files of a state."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from penstock.language.statements import StreamDef
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.storage.folder import os_errors

SEGMENTS = Path("streams") / "_segments"


class StateSegments(SegmentWriter):
    """Writes segments below a state folder; errors of the disk are those of the state."""

    def __init__(self, state: Path, epoch: int, release: Callable[[Path], object], *, always: bool) -> None:
        super().__init__(state / SEGMENTS, always=always, prefix=f"{epoch:06d}-", release=release)
        self._state = state

    def stored(self, stream: StreamDef, tables: Iterable[pa.Table]) -> StoredRows:
        """Write admitted rows to a segment, with their numbers, times and arrivals, and return them as stored."""
        with os_errors(self._state):
            return super().stored(stream, tables)
