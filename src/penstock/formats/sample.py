"""The first rows of files whose format nobody told: JSON, Zeek's logs, parquet; `separated` has the others."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RunError
from penstock.formats.layout import Layout, lines_of
from penstock.formats.texts import first_lines, records_of

MOST_ROWS = 50_000
"""Rows that are looked at."""
_MOST_FILES = 5
_DEEPEST = 10


@dataclass(frozen=True)
class Sample:
    """What a file begins with: rows by column, and how they are read.

    `rows` hold texts where the format has no types of its own. A key of JSON that holds keys is one column for
    each of those, with dots in between.
    """

    form: str
    columns: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]
    options: dict[str, Any] = field(default_factory=dict)
    schema: pa.Schema | None = None
    """Of parquet, the columns with their types."""
    types: dict[str, str] = field(default_factory=dict)
    """Of Zeek's tables, what they say that each column is."""
    skipped: int = 0
    """Rows that did not fit the others."""

    def with_more(self, other: "Sample") -> "Sample":
        """Return the rows of two files of one kind, with the keys of either, or the columns that both have."""
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
        )


def sampled(paths: Sequence[Path]) -> Sample:
    """Look at files of one kind, the first ones and the last; raise `RunError` if Penstock cannot read them."""
    chosen = paths if len(paths) <= _MOST_FILES else [*paths[: _MOST_FILES - 2], *paths[-2:]]
    found = _sampled(chosen[0], MOST_ROWS // len(chosen))
    for path in chosen[1:]:
        try:
            other = _sampled(path, MOST_ROWS // len(chosen))
        except RunError:
            continue  # a run will say of each row or file what is wrong
        if other.form == found.form and (found.form == "json" or set(other.columns) & set(found.columns)):
            found = found.with_more(other)
    return found


def _sampled(path: Path, most: int) -> Sample:
    if path.suffix.lower() in (".parquet", ".parq", ".pq") or _begins(path, b"PAR1"):
        return _parquet(path, most)
    text = first_lines(path)
    if not text.strip():
        raise RunError(f"{path}: the file is empty, so there is nothing to learn from")
    if "\x00" in text[:1000]:
        raise RunError(f"{path}: this is neither text nor parquet")
    if text.startswith("#separator") or "\n#fields\t" in text[:5000]:
        return _zeek(path, text, most)
    if text.lstrip()[:1] in "{[":
        return _json(path, most)
    from penstock.formats.separated import sampled_fields

    return sampled_fields(path, text, most)


def _begins(path: Path, sign: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(sign)) == sign


def _parquet(path: Path, most: int) -> Sample:
    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(most)
            rows = next(batches, None)
            found = [] if rows is None else rows.to_pylist(maps_as_pydicts="lossy")
            return Sample("parquet", tuple(file.schema_arrow.names), tuple(found), schema=file.schema_arrow)
    except (pa.ArrowException, OSError) as error:
        raise RunError(f"{path}: this is not a parquet file that can be read: {error}") from error


def _zeek(path: Path, text: str, most: int) -> Sample:
    layout = Layout("zeek").with_header(text, path.name)
    names = layout.names or ()
    told = next((line.split(layout.delimiter)[1:] for line in lines_of(text) if line.startswith("#types")), [])
    rows = tuple(
        {name: None if value == layout.null else value for name, value in zip(names, values, strict=False)}
        for values in (record.split(layout.delimiter) for record in beginning(path, layout, most))
    )
    return Sample("zeek", names, rows, types=dict(zip(names, told, strict=False)))


def _json(path: Path, most: int) -> Sample:
    rows: list[dict[str, Any]] = []
    bad = 0
    for record in beginning(path, Layout("json"), most):
        try:
            row = json.loads(record)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(dict(_flat(row, "")))
        else:
            bad += 1
    if bad > len(rows):
        raise RunError(
            f"{path}: this looks like JSON, but most lines are not objects: Penstock reads one object a line. "
            "jq -c '.[]' turns an array into lines"
        )
    return Sample("json", tuple(dict.fromkeys(name for row in rows for name in row)), tuple(rows), skipped=bad)


def _flat(row: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Return the values of an object; those of objects inside it under names with dots."""
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
