"""Fast parser of plain JSON and CSV text with Arrow; text in any doubt is left to Spark's parser (`text_parser`).

Plain text is text on which both parsers agree. `parsed_plain` returns its rows, or None if a record is not plain.
This file, `plain_json` and `plain_times` import nothing else of Penstock: they are sent to executors, which may
not have it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from numpy.typing import NDArray

from penstock.formats.plain_json import read_uniform
from penstock.formats.plain_times import TimeFormat, plain_times

KINDS: Mapping[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
"""The types of columns in plain text."""
DELIMITERS = (",", ";", "|", "\t")
LONGEST_LINE = 50_000
"""Most bytes of a line. Jackson, Spark's JSON parser, reads no longer names."""
_CHUNK_BYTES = 2 * 1024 * 1024
"""Bytes that are parsed together; more than a line has."""
_KEPT_BYTES = 16 * 1024 * 1024
"""Once a block of this size was freed, glibc keeps twice as much free memory. Otherwise it would return the memory
of each chunk to the system, and page faults would take as long as the parser."""
_JACKSON_MOST = 1000
"""Most digits of a number and most nested values that Jackson reads."""
_NUMBER_SIGNS = b"0123456789+-.eE"
_DIGITS = bytes(0x30 if sign in _NUMBER_SIGNS else 0x20 for sign in range(256))
_BOM = b"\xef\xbb\xbf"
_HEX = re.compile(rb"(?<![0-9A-Za-z])0[xX]")
_LONE_SURROGATE = re.compile(
    rb"\\\\u|\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]", re.DOTALL
)


@dataclass(frozen=True)
class PlainColumn:
    """A declared column: `key` is its key in JSON objects, or the place of its field in lines of CSV."""

    name: str
    kind: str
    key: str | int


@dataclass(frozen=True)
class PlainFormat:
    """How records are written. `fields` is the number of fields of CSV, and 0 for JSON."""

    columns: tuple[PlainColumn, ...]
    fields: int = 0
    delimiter: str = ","
    null: str | None = None
    comment: str | None = None
    times: TimeFormat = field(default_factory=TimeFormat)
    time_column: str | None = None


@dataclass(frozen=True)
class PlainRows:
    """Rows of plain text, and the unit of the first number in the time column, if its size told it."""

    table: pa.Table
    unit: str | None = None


def read_plain(path: str, start: int, end: int, form: PlainFormat) -> PlainRows | None:
    """Return the rows of the whole lines from `start` up to `end`; None if one of them is not plain.

    The file is read a chunk at a time: chunks stay in the processor's cache, and their memory is used again.
    """
    tables: list[pa.Table] = []
    unit = None
    np.empty(_KEPT_BYTES, np.uint8)
    with open(path, "rb") as file:
        while start < end:
            wanted = min(_CHUNK_BYTES, end - start)
            file.seek(start)
            data = file.read(wanted)
            if len(data) < wanted:
                return None
            if start + wanted < end:
                data = data[: data.rfind(b"\n") + 1]
            found = parsed_plain(data, form) if data else None
            if found is None:
                return None
            tables.append(found.table)
            unit = unit or found.unit
            start += len(data)
    return PlainRows(pa.concat_tables(tables), unit)


def parsed_plain(data: bytes, form: PlainFormat) -> PlainRows | None:
    """Return the rows of whole lines; None if one of them is not plain."""
    lines = _unified(data, form)
    if lines is None:
        return None
    if not lines.text:
        return PlainRows(pa.schema([(each.name, KINDS[each.kind]) for each in form.columns]).empty_table())
    try:
        found = _of_csv(lines, form) if form.fields else _of_json(lines, form)
        if found is None or found.num_rows != lines.count:
            return None
        return _typed(found, form)
    except pa.ArrowException:
        return None


@dataclass(frozen=True)
class _Lines:
    """Lines of a text, none of them empty."""

    text: bytes
    starts: NDArray[np.int64]
    """The place of each line, and that of the one that would follow."""

    @classmethod
    def of(cls, text: bytes) -> "_Lines":
        ends = np.flatnonzero(np.frombuffer(text, np.uint8) == 0x0A)
        return cls(text, np.concatenate([[0], ends + 1, [len(text) + 1]]))

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def longest(self) -> int:
        """The bytes of the longest line, with its end."""
        return int(np.diff(self.starts).max())


def _unified(data: bytes, form: PlainFormat) -> _Lines | None:
    r"""Return lines that end with \n, without empty ones; None if there is something odd."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            return None
    lines = _Lines.of(data.strip(b"\n"))
    if (np.diff(lines.starts) == 1).any():
        lines = _Lines.of(re.sub(rb"\n\n+", b"\n", lines.text))
    data = lines.text
    if b"\0" in data or data.startswith(_BOM):
        return None
    if form.comment:
        sign = form.comment.encode()
        if data.startswith(sign) or b"\n" + sign in data:
            return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
    return lines


# JSON ---------------------------------------------------------------------------------------------------------


def _of_json(lines: _Lines, form: PlainFormat) -> pa.Table | None:
    """Parse a JSON object per line.

    Arrow ignores lines. But every line here begins with { and ends with }, so no object goes on in the next line:
    inside an object } is never followed by {, and a string with a line end is an error. As there are as many
    objects as lines, each line has one.
    """
    text, starts = lines.text, lines.starts
    signs = np.frombuffer(text, np.uint8)
    if not ((signs[starts[:-1]] == 0x7B).all() and (signs[starts[1:] - 2] == 0x7D).all()):
        return None
    if not _within_limits(lines):
        return None
    if b"\\" in text and (b"\\ud" in text or b"\\uD" in text) and _LONE_SURROGATE.search(text):
        return None
    uniform = read_uniform(text, starts, {str(each.key): KINDS[each.kind] for each in form.columns})
    if uniform is not None:
        return uniform
    try:
        return _read_json(text, form, pa.string())
    except pa.ArrowInvalid:
        if not any(each.kind == "TIMESTAMP" for each in form.columns):
            raise
        return _read_json(text, form, pa.int64())


def _read_json(text: bytes, form: PlainFormat, times: pa.DataType) -> pa.Table:
    kinds = {each.key: times if each.kind == "TIMESTAMP" else KINDS[each.kind] for each in form.columns}
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(list(kinds.items())), unexpected_field_behavior="ignore"
        ),
    ).select(list(kinds))


def _within_limits(lines: _Lines) -> bool:
    """Return whether Jackson reads names, numbers and nested values of such lengths."""
    text, longest = lines.text, lines.longest
    if longest <= _JACKSON_MOST:
        return True
    if longest > LONGEST_LINE or b"0" * (_JACKSON_MOST - 1) in text.translate(_DIGITS):
        return False
    signs = np.frombuffer(text, np.uint8)
    opened = ((signs == 0x5B) | (signs == 0x7B)).astype(np.int32)
    return int(np.add.reduceat(opened, lines.starts[:-1]).max()) < _JACKSON_MOST - 10


# CSV ----------------------------------------------------------------------------------------------------------


def _of_csv(lines: _Lines, form: PlainFormat) -> pa.Table | None:
    """Parse separated fields; a field may be in quotes, but contain none."""
    text = lines.text
    if lines.longest > LONGEST_LINE:
        return None
    is_quoted = b'"' in text
    if is_quoted and not has_whole_quotes(text, form.delimiter):
        return None
    if is_quoted and form.null and b'""' in text:
        return None  # Arrow would take it for NULL, as it does an empty field without quotes
    whole = any(pa.types.is_integer(KINDS[each.kind]) for each in form.columns)
    if whole and (b"0x" in text or b"0X" in text) and _HEX.search(text):
        return None  # Arrow would read it as a number
    names = {each.key: f"f{each.key}" for each in form.columns}
    kinds = {
        names[each.key]: pa.string() if each.kind == "TIMESTAMP" else KINDS[each.kind] for each in form.columns
    }
    return pyarrow.csv.read_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(
            use_threads=False,
            block_size=len(text) + 1,
            column_names=[f"f{place}" for place in range(form.fields)],
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=form.delimiter, quote_char='"' if is_quoted else False, double_quote=False
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            check_utf8=False,
            column_types=kinds,
            include_columns=list(kinds),
            strings_can_be_null=True,
            null_values=["", *([form.null] if form.null is not None else [])],
            true_values=["true", "True", "TRUE", "1"],
            false_values=["false", "False", "FALSE", "0"],
        ),
    )


def has_whole_quotes(text: bytes, delimiter: str) -> bool:
    """Return whether each quote begins or ends a field, in turn.

    A field may still have line ends in it. Then there are fewer records than lines, which `parsed_plain` notices.

    >>> [has_whole_quotes(line, ",") for line in (b'1,"a,b"', b'1,"a""b"', b'x"y,"z', b'"a" ,1')]
    [True, False, False, False]
    """
    signs = np.frombuffer(text, np.uint8)
    places = np.flatnonzero(signs == 0x22)
    if len(places) % 2:
        return False
    begins, ends = places[::2], places[1::2]
    before = signs[begins[1:] - 1 if len(begins) and not begins[0] else begins - 1]
    after = signs[ends[:-1] + 1 if len(ends) and ends[-1] + 1 == len(signs) else ends + 1]
    return all(((signs_there == ord(delimiter)) | (signs_there == 10)).all() for signs_there in (before, after))


# Values -------------------------------------------------------------------------------------------------------


def _typed(found: pa.Table, form: PlainFormat) -> PlainRows | None:
    """Return the declared columns; None if a number or a time is one that Spark may read otherwise."""
    arrays, unit = [], None
    for column, values in zip(form.columns, found.columns, strict=True):
        if column.kind == "DOUBLE" and not _has_plain_numbers(values):
            return None
        if column.kind == "TIMESTAMP":
            timed = plain_times(values, form.times)
            if timed is None:
                return None
            values, first_unit = timed
            unit = first_unit if column.name == form.time_column else unit
        arrays.append(values)
    return PlainRows(pa.table(arrays, [each.name for each in form.columns]), unit)


def _has_plain_numbers(values: pa.ChunkedArray) -> bool:
    """Return whether numbers are finite, and none is -0.0: Jackson reads -0 as 0."""
    numbers = values.drop_null().to_numpy()
    return bool(np.isfinite(numbers).all() and not np.signbit(numbers[numbers == 0]).any())
