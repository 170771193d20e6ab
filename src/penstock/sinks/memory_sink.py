"""The sink that keeps results in memory."""

from collections.abc import Mapping
from threading import Lock

import pyarrow as pa

from penstock.runtime.group_rows import split
from penstock.runtime.sink import Sink
from penstock.sinks.schemas import Schemas


class MemorySink(Sink):
    """Keeps results as Arrow tables, by query."""

    def __init__(self) -> None:
        self._parts: dict[str, list[pa.Table]] = {}
        self._schemas = Schemas()
        self._rejected: dict[str, list[pa.Table]] = {}
        self._unsplit: list[pa.Table] = []
        self._lock = Lock()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Start a query without rows, or continue where an earlier query of this name ended."""
        self._parts.setdefault(query, [])
        self._schemas.open(query, schema)

    def emit(self, query: str, rows: pa.Table) -> None:
        """Keep results."""
        self._parts[query].append(self._schemas.fitted(query, rows))

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Keep results of several queries; they are split by query when `results` is read."""
        self._unsplit.append(rows)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Keep rejected rows."""
        self._rejected.setdefault(stream, []).append(rows)

    @property
    def results(self) -> Mapping[str, pa.Table]:
        """All results so far, by query."""
        with self._lock:
            while self._unsplit:
                for query, rows in split(self._unsplit[0]):
                    self.emit(query, rows)
                del self._unsplit[0]
        return {
            query: pa.concat_tables([self._schemas[query].empty_table(), *parts])
            for query, parts in self._parts.items()
        }

    @property
    def rejected(self) -> Mapping[str, pa.Table]:
        """Rejected rows, by stream."""
        return {stream: pa.concat_tables(parts) for stream, parts in self._rejected.items()}
