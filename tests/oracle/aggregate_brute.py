"""The same as aggregates.py in plain loops and exact fractions, for queries given as Python functions.

A `Twin` of aggregates is SQL text and a function of a `Group`; those of twins.py make larger ones of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from tests.oracle.brute import Environment, on_time
from tests.oracle.model import Case
from tests.oracle.results import sorted_rows
from tests.oracle.twins import Twin

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


class Group(NamedTuple):
    """The members of one window with equal keys, by (time, sequence) of the stream's row."""

    start: datetime
    end: datetime
    keys: tuple
    members: list[Environment]


@dataclass(frozen=True)
class AggregateMeaning:
    """A query as functions: WHERE and keys of a member, HAVING and outputs of a group.

    With `distinct`, outputs are the keys, and each group is one row.
    """

    where: Callable[[Environment], bool | None]
    keys: Sequence[Callable]
    having: Callable[[Group], bool | None]
    outputs: Sequence[Callable[[Group], object]]


class Window(NamedTuple):
    begin: int
    end: int
    start: datetime
    last: datetime
    rows: list[dict]


def brute_aggregates(
    case: Case, query_name: str, meaning: AggregateMeaning, since: int | None = None, until: int | None = None
) -> list[tuple]:
    """The sorted rows of the query, whose parts are also given as functions."""
    query = case.query(query_name)
    item = next(item for item in query.sources if case.is_stream(item.source_name))
    kind, size, slide = item.window
    stream = case.stream(item.source_name)
    rows = sorted(((row[stream.timestamp], seq, row) for seq, row in on_time(stream)), key=lambda row: row[:2])
    found = []
    for window in (windows_of_time if kind == "range" else windows_of_rows)(rows, size, slide):
        if since is not None and (window.begin <= since if kind == "range" else window.begin < since):
            continue
        if until is not None and (window.end - 1 if kind == "range" else window.end) > until:
            continue
        groups: dict[tuple, list[Environment]] = {}
        for member in members(case, query.sources, window.rows):
            if meaning.where(member) is True:
                groups.setdefault(tuple(key(member) for key in meaning.keys), []).append(member)
        for keys, inside in groups.items():
            group = Group(window.start, window.last, keys, inside)
            if meaning.having(group) is True:
                found.append(tuple(output(group) for output in meaning.outputs))
    return sorted_rows(found)


def windows_of_time(rows, size: int, slide: int) -> list[Window]:
    """From each row's time go back, a slide at a time, as long as windows that begin there still hold it."""
    held: dict[int, list[dict]] = {}
    for time, _, row in rows:
        now = (time - EPOCH) // MICROSECOND
        begin = now - now % slide
        while begin + size > now:
            held.setdefault(begin, []).append(row)
            begin -= slide
    return [
        Window(begin, begin + size, EPOCH + begin * MICROSECOND, EPOCH + (begin + size) * MICROSECOND, inside)
        for begin, inside in held.items()
    ]


def windows_of_rows(rows, size: int, slide: int) -> list[Window]:
    made = []
    for begin in range(0, len(rows), slide):
        inside = rows[begin : begin + size]
        if len(inside) == size:
            made.append(Window(begin, begin + size, inside[0][0], inside[-1][0], [row for _, _, row in inside]))
    return made


def members(case: Case, sources, rows: list[dict]) -> list[Environment]:
    tables = {item.name: case.source(item.source_name) for item in sources if not case.is_stream(item.source_name)}
    name = next(item.name for item in sources if item.name not in tables)
    stored = [
        [dict(zip(dict(table.columns), row, strict=True)) for row in table.rows] for table in tables.values()
    ]
    return [{name: row, **dict(zip(tables, met, strict=True))} for row in rows for met in product(*stored)]


# --- aggregates ---


WINDOW_START = Twin("window_start", lambda group: group.start)
WINDOW_END = Twin("window_end", lambda group: group.end)


def key_of(part: Twin, place: int) -> Twin:
    """A key as SELECT and HAVING have it."""
    return Twin(part.sql, lambda group: group.keys[place])


def aggregate(function: str, *parts: Twin, where: Twin | None = None, distinct: bool = False) -> Twin:
    """An aggregate: count(*) is aggregate("count")."""
    arguments = ", ".join(part.sql for part in parts) or "*"
    condition = f" FILTER (WHERE {where.sql})" if where else ""
    known = {"count": distinct_count if distinct else count}.get(function, FUNCTIONS.get(function))

    def value(group: Group):
        inside = [member for member in group.members if where is None or where.value(member) is True]
        return known([tuple(part.value(member) for part in parts) for member in inside])

    return Twin(f"{function}({'DISTINCT ' * distinct}{arguments}){condition}", value)


def count(rows: list[tuple]) -> int:
    return sum(None not in row for row in rows)


def distinct_count(rows: list[tuple]) -> int:
    return len({row for row in rows if None not in row})


def of_values(function: Callable) -> Callable:
    """The function of the values that are not NULL; NULL if there are none."""

    def value(rows: list[tuple]):
        values = [v for (v,) in rows if v is not None]
        return function(values) if values else None

    return value


def total(values: list):
    return math.fsum(values) if isinstance(values[0], float) else sum(values)


def average(values: list):
    exact = sum(map(Fraction, values)) / len(values)
    if not isinstance(values[0], Decimal):
        return float(exact)
    digits = 4 - values[0].as_tuple().exponent
    whole = math.floor(abs(exact) * 10**digits + Fraction(1, 2))
    return Decimal(whole if exact >= 0 else -whole).scaleb(-digits)


def variance(values: list, fewer: int = 0) -> float | None:
    """Divided by `fewer` than the number of values."""
    if len(values) == fewer:
        return None
    mean = sum(map(Fraction, values)) / len(values)
    return float(sum((Fraction(v) - mean) ** 2 for v in values) / (len(values) - fewer))


def deviation(values: list, fewer: int = 0) -> float | None:
    found = variance(values, fewer)
    return None if found is None else math.sqrt(found)


def by_key(best: Callable) -> Callable:
    def value(rows: list[tuple]):
        keys = [key for _, key in rows if key is not None]
        return next(x for x, key in rows if key == best(keys)) if keys else None

    return value


FUNCTIONS = {
    "sum": of_values(total),
    "avg": of_values(average),
    "min": of_values(min),
    "max": of_values(max),
    "var_samp": of_values(lambda values: variance(values, 1)),
    "var_pop": of_values(variance),
    "stddev_samp": of_values(lambda values: deviation(values, 1)),
    "stddev_pop": of_values(deviation),
    "bool_and": of_values(all),
    "bool_or": of_values(any),
    "min_by": by_key(min),
    "max_by": by_key(max),
    "first": lambda rows: rows[0][0] if rows else None,
    "last": lambda rows: rows[-1][0] if rows else None,
}
