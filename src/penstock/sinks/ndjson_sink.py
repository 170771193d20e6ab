"""The sink that writes NDJSON, one JSON object per line, for programs that read from a pipe."""

import json
import sys
from threading import Lock
from typing import TextIO

import pyarrow as pa

from penstock.formats.json_rows import plain_rows
from penstock.runtime.sink import Sink


class NdjsonSink(Sink):
    """Writes ``{"query": "fast", "row": {"v": 1}}`` for every result; so a column may be called `query`.

    Times are in UTC, as in 2026-01-31T12:00:00Z. Values without a JSON number are strings: decimals, NaN and the
    infinities. Bytes are in base64.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stdout
        self._lock = Lock()

    def emit(self, query: str, rows: pa.Table) -> None:
        """Write all rows and flush."""
        lines = [
            json.dumps({"query": query, "row": row}, ensure_ascii=False, allow_nan=False) + "\n"
            for row in plain_rows(rows)
        ]
        with self._lock:
            self._file.writelines(lines)
            self._file.flush()
