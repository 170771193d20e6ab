"""Values in WITH (...) and SET: numbers, durations and sizes with units."""

import re
from fractions import Fraction

Value = str | int | float | bool
"""A value after = in a script."""

UNITS_US: dict[str, int] = {
    **dict.fromkeys(("US", "MICROSECOND", "MICROSECONDS"), 1),
    **dict.fromkeys(("MS", "MILLISECOND", "MILLISECONDS"), 1_000),
    **dict.fromkeys(("S", "SEC", "SECOND", "SECONDS"), 1_000_000),
    **dict.fromkeys(("MIN", "MINUTE", "MINUTES"), 60_000_000),
    **dict.fromkeys(("H", "HOUR", "HOURS"), 3_600_000_000),
    **dict.fromkeys(("D", "DAY", "DAYS"), 86_400_000_000),
}
"""Microseconds in each unit of time."""

BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LARGEST = 10**18
_NUMBER = re.compile(r"[+-]?(\d{1,40}\.?\d{0,40}|\.\d{1,40})(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number of at most 18 digits, as int() reads it.

    >>> is_whole("12"), is_whole("1.5"), is_whole("²")
    (True, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) <= 18


def microseconds(amount: str, unit: str) -> int:
    """Return a time in whole microseconds.

    >>> microseconds("0.5", "seconds")
    500000
    """
    known = UNITS_US.get(unit.upper())
    if known is None:
        raise ValueError(f"{unit!r} is not a unit of time; use us, ms, s, min, h, d or their full names")
    value = _number(amount) * known
    if value.denominator != 1:
        raise ValueError(f"{amount} {unit} is not a whole number of microseconds")
    if not 0 <= value <= LARGEST:
        raise ValueError(f"{amount} {unit} is out of range")
    return int(value)


def duration(value: object) -> int:
    """Return microseconds of '5 s' or of a number of seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return microseconds(str(value), "s")
    amount, unit = _split(str(value))
    if not amount:
        raise ValueError(f"{str(value)[:40]!r} is not a time such as '5 s' or '50 ms'")
    return microseconds(amount, unit or "s")


def size(value: object) -> int:
    """Return the bytes of '512MB' or of a plain number.

    >>> size("512MB"), size("1 KiB")
    (512000000, 1024)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        amount, unit = str(value), ""
    else:
        amount, unit = _split(str(value))
        if not amount:
            raise ValueError(f"{str(value)[:40]!r} is not a size such as '512MB'")
    factor = BYTES.get(unit.upper() or "B")
    if factor is None:
        raise ValueError(f"{unit!r} is not a unit of memory; use {', '.join(BYTES)}")
    found = _number(amount) * factor
    if found.denominator != 1 or not 0 < found <= LARGEST:
        raise ValueError(f"{value!r} is not a number of bytes")
    return int(found)


def unit_of(text: str) -> str:
    """Return the unit in '512MB' or '5 s'; an empty string for a plain number.

    >>> unit_of("512MB"), unit_of("5 s"), unit_of("5")
    ('MB', 's', '')
    """
    return _split(text)[1]


def _split(text: str) -> tuple[str, str]:
    text = text.strip()
    end = next((place for place, char in enumerate(text) if char.isalpha()), len(text))
    return text[:end].strip(), text[end:].strip()


def _number(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number")
    return Fraction(text)
