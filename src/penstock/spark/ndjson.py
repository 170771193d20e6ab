"""Results as NDJSON: a JSON object a line, for programs that read them from a pipe."""

import base64
import json
import math
import sys
from datetime import date, datetime
from itertools import chain
from threading import Lock
from typing import TextIO

import pyarrow as pa

from penstock.spark.grouped import split

_NO_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


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
            plain = {name: _plain(value, kinds[name]) for name, value in row.items()}
            lines.append(json.dumps({"query": query, "row": plain}, ensure_ascii=False, allow_nan=False) + "\n")
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


def _plain(value: object, kind: pa.DataType) -> object:
    """Return a value of a type as JSON can have it.

    >>> _plain(date(2026, 1, 31), pa.date32()), _plain(math.nan, pa.float64())
    ('2026-01-31', 'NaN')
    >>> _plain([("a", 1), ("b", None)], pa.map_(pa.string(), pa.int32()))
    {'a': 1, 'b': None}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _NO_NUMBERS[str(value)]
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _plain(each, kind.field(name).type) for name, each in value.items()}
    if isinstance(value, list) and pa.types.is_map(kind):
        return {str(_plain(key, kind.key_type)): _plain(each, kind.item_type) for key, each in value}
    if isinstance(value, list):
        return [_plain(each, kind.value_type) for each in value]
    return str(value)
