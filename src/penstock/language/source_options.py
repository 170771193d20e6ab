"""The options of each kind of source, with a check of their values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import nearest
from penstock.language.names import name_key
from penstock.language.statements import Column
from penstock.language.values import Value, duration

Check = Callable[[Value], Any]
MOST = 1e15
"""The largest value of any number."""


def _text(value: Value) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a string in quotes")
    return value


def _character(value: Value) -> str:
    if not isinstance(value, str) or len(value) != 1 or value in '"\n\r':
        raise ValueError("must be one character in quotes, such as ';'")
    return value


def _flag(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _number(low: float, high: float = MOST, *, strictly: bool = False, whole: bool = False) -> Check:
    def check(value: Value) -> float | int:
        kind = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kind):
            raise ValueError(f"must be a {'whole ' if whole else ''}number")
        if value < low or (strictly and value == low):
            raise ValueError(f"must be {'above' if strictly else 'at least'} {low:g}")
        if not value <= high or 0 < value < 1 / MOST:
            raise ValueError(f"must be at most {high:g}" if value > high else "is too small")
        return value

    return check


def _one_of(*words: str) -> Check:
    def check(value: Value) -> str:
        if not isinstance(value, str) or value.lower() not in words:
            raise ValueError(f"must be one of {', '.join(map(repr, words))}.{nearest(value, words)}")
        return value.lower()

    return check


def _any_number(value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        raise ValueError("must be a number")
    return value


@dataclass(frozen=True)
class Kind:
    """A kind of source: its options, the required ones, and whether it also takes any other option (`open`)."""

    options: Mapping[str, Check]
    required: tuple[str, ...] = ()
    open: bool = False
    makes_rows: bool = False


_CLOCK: dict[str, Check] = {
    "seed": _number(0, whole=True),
    "rows": _number(1, whole=True),
    "seconds": _number(0, strictly=True),
    "speed": _number(0, strictly=True),
}
_STREAM: dict[str, Check] = {"timestamp": _text, "lateness": duration, "idle": duration}
_UNIT: dict[str, Check] = {"timestamp_unit": _one_of("s", "ms", "us", "ns", "iso")}
_RATE: dict[str, Check] = {"rate": _number(0, strictly=True)}
_FORMATS = _one_of("parquet", "json", "csv", "clf", "zeek")
_CSV: dict[str, Check] = {"header": _flag, "delimiter": _character, "null": _text, "comment": _character}

STREAMS: Mapping[str, Kind] = {
    "bursty": Kind(
        {
            **_RATE,
            **_CLOCK,
            "flows": _number(1, whole=True),
            "on_alpha": _number(1, strictly=True),
            "off_alpha": _number(1, strictly=True),
            "mean_on": _number(0, strictly=True),
            "mean_off": _number(0, strictly=True),
        },
        ("rate",),
        makes_rows=True,
    ),
    "poisson": Kind({**_RATE, **_CLOCK}, ("rate",), makes_rows=True),
    "trace": Kind(
        {**_RATE, **_CLOCK, "path": _text, "column": _text, "repeat": _flag}, ("path",), makes_rows=True
    ),
    "files": Kind({**_STREAM, **_UNIT, **_CSV, "path": _text, "format": _FORMATS}, ("path", "format")),
    "socket": Kind(
        {
            **_STREAM,
            **_UNIT,
            "host": _text,
            "port": _number(1, 65535, whole=True),
            "format": _one_of("json", "csv"),
            "delimiter": _character,
            "null": _text,
            "listen": _flag,
        },
        ("port",),
    ),
    "structured": Kind({**_STREAM, "format": _text, "landing": _text}, ("format",), open=True),
}

DURATIONS = frozenset(name for name, check in _STREAM.items() if check is duration)
"""Options of streams that are times, in microseconds."""

TABLES: Mapping[str, Kind] = {
    "csv": Kind({"path": _text, **_UNIT, **_CSV}, ("path",)),
    "json": Kind({"path": _text, **_UNIT}, ("path",)),
    "parquet": Kind({"path": _text, **_UNIT}, ("path",)),
}

# Options of each generated column, as in `bytes_low = 40`.
PER_COLUMN: Mapping[str, Check] = {
    "low": _any_number,
    "high": _any_number,
    "distinct": _number(1, whole=True),
    "zipf": _number(1, strictly=True),
}


class OptionError(ValueError):
    """An invalid option; `name` says which, and is None if a required option is missing."""

    def __init__(self, name: str | None, message: str) -> None:
        super().__init__(message)
        self.name = name


def checked_options(kind: Kind, word: str, given: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """Return the options with checked values, or raise `OptionError`."""
    known = {name: (name, check) for name, check in kind.options.items()}
    if kind.makes_rows:
        known |= {
            name_key(f"{column.name}_{word}"): (f"{column.name}_{word}", check)
            for column in columns
            for word, check in PER_COLUMN.items()
        }
    found: dict[str, Any] = {}
    for name, value in given.items():
        as_known, check = known.get(name_key(name), (name, None))
        if check is None:
            if kind.open:
                found[name] = value
                continue
            hint = nearest(name, known) or f" There are {', '.join(sorted(kind.options))}."
            raise OptionError(name, f"{word} has no option {name!r}.{hint}")
        try:
            found[as_known] = check(value)
        except ValueError as error:
            raise OptionError(name, f"option {name!r} of {word}: {error}") from error
    for name in kind.required:
        if name not in found:
            raise OptionError(None, f"{word} needs the option {name!r}: WITH ({name} = …)")
    return found
