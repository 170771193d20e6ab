"""Results as NDJSON: a JSON object a line, for programs that read them from a pipe."""

import json
import sys
from itertools import chain
from threading import Lock
from typing import TextIO

import pyarrow as pa

from penstock.formats.json_rows import plain
from penstock.spark.grouped import split


class NdJson:
    """Writes ``{"query": "fast", "row": {"v": 1}}`` for every result; a column may be called `query`, too.

    Times are in UTC, as in 2026-01-31T12:00:00Z. What JSON has no number for is a string: decimals, NaN and the
    infinities. Bytes are in base64.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stdout
        self._lock = Lock()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Do nothing."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Write all rows, and let whoever reads have them."""
        kinds = {field.name: field.type for field in rows.schema}
        lines = []
        for row in chain.from_iterable(batch.to_pylist() for batch in rows.to_batches()):
            held = {name: plain(value, kinds[name]) for name, value in row.items()}
            lines.append(json.dumps({"query": query, "row": held}, ensure_ascii=False, allow_nan=False) + "\n")
        with self._lock:
            self._file.writelines(lines)
            self._file.flush()

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Write the rows of each query."""
        for query, part in split(rows):
            self.emit(query, part)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Do nothing: these are no results."""

    def publish(self) -> None:
        """Do nothing: results are told apart already."""

    def close(self) -> None:
        """Do nothing: every row was written when it came."""
