"""Rows as JSON, one object a line, as Penstock reads them back."""

import base64
import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

RAW = "_raw"
"""The key of a text that is not a JSON object."""


def json_lines(table: pa.Table) -> list[str]:
    """Return every row of a table as a JSON object; what is NULL is left out.

    >>> json_lines(pa.table({"a": [1, None], "m": pa.array([[("k", 2)], []], pa.map_(pa.string(), pa.int64()))}))
    ['{"a": 1, "m": {"k": 2}}', '{"m": {}}']
    """
    kinds = {field.name: field.type for field in table.schema}
    return [
        json.dumps(
            {name: plain(value, kinds[name]) for name, value in row.items() if value is not None},
            ensure_ascii=False,
        )
        for row in table.to_pylist()
    ]


def plain(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401
    """Return a value as JSON has it: times as ISO 8601, binary data in base64, numbers without end as text."""
    if value is None:
        return None
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if pa.types.is_map(kind):
        return {str(key): plain(each, kind.item_type) for key, each in value}
    if pa.types.is_list(kind):
        return [plain(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    return value


def as_object(text: str) -> str:
    """Return a text that is a JSON object as it is, any other as the value of the key `_raw`.

    >>> as_object('{"a": 1}'), as_object("rubbish")
    ('{"a": 1}', '{"_raw": "rubbish"}')
    """
    try:
        if text.lstrip().startswith("{") and isinstance(json.loads(text), dict):
            return text
    except ValueError:
        pass
    return json.dumps({RAW: text}, ensure_ascii=False)
