"""Rows to json, csv and parquet files, as a stream of Penstock or Spark with a declared schema reads them."""

import csv
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Columns = Sequence[tuple[str, str]]

ARROW = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}
DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def is_type(kind: str) -> bool:
    """Whether data can have columns of this type: one of ARROW, or DECIMAL(p,s)."""
    return kind in ARROW or DECIMAL.fullmatch(kind) is not None


def arrow_type(kind: str, zone: str | None = None) -> pa.DataType:
    if kind == "TIMESTAMP":
        return pa.timestamp("us", tz=zone)
    decimal = DECIMAL.fullmatch(kind)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else ARROW[kind]


def write_rows(path: Path, columns: Columns, rows: Sequence[tuple], file_format: str) -> None:
    {"json": write_json, "csv": write_csv, "parquet": write_parquet}[file_format](path, columns, rows)


def iso(value):
    """A timestamp as 2026-01-01T00:00:00.123456Z; anything else as it is."""
    return value.isoformat(timespec="microseconds") + "Z" if isinstance(value, datetime) else value


def write_json(path: Path, columns: Columns, rows: Sequence[tuple]) -> None:
    """One object a line. A NULL is written as null in even rows and left out in odd ones: they mean the same."""
    names = [name for name, _ in columns]
    with path.open("w", encoding="utf-8") as out:
        for index, row in enumerate(rows):
            shown = {name: json_value(value) for name, value in zip(names, row, strict=True)}
            if index % 2 and any(value is not None for value in row):
                shown = {name: value for name, value in shown.items() if value is not None}
            out.write(json.dumps(shown, ensure_ascii=False) + "\n")


def json_value(value):
    """A DECIMAL as the number that is spelled like it."""
    if not isinstance(value, Decimal):
        return iso(value)
    if Decimal(repr(float(value))) != value:
        raise ValueError(f"json writes no number with all digits of {value}")
    return float(value)


def write_csv(path: Path, columns: Columns, rows: Sequence[tuple]) -> None:
    """With a header. An empty field is NULL, so what readers disagree about is refused here."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([name for name, _ in columns])
        for row in rows:
            if any(isinstance(value, str) and (not value.strip() or set(value) & set('"\\\r\n')) for value in row):
                raise ValueError(f"csv readers disagree about blank strings, quotes and line ends: {row!r}")
            if row == (None,):
                raise ValueError("a csv line with one NULL is an empty line, which readers skip")
            writer.writerow([csv_field(value) for value in row])


def csv_field(value):
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value).lower() if isinstance(value, bool) else iso(value)


def write_parquet(path: Path, columns: Columns, rows: Sequence[tuple]) -> None:
    """Timestamps as instants in UTC, which is what Spark's TIMESTAMP is."""
    instants = [[v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for v in row] for row in rows]
    pq.write_table(arrow_table(columns, instants, zone="UTC"), path)


def arrow_table(columns: Columns, rows: Sequence[Sequence], zone: str | None = None) -> pa.Table:
    """The rows as an Arrow table with exactly the declared types."""
    types = [arrow_type(kind, zone) for _, kind in columns]
    arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)]
    return pa.table(
        arrays, schema=pa.schema([(name, kind) for (name, _), kind in zip(columns, types, strict=True)])
    )
