"""Inference of column types from a sample, of the time column, and of how far rows are out of order."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.formats.log_times import UNITS
from penstock.formats.sample import FileSample
from penstock.language.types import ColumnType

_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SERVER = re.compile(r"\[?(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2})( [+-]\d{4})?\]?")
_TIME_NAME = re.compile(
    r"(^|[._@\s-])(ts|t|at|time|timestamp|datetime|date|epoch|msec)$|time(stamp)?(_?(us|ms|ns|usec|s))?$", re.I
)
_DEEPEST = 10
_BEST_NAMES = ("ts", "timestamp", "@timestamp", "time", "datetime", "event_time", "time_local", "date")
_SINCE_S = (3e8, 4.1e9)
"""The range of numbers that may be times, in seconds since 1970: 1979 to 2099."""
_ZEEK = {"time": "TIMESTAMP", "interval": "DOUBLE", "double": "DOUBLE", "count": "BIGINT", "int": "BIGINT"} | {
    "port": "INT",
    "bool": "BOOLEAN",
}


@dataclass(frozen=True)
class Inferred:
    """A column of a sample: its type, and the unit if it has times as numbers."""

    key: str
    type: ColumnType
    unit: str | None = None


@dataclass(frozen=True)
class TimeColumn:
    """The column that holds the time, the unit of its numbers, and how far rows were out of order."""

    key: str
    unit: str | None
    disorder_us: int


def inferred(sample: FileSample) -> list[Inferred]:
    """Return the columns of a sample with their types; a column of several types is a STRING."""
    return [_column(sample, key) for key in sample.columns]


def _column(sample: FileSample, key: str) -> Inferred:
    if sample.schema is not None:
        kind = type_of_arrow(sample.schema.field(key).type)
        unit = _unit([row.get(key) for row in sample.rows], key) if kind in ("BIGINT", "DOUBLE") else None
        return Inferred(key, ColumnType("TIMESTAMP"), unit) if unit else Inferred(key, ColumnType(kind))
    if key in sample.types:
        return Inferred(key, ColumnType(_of_zeek(sample.types[key])))
    values = [row[key] for row in sample.rows if row.get(key) is not None]
    unit = _unit(values, key)
    if unit is not None:
        return Inferred(key, ColumnType("TIMESTAMP"), unit)
    kind = _of_texts(values) if sample.form in ("csv", "clf") else _of_values(values)
    return Inferred(key, ColumnType(kind))


def _of_zeek(told: str) -> str:
    several = re.fullmatch(r"(?:set|vector)\[(\w+)\]", told)
    return f"ARRAY<{_ZEEK.get(several[1], 'STRING')}>" if several else _ZEEK.get(told, "STRING")


def _of_texts(values: Sequence[str]) -> str:
    if not values:
        return "STRING"
    texts = {value.strip() for value in values}
    if all(map(_WHOLE.fullmatch, texts)):
        return "BIGINT"
    if all(map(_NUMBER.fullmatch, texts)):
        return "DOUBLE"
    if {text.lower() for text in texts} <= {"true", "false"}:
        return "BOOLEAN"
    return _of_times(texts) or "STRING"


def _of_times(texts: set[str]) -> str | None:
    if all(map(_DATE.fullmatch, texts)):
        return "DATE" if all(_micros(text, None) is not None for text in texts) else None
    if all(_DATE.fullmatch(text) or _ISO.fullmatch(text) for text in texts) or all(map(_SERVER.fullmatch, texts)):
        return "TIMESTAMP" if all(_micros(text, None) is not None for text in texts) else None
    return None


def _of_values(values: Sequence[Any]) -> str:
    """Return the type of JSON values."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        largest = max(map(abs, values))
        return "BIGINT" if largest < 2**63 else "DECIMAL(38,0)" if largest < 10**38 else "STRING"
    if kinds and kinds <= {int, float}:
        return "DOUBLE"
    if kinds == {str}:
        return _of_times(set(values)) or "STRING"
    if kinds == {list}:
        inner = _of_values([each for value in values for each in value if each is not None])
        return f"ARRAY<{inner}>" if inner.count("<") < _DEEPEST else "STRING"
    return "STRING"


def type_of_arrow(kind: pa.DataType) -> str:
    """Return the type as which Spark reads a parquet column."""
    if pa.types.is_dictionary(kind):
        return type_of_arrow(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"ARRAY<{type_of_arrow(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{type_of_arrow(kind.key_type)},{type_of_arrow(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return ColumnType.struct({each.name: ColumnType(type_of_arrow(each.type)) for each in kind}).name
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    for fits, name in _ARROW:
        if fits(kind):
            return name
    return "STRING"


_ARROW = (
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_int8, "TINYINT"),
    (lambda kind: pa.types.is_int16(kind) or pa.types.is_uint8(kind), "SMALLINT"),
    (lambda kind: pa.types.is_int32(kind) or pa.types.is_uint16(kind), "INT"),
    (lambda kind: pa.types.is_int64(kind) or pa.types.is_uint32(kind), "BIGINT"),
    (pa.types.is_uint64, "DECIMAL(20,0)"),
    (pa.types.is_float32, "FLOAT"),
    (pa.types.is_floating, "DOUBLE"),
    (pa.types.is_timestamp, "TIMESTAMP"),
    (pa.types.is_date, "DATE"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "BINARY"),
)


def _unit(values: Sequence[Any], key: str) -> str | None:
    """Return the unit of numbers that are times: the column is named like a time, and all are in 1979 to 2099."""
    if not _TIME_NAME.search(key) or not values:
        return None
    found: set[str] = set()
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            return None
        try:
            number = float(value) if _NUMBER.fullmatch(str(value)) else math.nan
        except OverflowError:
            return None
        fits = [name for name, nanos in UNITS.items() if _SINCE_S[0] < number * nanos / 1e9 < _SINCE_S[1]]
        if not fits:
            return None
        found.add(fits[0])
    return found.pop() if len(found) == 1 else None


def time_column_of(sample: FileSample, columns: Sequence[Inferred]) -> TimeColumn | None:
    """Return the time column: one without NULL, the best by its name; None if there is none."""
    times = [
        column
        for column in columns
        if column.type.name == "TIMESTAMP" and all(row.get(column.key) is not None for row in sample.rows)
    ]
    if not times or not sample.rows:
        return None
    ranked = {name: place for place, name in enumerate(_BEST_NAMES)}
    chosen = min(times, key=lambda column: ranked.get(column.key.lower().rsplit(".", 1)[-1], len(ranked)))
    newest, disorder = None, 0
    for row in sample.rows:
        micros = _micros(row[chosen.key], chosen.unit)
        if micros is None:
            continue
        newest = micros if newest is None else max(newest, micros)
        disorder = max(disorder, newest - micros)
    return TimeColumn(chosen.key, chosen.unit, disorder)


def _micros(value: Any, unit: str | None) -> int | None:  # noqa: ANN401
    """Return a time in microseconds since 1970; None if it is not a time."""
    try:
        if isinstance(value, datetime | date):
            moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        elif unit is not None or _NUMBER.fullmatch(str(value)):
            return int(Decimal(str(value)) * UNITS[unit or "s"] / 1000)
        elif server := _SERVER.fullmatch(str(value)):
            form = "%d/%b/%Y:%H:%M:%S" + (" %z" if server[2] else "")
            moment = datetime.strptime(server[1] + (server[2] or ""), form)
        else:
            moment = datetime.fromisoformat(str(value).replace(",", ".").replace(" UTC", "Z"))
    except (ValueError, ArithmeticError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1_000_000)
