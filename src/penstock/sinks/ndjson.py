"""Results as NDJSON: a JSON object a line, for programs that read them from a pipe."""

import json
import sys
from threading import Lock
from typing import TextIO

import pyarrow as pa

from penstock.formats.json_rows import plain_rows
from penstock.runtime.sink import Sink


class NdjsonSink(Sink):
    """Writes ``{"query": "fast", "row": {"v": 1}}`` for every result; a column may be called `query`, too.

    Times are in UTC, as in 2026-01-31T12:00:00Z. What JSON has no number for is a string: decimals, NaN and the
    infinities. Bytes are in base64.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stdout
        self._lock = Lock()

    def emit(self, query: str, rows: pa.Table) -> None:
        """Write all rows, and let whoever reads have them."""
        lines = [
            json.dumps({"query": query, "row": row}, ensure_ascii=False, allow_nan=False) + "\n"
            for row in plain_rows(rows)
        ]
        with self._lock:
            self._file.writelines(lines)
            self._file.flush()
