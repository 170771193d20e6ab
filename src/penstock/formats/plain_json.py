"""Fast reader of JSON lines that all have the same keys in the same order and the same spaces.

Such lines differ only in their values, which lie at known distances from quotes. Arrow's reader of CSV then reads
the values, several times faster than its reader of JSON. Lines in any doubt are left to that one.
Like `plain_text` this file imports nothing of Penstock, because it is sent to executors.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

_SEPARATOR = "\x01"
"""What stands around values for Arrow: JSON has no such signs."""
_MEMBER = re.compile(rb'[{,] *"([^"\\]*)" *: *("[^"\\]*"|[-0-9][-+.0-9eE]*|true|false)')
_WORD = 8


@dataclass(frozen=True)
class _Literal:
    """What stands before a value, from the end of the value before; the last one ends the line."""

    text: bytes
    first_quote: int
    """How many quotes of the line are before this literal."""

    @property
    def offset(self) -> int:
        """Where its first quote is."""
        return self.text.index(b'"')


@dataclass(frozen=True)
class _Value:
    """A value of each line: a text in quotes, a number, or else a truth value."""

    key: str
    is_quoted: bool
    is_number: bool


@dataclass(frozen=True)
class _Template:
    """What all lines have in common. There is a literal before each value, and one after the last."""

    literals: tuple[_Literal, ...]
    values: tuple[_Value, ...]
    quotes: int
    """Quotes in a line."""


def read_uniform(text: bytes, starts: Places, kinds: Mapping[str, pa.DataType]) -> pa.Table | None:
    r"""Return the columns of `kinds` if all lines are alike and plain; None if one of them may not be.

    Each line of the text begins with { and ends with }; `starts` has the place of each, and that of the line that
    would follow. Times are returned as texts if they are in quotes, and as whole numbers if they are not.

    >>> text = b'{"a":1,"b":"x"}\n{"a":20,"b":"{y}"}'
    >>> read_uniform(text, np.array([0, 16, 35]), {"b": pa.string(), "a": pa.int32()}).to_pylist()
    [{'b': 'x', 'a': 1}, {'b': '{y}', 'a': 20}]
    >>> read_uniform(b'{"a":1}\n{"b":1}', np.array([0, 8, 16]), {"a": pa.int32()})
    """
    template = _template_of(text[: starts[1] - 1])
    types = None if template is None else _types(template, kinds)
    if template is None or types is None or b"\\" in text:
        return None
    size, lines = len(text), len(starts) - 1
    signs = np.zeros(size + _WORD, np.uint8)
    signs[:size] = np.frombuffer(text, np.uint8)
    if np.count_nonzero(signs[:size] < 0x20) != lines - 1:
        return None
    quotes = np.flatnonzero(signs == 0x22)
    if len(quotes) != lines * template.quotes:
        return None
    spans = _spans(signs, quotes.reshape(lines, template.quotes), starts, template)
    if spans is None:
        return None
    for value, (begins, ends) in zip(template.values, spans, strict=True):
        if value.is_number and not _has_plain_ends(signs, begins, ends, types[value.key]):
            return None
    if any(map(pa.types.is_floating, types.values())) and _has_bare_point(signs):
        return None
    for begins, ends in spans:
        signs[begins - 1] = signs[ends] = ord(_SEPARATOR)
    found = _read_values(pa.py_buffer(signs)[:size], template, types)
    return None if found is None else found.select(list(kinds))


def _template_of(line: bytes) -> _Template | None:
    """Return what lines like this one have in common; None if it is not simple."""
    literals: list[_Literal] = []
    values: list[_Value] = []
    place = ended = quotes = 0
    while member := _MEMBER.match(line, place):
        if (line[place] == ord("{")) != (not values):
            return None
        place = member.end()
        is_quoted = line[member.start(2)] == ord('"')
        literal = _Literal(line[ended : member.start(2) + is_quoted], quotes)
        literals.append(literal)
        quotes += literal.text.count(b'"')
        ended = place - is_quoted
        values.append(_Value(member[1].decode(), is_quoted, member[2][0] in b"-0123456789"))
    if not values or line[place:] != b"}" or len({each.key for each in values}) < len(values):
        return None
    rest = line[ended:]
    return _Template((*literals, _Literal(rest, quotes)), tuple(values), quotes + rest.count(b'"'))


def _types(template: _Template, kinds: Mapping[str, pa.DataType]) -> dict[str, pa.DataType] | None:
    """Return how values are read, by key; None if a declared one is missing or is of another kind.

    Values that no column wants are read, too, if they are not in quotes: they may be malformed.
    """
    found: dict[str, pa.DataType] = {}
    for value in template.values:
        kind = kinds.get(value.key)
        if value.is_quoted:
            if kind is None:
                continue
            fits = pa.types.is_string(kind) or pa.types.is_timestamp(kind)
            kind = pa.string()
        elif value.is_number:
            kind = pa.float64() if kind is None else pa.int64() if pa.types.is_timestamp(kind) else kind
            fits = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        else:
            kind = pa.bool_() if kind is None else kind
            fits = pa.types.is_boolean(kind)
        if not fits:
            return None
        found[value.key] = kind
    return found if kinds.keys() <= found.keys() else None


def _spans(
    signs: Bytes, quotes: Places, starts: Places, template: _Template
) -> list[tuple[Places, Places]] | None:
    """Return where each value begins and ends in all lines; None if something else differs.

    Each line has the template's number of quotes: its first is in its place, and so is that of the next line.
    A literal has only the quotes that follow each other from its first on. So if each literal is where its first
    quote says, all quotes belong to literals, and what is between literals are the values, without quotes.
    Literals do not overlap: each ends with a colon, spaces or a quote, and the next begins with a comma or its own
    first quote.
    """
    if not (quotes[:, 0] - template.literals[0].offset == starts[:-1]).all():
        return None
    words = np.ndarray(len(signs) - _WORD + 1, "<u8", signs.data, strides=(1,))
    begins, ends = [], []
    for literal in template.literals[:-1]:
        places = quotes[:, literal.first_quote] - literal.offset
        if not _has_literal(words, places, literal.text):
            return None
        begins.append(places + len(literal.text))
        ends.append(places)
    last = template.literals[-1].text
    ends.append(starts[1:] - 1 - len(last))
    if last != b"}" and not (quotes[:, -1] == ends[-1]).all():
        return None
    return list(zip(begins, ends[1:], strict=True))


def _has_literal(words: "NDArray[np.uint64]", places: Places, literal: bytes) -> bool:
    """Return whether the literal is at all places; eight bytes are compared at a time.

    No place is after the text. If eight bytes are equal, neither are those that follow: after the text are zeros.
    """
    for first in range(0, len(literal), _WORD):
        part = literal[first : first + _WORD]
        found = words[places + first]
        if len(part) < _WORD:
            found = found & np.uint64(256 ** len(part) - 1)
        if not (found == np.uint64(int.from_bytes(part, "little"))).all():
            return False
    return True


def _has_plain_ends(signs: Bytes, begins: Places, ends: Places, kind: pa.DataType) -> bool:
    """Return whether numbers begin and end as they do in JSON; Arrow checks the rest.

    It would also read a plus, zeros before other digits, hexadecimal numbers, and a point at an end.
    """
    first, last = signs[begins], signs[ends - 1]
    minus = first == ord("-")
    if minus.any():
        begins = begins + minus
        first = signs[begins]
    if not (_is_digit(first) & _is_digit(last)).all():
        return False
    zeros = np.flatnonzero(first == ord("0"))
    after = begins[zeros] + 1
    alone = after == ends[zeros]
    if pa.types.is_integer(kind):
        return bool((alone & ~minus[zeros]).all())
    return bool((alone | np.isin(signs[after], list(b".eE"))).all())


def _is_digit(signs: Bytes) -> NDArray[np.bool_]:
    return (signs - np.uint8(0x30)) < 10


def _has_bare_point(signs: Bytes) -> bool:
    """Return whether there may be a number like 1.e5, which is none in JSON."""
    points = signs[1:-1] == ord(".")
    points &= (signs[2:] | 0x20) == ord("e")
    return bool(points.any() and _is_digit(signs[:-2][points]).any())


def _read_values(text: pa.Buffer, template: _Template, types: Mapping[str, pa.DataType]) -> pa.Table | None:
    """Read values between separators; what is between them are literals."""
    names = ["0"]
    for number, value in enumerate(template.values, 1):
        names += [f"v{value.key}", str(number)]
    kinds = {f"v{key}": kind for key, kind in types.items()}
    try:
        found = pyarrow.csv.read_csv(
            pa.BufferReader(text),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=_SEPARATOR, quote_char=False, double_quote=False),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False,
                column_types=kinds,
                include_columns=list(kinds),
                null_values=[],
                true_values=["true"],
                false_values=["false"],
            ),
        )
    except pa.ArrowInvalid:
        return None
    return found.rename_columns(list(types))
