"""Samples of the first rows of JSON, Zeek and parquet files; `separated` has the other formats."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RunError
from penstock.formats.layout import Layout, lines_of
from penstock.formats.texts import records_of

_DEEPEST = 10


@dataclass(frozen=True)
class FileSample:
    """The first rows of a file by column, and the options to read it.

    `rows` hold texts if the format has no types. A nested object of JSON becomes one column for each of its
    keys, with dots between the names.
    """

    form: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    options: dict[str, Any] = field(default_factory=dict)
    schema: pa.Schema | None = None
    """The columns with their types, of parquet."""
    types: dict[str, str] = field(default_factory=dict)
    """The types of columns that a Zeek log declares."""
    skipped: int = 0
    """Rows that did not fit the others."""
    has_more: bool = False
    """Whether there are more rows than the sample has."""

    def with_more(self, other: "FileSample") -> "FileSample":
        """Return the rows of two files of one format, with all keys (JSON), or the columns that both have."""
        if self.form == "json":
            columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        else:
            columns = tuple(name for name in self.columns if name in other.columns)
        return replace(
            self,
            columns=columns,
            rows=self.rows + other.rows,
            options={**other.options, **self.options},
            skipped=self.skipped + other.skipped,
            has_more=self.has_more or other.has_more,
        )


def parquet_sample(path: Path, most: int) -> FileSample:
    """Return a sample of a parquet file, which has its own types."""
    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(most)
            rows = next(batches, None)
            found = [] if rows is None else rows.to_pylist(maps_as_pydicts="lossy")
            return FileSample("parquet", tuple(file.schema_arrow.names), tuple(found), schema=file.schema_arrow)
    except (pa.ArrowException, OSError) as error:
        raise RunError(f"{path}: this is not a readable parquet file: {error}") from error


def zeek_sample(path: Path, text: str, most: int) -> FileSample:
    """Return a sample of a Zeek log, whose first lines name the columns and their types."""
    layout = Layout("zeek").with_header(text, path.name)
    names = layout.names or ()
    told = next((line.split(layout.delimiter)[1:] for line in lines_of(text) if line.startswith("#types")), [])
    rows = tuple(
        {name: None if value == layout.null else value for name, value in zip(names, values, strict=False)}
        for values in (record.split(layout.delimiter) for record in beginning(path, layout, most))
    )
    return FileSample("zeek", names, rows, types=dict(zip(names, told, strict=False)))


def json_sample(path: Path, most: int) -> FileSample:
    """Return a sample of JSON, one object per line."""
    rows: list[dict[str, Any]] = []
    bad, first = 0, ""
    for record in beginning(path, Layout("json"), most):
        try:
            row = json.loads(record)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(dict(_flat(row, "")))
        else:
            first = first or record
            bad += 1
    if bad > len(rows):
        hint = " jq -c '.[]' turns an array into lines" if first.startswith("[") else ""
        which = f"{bad:,} of {bad + len(rows):,} lines are not objects, the first of them {first[:60]!r}"
        raise RunError(f"{path}: this looks like JSON, but {which}: Penstock reads one object per line.{hint}")
    return FileSample("json", tuple(dict.fromkeys(name for row in rows for name in row)), tuple(rows), skipped=bad)


def _flat(row: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Return the values of an object; those of nested objects under names with dots."""
    for key, value in row.items():
        plain = bool(key) and "." not in key
        deep = prefix.count(".") >= _DEEPEST
        if isinstance(value, dict) and value and plain and not deep and all(i and "." not in i for i in value):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def beginning(path: Path, layout: Layout, most: int) -> list[str]:
    """Return the first records of a file."""
    return list(islice((record for records in records_of(path, layout) for record in records), most))
