"""Pieces of script text: literals, durations, and a WHERE cut at its outermost ANDs (no SQL parser needed)."""

import re
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal

LARGEST_FIRST = (1_000_000, 1_000, 1)
TOKEN = re.compile(r"'(?:[^']|'')*'|\w+|\S")


def literal(value) -> str:
    """A SQL literal: 'it''s', TRUE, NULL, -3, 0.25, TIMESTAMP '2026-01-01 00:00:00.000000'."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ', timespec='microseconds')}'"
    return "'" + value.replace("'", "''") + "'"


def duration(microseconds: int, units: tuple[str, str, str]) -> str:
    """A duration in the largest of (second, millisecond, microsecond) that is exact.

    >>> duration(1_500, ("SECONDS", "MILLISECONDS", "MICROSECONDS"))
    '1500 MICROSECONDS'
    >>> duration(2_000_000, ("s", "ms", "us"))
    '2 s'
    """
    for size, unit in zip(LARGEST_FIRST, units, strict=True):
        if microseconds % size == 0:
            return f"{microseconds // size} {unit}"
    raise AssertionError("1 divides every integer")


def window(spec: tuple | None) -> str:
    """'', ' [ROWS 3]' or ' [RANGE 5 SECONDS]'; of three parts ' [RANGE 5 SECONDS SLIDE 1 SECONDS]'."""
    if spec is None:
        return ""
    kind, size, *slide = spec
    if kind not in ("rows", "range") or len(slide) > 1:
        raise ValueError(f"a window is ('rows', n) or ('range', microseconds), perhaps with a slide, not {spec!r}")
    lengths = [size, *slide]
    if kind == "range":
        lengths = [duration(length, ("SECONDS", "MILLISECONDS", "MICROSECONDS")) for length in lengths]
    return f" [{kind.upper()} {' SLIDE '.join(map(str, lengths))}]"


def conjuncts(where: str) -> list[str]:
    """The conditions that the outermost ANDs of `where` connect; all of it as one where an OR is outermost.

    >>> conjuncts("a.x BETWEEN 1 AND 2 AND (b.y = 'AND' OR b.z) AND NOT c")
    ['a.x BETWEEN 1 AND 2', "(b.y = 'AND' OR b.z)", 'NOT c']
    >>> conjuncts("a AND b OR c")
    ['a AND b OR c']
    """
    depth = betweens = start = 0
    found = []
    for token in TOKEN.finditer(where):
        word = token.group().upper()
        if word in ("(", "CASE"):
            depth += 1
        elif word in (")", "END"):
            depth -= 1
        elif depth == 0 and word == "OR":
            return [where.strip()]
        elif depth == 0 and word == "BETWEEN":
            betweens += 1
        elif depth == 0 and word == "AND" and betweens:
            betweens -= 1
        elif depth == 0 and word == "AND":
            found.append(where[start : token.start()].strip())
            start = token.end()
    return [part for part in (*found, where[start:].strip()) if part]


def mentioned(condition: str, aliases: Collection[str]) -> set[str]:
    """Those of `aliases` that stand before a dot in `condition`, outside of strings."""
    bare = re.sub(r"'(?:[^']|'')*'", "''", condition)
    return {alias for alias in aliases if re.search(rf"\b{re.escape(alias)}\s*\.", bare)}
