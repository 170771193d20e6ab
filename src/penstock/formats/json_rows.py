"""Rows as JSON, one object per line, in the format that Penstock reads."""

import base64
import json
import math
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa

_NO_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
RAW = "_raw"
"""The key of a text that is not a JSON object."""


def json_lines(table: pa.Table) -> list[str]:
    """Return every row of a table as a JSON object, without NULL values.

    >>> json_lines(pa.table({"a": [1, None], "m": pa.array([[("k", 2)], []], pa.map_(pa.string(), pa.int64()))}))
    ['{"a": 1, "m": {"k": 2}}', '{"m": {}}']
    """
    return [
        json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
        for row in plain_rows(table)
    ]


def plain_rows(table: pa.Table) -> Iterator[dict[str, object]]:
    """Return every row of a table with values that JSON supports."""
    kinds = {field.name: field.type for field in table.schema}
    for batch in table.to_batches():
        for row in python_rows(pa.Table.from_batches([batch])):
            yield {name: plain(value, kinds[name]) for name, value in row.items()}


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table; times out of Python's range are texts: microseconds, or days, since 1970."""
    try:
        return table.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        return _with_plain_times(table).to_pylist()  # type: ignore[no-any-return]


def _with_plain_times(table: pa.Table) -> pa.Table:
    """Return the table with times as texts if they are out of Python's range: before year 1, after 9999."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            try:
                table.column(place).to_pylist()
            except (OverflowError, ValueError):
                texts = table.column(place).cast(pa.int32() if pa.types.is_date(field.type) else pa.int64())
                table = table.set_column(place, field.name, texts.cast(pa.string()))
    return table


def plain(value: object, kind: pa.DataType) -> object:
    """Return a value of a type as a value that JSON supports.

    >>> plain(date(2026, 1, 31), pa.date32()), plain(math.nan, pa.float64())
    ('2026-01-31', 'NaN')
    >>> plain([("a", 1), ("b", None)], pa.map_(pa.string(), pa.int32()))
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
        return {name: plain(each, kind.field(name).type) for name, each in value.items()}
    if isinstance(value, list) and pa.types.is_map(kind):
        return {str(plain(key, kind.key_type)): plain(each, kind.item_type) for key, each in value}
    if isinstance(value, list):
        return [plain(each, kind.value_type) for each in value]
    return str(value)


def as_object(text: str) -> str:
    """Return a text that is a JSON object unchanged, any other text as the value of the key `_raw`.

    >>> as_object('{"a": 1}'), as_object("rubbish")
    ('{"a": 1}', '{"_raw": "rubbish"}')
    """
    try:
        if text.lstrip().startswith("{") and isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({RAW: text}, ensure_ascii=False)
