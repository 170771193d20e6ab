"""Which text files may be plain, and their splits: byte ranges of whole lines that tasks parse by `plain_text`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.formats.layout import Layout
from penstock.formats.log_times import LIMITS, UNITS
from penstock.formats.plain_text import (
    DELIMITERS,
    KINDS,
    LONGEST_LINE,
    PlainColumn,
    PlainFormat,
    has_whole_quotes,
    parsed_plain,
)
from penstock.formats.plain_times import TimeFormat
from penstock.language.statements import Column

_SAMPLE = 64 * 1024
_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Split:
    """The bytes of a file from `start` up to `end`: whole lines."""

    path: str
    start: int
    end: int


def plain_format(
    columns: Sequence[Column], layout: Layout, unit: str | None, time_column: str | None
) -> PlainFormat | None:
    """Return how `parsed_plain` reads files of a layout; None if it cannot."""
    found: list[PlainColumn] = []
    names = [name.lower() for name in layout.names or [column.name for column in columns]]
    for column in columns:
        key = column.path or column.name
        if column.type.name not in KINDS or (layout.form == "json" and "." in key):
            return None  # a key with dots may be several nested ones
        found.append(
            PlainColumn(column.name, column.type.name, key if layout.form == "json" else _place(key, names))
        )
    if len({str(each.key).lower() for each in found}) < len(found):
        return None
    times = TimeFormat(unit, dict(UNITS), dict(LIMITS))
    if layout.form == "json":
        return PlainFormat(tuple(found), comment=layout.comment, times=times, time_column=time_column)
    is_csv = layout.quoted and layout.escape == '"' and layout.set_separator is None and not layout.brackets
    if not is_csv or layout.delimiter not in DELIMITERS or len(names) < 2:
        return None  # a line of spaces is no record, but would be one of a single field
    return PlainFormat(tuple(found), len(names), layout.delimiter, layout.null, layout.comment, times, time_column)


def _place(key: str, names: Sequence[str]) -> int:
    return names.index(key.lower())


def first_record(path: Path, header_line: int | None, layout: Layout) -> int | None:
    """Return where the records of a file begin, after a byte order mark and a header; None if not found."""
    with path.open("rb") as file:
        data = file.read(100_000)
    if header_line is None:
        return len(_BOM) if data.startswith(_BOM) else 0
    ends = [found.end() for found in _LINE_END.finditer(data)]
    if header_line >= len(ends):
        return None
    line = data[ends[header_line - 1] if header_line else 0 : ends[header_line]].removeprefix(_BOM)
    return ends[header_line] if has_whole_quotes(line.strip(b"\r\n"), layout.delimiter) else None


def is_plain_at_first(path: Path, start: int, form: PlainFormat) -> bool:
    """Return whether the first lines are plain: most files that are not show it there."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(_SAMPLE)
    end = data.rfind(b"\n") + 1
    return end > 0 and parsed_plain(data[:end], form) is not None


def splits_of(path: Path, start: int, most: int) -> list[Split] | None:
    """Return byte ranges of about `most` bytes from `start` on that end with lines; None if a line is too long."""
    size = path.stat().st_size
    found: list[Split] = []
    with path.open("rb") as file:
        while start < size:
            end = size
            if start + most < size:
                file.seek(start + most)
                rest = file.read(LONGEST_LINE)
                length = rest.find(b"\n") + 1
                if not length and start + most + len(rest) < size:
                    return None
                end = start + most + length if length else size
            found.append(Split(str(path), start, end))
            start = end
    return found
