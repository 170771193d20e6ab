"""Queries with GROUP BY, aggregates or DISTINCT over the windows of one stream, as values and as text.

`Case`, `Case.script`, `Case.write`, `Case.query` and `generator.with_variants` take them beside a `QuerySpec`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from random import Random
from typing import Self

from tests.oracle.model import FromItem, QuerySpec, varied_joins

FUNCTIONS = (
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "stddev_samp",
    "stddev_pop",
    "var_samp",
    "var_pop",
    "min_by",
    "max_by",
    "first",
    "last",
    "bool_and",
    "bool_or",
)
IN_ORDER = ("first", "last", "min_by", "max_by")  # their result depends on the order of rows
STRING = re.compile(r"'(?:[^']|'')*'")
CALL = re.compile(rf"\b({'|'.join(FUNCTIONS)})\s*\(", re.IGNORECASE)
FILTER = re.compile(r"\s*FILTER\s*\(\s*WHERE\b", re.IGNORECASE)
DISTINCT = re.compile(r"\s*DISTINCT\b", re.IGNORECASE)
SOURCE = re.compile(r"(\w+)(?: \[(ROWS|RANGE) (\d+) SLIDE (\d+)\])?(?: AS (\w+))?")


@dataclass(frozen=True)
class Call:
    """An aggregate as a query's text has it: function([DISTINCT] arguments) [FILTER (WHERE condition)]."""

    function: str
    arguments: tuple[str, ...]  # ("*",) for count(*)
    distinct: bool = False
    condition: str = ""


@dataclass(frozen=True)
class AggregateSpec(QuerySpec):
    """SELECT [DISTINCT] select FROM sources WHERE where GROUP BY group HAVING having.

    The sources are one stream, whose window has three parts, (kind, size, slide), and at most one stored table.
    In `select`, window_start and window_end are the bounds of the window.
    """

    group: Sequence[str] = ()
    having: str = ""
    distinct: bool = False

    def text(self, windows: bool = True) -> str:
        shown = super().text(windows)
        if self.distinct:
            shown = "SELECT DISTINCT" + shown.removeprefix("SELECT")
        if self.group:
            shown += f"\n  GROUP BY {', '.join(self.group)}"
        return shown + (f"\n  HAVING {self.having}" if self.having else "")

    def calls(self) -> list[Call]:
        """The aggregates of the SELECT list and of HAVING."""
        return [call for sql in (*(sql for sql, _ in self.select), self.having) for call in calls_in(sql)]

    def varied(self, vary: Callable[[str], str], random: Random) -> Self:
        """Change constants, and every other time the windows. A key is changed alike wherever it stands."""
        keys = {key: vary(key) for key in self.group}
        long_first = sorted((re.escape(key) for key in keys if not re.fullmatch(r"[\w.]+", key)), key=len)[::-1]
        parts = re.compile(f"({'|'.join(long_first)})") if long_first else None

        def vary_around_keys(sql: str) -> str:
            pieces = parts.split(sql) if parts else [sql]
            return "".join(keys[piece] if place % 2 else vary(piece) for place, piece in enumerate(pieces))

        return replace(
            self,
            select=[(vary_around_keys(sql), name) for sql, name in self.select],
            where=vary(self.where),
            group=list(keys.values()),
            having=vary_around_keys(self.having),
            sources=[varied_window(item, random) for item in varied_joins(self.sources, vary)],
        )


def varied_window(item: FromItem, random: Random) -> FromItem:
    if item.window is None or random.random() < 0.5:
        return item
    kind, size, slide = item.window
    unit = gcd(size, slide)
    return replace(item, window=(kind, unit * random.randint(1, 6), unit * random.randint(1, 4)))


def aggregate_query(
    name: str,
    select: str,
    sources: str,
    where: str = "",
    group: str = "",
    having: str = "",
    distinct: bool = False,
) -> AggregateSpec:
    """A query from text, as `shape_parts.query` for plain ones; RANGE and SLIDE of time are in microseconds.

    >>> print(aggregate_query("q", "k, count(*) AS n", "red [RANGE 3 SLIDE 1] AS r", "r.x > 1", "k").text())
    SELECT k, count(*) AS n
      FROM red [RANGE 3 MICROSECONDS SLIDE 1 MICROSECONDS] AS r
      WHERE r.x > 1
      GROUP BY k
    """
    shown = []
    for output in split_at_commas(select):
        text, _, named = output.rpartition(" AS ")
        shown.append((text, named) if text else (output, None))
    items = []
    for source in sources.split(", "):
        stored, kind, size, slide, alias = SOURCE.fullmatch(source).groups()
        items.append(FromItem(stored, alias, (kind.lower(), int(size), int(slide)) if kind else None))
    keys = split_at_commas(group) if group else ()
    return AggregateSpec(name, shown, items, where, group=keys, having=having, distinct=distinct)


# --- text ---


def calls_in(sql: str) -> list[Call]:
    """The aggregates in an expression.

    >>> calls_in("sum(v) FILTER (WHERE s = 'a)') - count(DISTINCT k, abs(v))")
    [Call(function='sum', arguments=('v',), distinct=False, condition="s = 'a)'"), \
Call(function='count', arguments=('k', 'abs(v)'), distinct=True, condition='')]
    """
    found = []
    replace_calls(sql, lambda call: found.append(call) or "")
    return found


def replace_calls(sql: str, written: Callable[[Call], str]) -> str:
    """The expression with something else written for each aggregate."""
    masked = without_strings(sql)
    pieces, end = [], 0
    while found := CALL.search(masked, end):
        pieces.append(sql[end : found.start()])
        end = closing(masked, found.end())
        inside, condition = sql[found.end() : end - 1], ""
        if clause := FILTER.match(masked, end):
            end = closing(masked, clause.end())
            condition = sql[clause.end() : end - 1].strip()
        distinct = DISTINCT.match(inside)
        arguments = tuple(split_at_commas(inside[distinct.end() :] if distinct else inside))
        pieces.append(written(Call(found[1].lower(), arguments, distinct is not None, condition)))
    return "".join([*pieces, sql[end:]])


def without_strings(sql: str) -> str:
    """As long as `sql`, with x for what stands in strings."""
    return STRING.sub(lambda text: "x" * len(text[0]), sql)


def closing(masked: str, start: int) -> int:
    """The place after the parenthesis that closes the one before `start`."""
    depth = 1
    for place in range(start, len(masked)):
        depth += {"(": 1, ")": -1}.get(masked[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError(f"a parenthesis is not closed: {masked}")


def split_at_commas(sql: str) -> list[str]:
    """The parts between the commas that are in no parentheses and no strings."""
    masked, depth, parts, start = without_strings(sql), 0, [], 0
    for place, sign in enumerate(masked):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append(sql[start:place].strip())
            start = place + 1
    return [*parts, sql[start:].strip()]
