"""Samples of separated fields: detects the delimiter, the header and the word for NULL."""

import csv
import re
from pathlib import Path
from typing import Any

from penstock.errors import RunError
from penstock.formats.layout import USER_WITH_SPACES, Layout, layout_of, lines_of
from penstock.formats.sample import FileSample, beginning
from penstock.formats.texts import LONGEST_RECORD

_DELIMITERS = ",\t;|"
_NULLS = ("-", "NULL", "\\N", "NA", "N/A", "null")
_COMBINED = (
    "remote_addr",
    "ident",
    "remote_user",
    "time_local",
    "request",
    "status",
    "bytes",
    "referer",
    "user_agent",
)
"""The fields of a web server's log in combined format; the common format has the first seven."""
_SERVER_LINE = re.compile(r"\S+ \S+ [^\"\[]+ \[\d{2}/[A-Za-z]{3}/\d{4}:[^\]]*\] \"")
_FIELD = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\S+')


def sampled_fields(path: Path, text: str, most: int) -> FileSample:
    """Return a sample of a text with separated fields, or of a web server's log."""
    csv.field_size_limit(LONGEST_RECORD)
    lines = [line for line in lines_of(text) if line.strip()]
    if sum(map(bool, map(_SERVER_LINE.match, lines[:200]))) * 2 > len(lines[:200]):
        return _server(path, most)
    comment = "#" if lines[0].startswith("#") and not all(line.startswith("#") for line in lines) else None
    plain = [line for line in lines[:200] if comment is None or not line.startswith(comment)]
    delimiter = _delimiter(path, plain)
    found = list(csv.reader(plain, delimiter=delimiter))
    header = _is_header(found)
    layout = Layout("csv", delimiter=delimiter, quoted=True, header_lines=int(header), comment=comment)
    names = (
        tuple(name.strip() for name in found[0])
        if header
        else tuple(f"c{place + 1}" for place in range(len(found[0])))
    )
    if len({name.lower() for name in names}) < len(names) or not all(names):
        raise RunError(
            f"{path}: two columns of the header have the same name, or one has none: {', '.join(names)}"
        )
    every = list(csv.reader(beginning(path, layout, most), delimiter=delimiter))
    values = [row for row in every if len(row) == len(names)]
    null = next((word for word in _NULLS if _is_null_word(values, word)), None)
    rows = tuple(
        {name: None if value in ("", null) else value for name, value in zip(names, row, strict=True)}
        for row in values
    )
    options: dict[str, Any] = {} if header else {"header": False}
    options |= {} if delimiter == "," else {"delimiter": delimiter}
    options |= {} if comment is None else {"comment": comment}
    options |= {} if null is None else {"null": null}
    return FileSample("csv", names, rows, options, skipped=len(every) - len(rows))


def _server(path: Path, most: int) -> FileSample:
    """Return a sample of a web server's log, in common or combined format, or with more fields."""
    records = beginning(path, layout_of("clf", {}, in_file=True), most)
    every = [_FIELD.findall(re.sub(USER_WITH_SPACES, r'\1 "\2" [', record)) for record in records]
    counts = [len(fields) for fields in every]
    usual = max(set(counts), key=counts.count)
    names = (*_COMBINED, *(f"c{place + 1}" for place in range(len(_COMBINED), usual)))[:usual]
    rows = tuple(
        {name: None if value in ("-", "") else value for name, value in zip(names, fields, strict=True)}
        for fields in ([field.strip('"') for field in fields] for fields in every)
        if len(fields) == usual
    )
    return FileSample("clf", names, rows, skipped=len(every) - len(rows))


def _delimiter(path: Path, lines: list[str]) -> str:
    """Return the delimiter that splits most lines into the same number of fields, at least two."""
    best, score = "", 0
    for sign in _DELIMITERS:
        counts = [len(row) for row in csv.reader(lines, delimiter=sign)]
        common = max(set(counts), key=counts.count)
        alike = counts.count(common)
        if common > 1 and alike >= 0.8 * len(counts) and alike * min(common, 50) > score:
            best, score = sign, alike * min(common, 50)
    if not best:
        raise RunError(
            f"{path}: this is not JSON with one object per line, fields separated by commas, semicolons or tabs, "
            "a web server's or Zeek's log, or parquet. To get syslog as JSON: journalctl -o json"
        )
    return best


def _is_header(rows: list[list[str]]) -> bool:
    """Return whether the first row is a header: no number, and no value that occurs again below."""
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


def _is_null_word(rows: list[list[str]], word: str) -> bool:
    """Return whether a word occurs in a column of numbers."""
    for column in zip(*rows, strict=True):
        values = [value for value in column if value]
        others = [value for value in values if value != word]
        if len(others) < len(values) and others and all(map(_is_number, others)):
            return True
    return False
