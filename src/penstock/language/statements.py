"""Statements of a script as values: streams, tables, queries, settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd
from typing import Any, Literal

from sqlglot import exp

from penstock.language.names import name_key
from penstock.language.text import Span
from penstock.language.types import ColumnType

Options = Mapping[str, Any]
CONSTANTS = "constants"
"""The source of a table that holds the constants of a group of queries."""


@dataclass(frozen=True)
class Column:
    """A declared column; `path` says where it is in nested data, if not under its name."""

    name: str
    type: ColumnType
    path: str | None = None


@dataclass(frozen=True)
class Relation:
    """A stream or a table: its columns, the kind of its source, and the options of that source."""

    name: str
    columns: tuple[Column, ...]
    source: str
    options: Options = field(hash=False, default_factory=dict)
    span: Span = field(default=Span(0, 0), compare=False)

    def column(self, name: str) -> Column | None:
        """Return the column of that name, ignoring case."""
        return self._by_name.get(name_key(name))

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {name_key(column.name): column for column in self.columns}

    @property
    def time_column(self) -> str | None:
        """The column that holds the event time, else the first of type TIMESTAMP, if there is one."""
        times = (column.name for column in self.columns if column.type.name == "TIMESTAMP")
        return self.options.get("timestamp") or next(times, None)

    @property
    def row_bytes(self) -> int:
        """The estimated size of a row."""
        return sum(column.type.bytes for column in self.columns) or 1


@dataclass(frozen=True)
class StreamDef(Relation):
    """CREATE STREAM."""

    branches: tuple["QueryDef", ...] = field(default=(), compare=False)
    """Of a derived stream: the queries that make its rows, joined by UNION ALL."""

    @property
    def is_derived(self) -> bool:
        """Whether its rows are the results of queries."""
        return bool(self.branches)

    @property
    def time_column(self) -> str | None:
        """The column that holds the event time, if there is one; results have a time that is no column."""
        return None if self.is_derived else super().time_column

    @property
    def timestamp(self) -> str | None:
        """The column that holds the event time, if there is one."""
        return self.options.get("timestamp")

    @property
    def lateness_us(self) -> int:
        """How much older than the newest earlier row a row may be."""
        return int(self.options.get("lateness", 0))

    @property
    def idle_us(self) -> int | None:
        """After how long a silence the stream's watermark moves on."""
        return self.options.get("idle")


@dataclass(frozen=True)
class TableDef(Relation):
    """CREATE TABLE: a stored table, read once."""

    @property
    def is_constants(self) -> bool:
        """Whether it holds the constants of a group of queries, and is not declared in a script."""
        return self.source == CONSTANTS


@dataclass(frozen=True)
class WindowDef:
    """[ROWS n] or [RANGE t]: rows, or microseconds. With SLIDE, it is a series of windows, for aggregates."""

    kind: Literal["rows", "range"]
    size: int
    slide: int | None = None
    """The distance from the beginning of a window to that of the next; None: the window of a join."""

    def __str__(self) -> str:
        unit = "" if self.kind == "rows" else " MICROSECONDS"
        slide = "" if self.slide is None else f" SLIDE {self.slide}{unit}"
        return f"[{self.kind.upper()} {self.size}{unit}{slide}]"

    @property
    def pane(self) -> int:
        """The size of the panes that windows of a series consist of: each begins and ends where a pane does."""
        return gcd(self.size, self.slide or 0)


@dataclass(frozen=True)
class FromItem:
    """One item of FROM: a stream with its window, or a table."""

    relation: Relation
    alias: str
    window: WindowDef | None = None
    outer: tuple[exp.Expression, ...] | None = field(default=None, compare=False)
    """Of a stored table after LEFT JOIN: the conditions of its ON."""

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream."""
        return isinstance(self.relation, StreamDef)


@dataclass(frozen=True)
class Output:
    """One column of the result; columns in `expression` are resolved: table ``f<place>``, declared name."""

    name: str
    expression: exp.Expression = field(compare=False)


GROUPED = "g"
"""The table of the columns of a group of rows: keys `k0`, …, aggregates `a0`, …, and the two below."""
WINDOW_START, WINDOW_END = "window_start", "window_end"


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of a query. Arguments and condition are resolved as those of WHERE are."""

    function: str
    """Its name in lower case, as `language.aggregates.FUNCTIONS` has it; aliases are replaced."""
    arguments: tuple[exp.Expression, ...] = field(compare=False)
    """None for count(*)."""
    condition: exp.Expression | None = field(default=None, compare=False)
    """FILTER (WHERE …)."""
    scaled: bool = False
    """Whether each row also counts for the rows that drop boxes dropped."""


@dataclass(frozen=True)
class Aggregation:
    """GROUP BY over the windows of a query's stream, its aggregates and HAVING.

    HAVING and the result columns of the query read only the table `GROUPED`.
    """

    keys: tuple[exp.Expression, ...] = field(compare=False)
    calls: tuple[AggregateCall, ...]
    having: tuple[exp.Expression, ...] = field(compare=False)


@dataclass(frozen=True)
class QueryDef:
    """CREATE QUERY, resolved and checked: its FROM items, conditions and result columns."""

    name: str
    items: tuple[FromItem, ...]
    conditions: tuple[exp.Expression, ...] = field(compare=False)
    outputs: tuple[Output, ...]
    sql: str
    span: Span = field(default=Span(0, 0), compare=False)
    aggregation: Aggregation | None = None
    scaled: bool = False
    """Whether counts, sums and averages are scaled for the rows that drop boxes dropped."""

    @property
    def statement(self) -> str:
        """The statement that creates it."""
        return create_statement(self.name, self.sql, scaled=self.scaled)

    @property
    def streams(self) -> tuple[FromItem, ...]:
        """The streams that it reads, in the order of FROM."""
        return tuple(item for item in self.items if item.is_stream)


def create_statement(name: str, sql: str, *, scaled: bool) -> str:
    """Return the statement that creates a query."""
    return f"CREATE QUERY `{name}` {'WITH (scaled = true) ' * scaled}AS {sql}"


@dataclass(frozen=True)
class Drop:
    """DROP QUERY, or DROP STREAM of a derived stream."""

    name: str
    what: Literal["query", "stream"] = field(default="query", kw_only=True)
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class Setting:
    """SET name = value."""

    name: str
    value: Any
    span: Span = field(default=Span(0, 0), compare=False)


Statement = StreamDef | TableDef | QueryDef | Drop | Setting
