"""The first rows of a file whose format nobody told: JSON, separated fields, Zeek's tables, parquet."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
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
_DELIMITERS = ",\t;|"
_NULLS = ("-", "NULL", "\\N", "NA", "N/A", "null")
_SERVER = ("remote_addr", "ident", "remote_user", "time_local", "zone", "request", "status", "bytes")
_COMBINED = (*_SERVER, "referer", "user_agent")
"""The fields of a web server's log, in its common form and in the combined one."""


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


def sampled(path: Path) -> Sample:
    """Look at a file; raise `RunError` if its format is none that Penstock reads."""
    if path.suffix.lower() in (".parquet", ".parq", ".pq") or _begins(path, b"PAR1"):
        return _parquet(path)
    text = first_lines(path)
    if not text.strip():
        raise RunError(f"{path}: the file is empty, so there is nothing to learn from")
    if "\x00" in text[:1000]:
        raise RunError(f"{path}: this is neither text nor parquet")
    if text.startswith("#separator") or "\n#fields\t" in text[:5000]:
        return _zeek(path, text)
    if text.lstrip()[:1] in "{[":
        return _json(path)
    return _separated(path, text)


def _begins(path: Path, sign: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(sign)) == sign


def _parquet(path: Path) -> Sample:
    try:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(MOST_ROWS)
            rows = next(batches, None)
            found = [] if rows is None else rows.to_pylist(maps_as_pydicts="lossy")
            return Sample("parquet", tuple(file.schema_arrow.names), tuple(found), schema=file.schema_arrow)
    except (pa.ArrowException, OSError) as error:
        raise RunError(f"{path}: this is not a parquet file that can be read: {error}") from error


def _zeek(path: Path, text: str) -> Sample:
    layout = Layout("zeek").with_header(text, path.name)
    names = layout.names or ()
    told = next((line.split(layout.delimiter)[1:] for line in lines_of(text) if line.startswith("#types")), [])
    rows = tuple(
        {name: None if value == layout.null else value for name, value in zip(names, values, strict=False)}
        for values in (record.split(layout.delimiter) for record in _records(path, layout))
    )
    return Sample("zeek", names, rows, types=dict(zip(names, told, strict=False)))


def _json(path: Path) -> Sample:
    rows: list[dict[str, Any]] = []
    bad = 0
    for record in _records(path, Layout("json")):
        try:
            row = json.loads(record)
        except ValueError:
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
    return Sample("json", tuple(dict.fromkeys(name for row in rows for name in row)), tuple(rows))


def _flat(row: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Return the values of an object; those of objects inside it under names with dots."""
    for key, value in row.items():
        plain = bool(key) and "." not in key
        if isinstance(value, dict) and value and plain and all(inner and "." not in inner for inner in value):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _separated(path: Path, text: str) -> Sample:
    lines = [line for line in lines_of(text) if line.strip()]
    comment = "#" if lines[0].startswith("#") and not all(line.startswith("#") for line in lines) else None
    plain = [line for line in lines[:200] if comment is None or not line.startswith(comment)]
    delimiter = _delimiter(path, plain)
    found = list(csv.reader(plain, delimiter=delimiter))
    header = _is_header(found)
    layout = Layout("csv", delimiter=delimiter, quoted=True, header_lines=int(header), comment=comment)
    names = tuple(name.strip() for name in found[0]) if header else _numbered(found[0])
    if len({name.lower() for name in names}) < len(names) or not all(names):
        raise RunError(
            f"{path}: two columns of the header have the same name, or one has none: {', '.join(names)}"
        )
    values = [row for row in csv.reader(_records(path, layout), delimiter=delimiter) if len(row) == len(names)]
    null = next((word for word in _NULLS if names[0] == _SERVER[0] or _stands_for_null(values, word)), None)
    rows = tuple(
        {name: None if value in ("", null) else value for name, value in zip(names, row, strict=True)}
        for row in values
    )
    options: dict[str, Any] = {} if header else {"header": False}
    options |= {} if delimiter == "," else {"delimiter": delimiter}
    options |= {} if comment is None else {"comment": comment}
    options |= {} if null is None else {"null": null}
    return Sample("csv", names, rows, options)


def _numbered(first: list[str]) -> tuple[str, ...]:
    """Return names for fields without a header; those of a web server's log are known."""
    if len(first) in (8, 10) and first[3].startswith("[") and first[4].endswith("]"):
        return _COMBINED[: len(first)]
    return tuple(f"c{place + 1}" for place in range(len(first)))


def _records(path: Path, layout: Layout) -> list[str]:
    return list(islice((record for records in records_of(path, layout) for record in records), MOST_ROWS))


def _delimiter(path: Path, lines: list[str]) -> str:
    """Return the sign that parts most lines into the same number of fields, two at least."""
    best, score = "", 0
    for sign in (*_DELIMITERS, " "):
        counts = [len(row) for row in csv.reader(lines, delimiter=sign)]
        common = max(set(counts), key=counts.count)
        alike = counts.count(common)
        if (
            common > 1
            and alike >= 0.8 * len(counts)
            and alike * min(common, 50) > score * (2 if sign == " " else 1)
        ):
            best, score = sign, alike * min(common, 50)
    if not best:
        raise RunError(
            f"{path}: this is neither JSON, one object a line, nor separated fields, nor a Zeek log, nor parquet"
        )
    return best


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: it has no number, and no value that occurs again below it."""
    first, rest = rows[0], rows[1:50]
    if not all(cell.strip() and not _is_number(cell) for cell in first):
        return False
    if not rest:
        return True
    again = sum(any(row[place] == cell for row in rest if len(row) > place) for place, cell in enumerate(first))
    numbers = any(_is_number(cell) for row in rest for cell in row)
    return again == 0 and (numbers or all(cell.replace("_", "a").replace(".", "a").isalnum() for cell in first))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _stands_for_null(rows: list[list[str]], word: str) -> bool:
    """Whether a word stands where others have numbers."""
    for column in zip(*rows, strict=True):
        values = [value for value in column if value]
        others = [value for value in values if value != word]
        if len(others) < len(values) and others and all(map(_is_number, others)):
            return True
    return False
