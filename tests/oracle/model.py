"""A case: streams, stored tables and queries as plain values, and the script and files that say the same.

Nothing here parses SQL or knows Penstock; the oracle reads these values, Penstock reads what `Case.write` writes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Self

from tests.oracle.datafiles import is_type, write_rows
from tests.oracle.sqltext import conjuncts, duration, literal, mentioned, window

Columns = Sequence[tuple[str, str]]
FORMATS = ("json", "csv", "parquet")


@dataclass(frozen=True)
class StreamData:
    """A finite stream from files: its rows in order, cut into files of the given numbers of rows."""

    name: str
    columns: Columns  # (name, type), types as in ARROW, or DECIMAL(p,s)
    rows: Sequence[tuple]
    timestamp: str | None = None
    files: Sequence[int] | None = None  # None: all in one
    lateness_us: int = 0
    format: str = "json"

    def __post_init__(self):
        check_rows(self)
        if self.files is not None and sum(self.files) != len(self.rows):
            raise ValueError(f"{self.name}: files of {list(self.files)} rows do not hold {len(self.rows)} rows")
        if self.timestamp is not None and dict(self.columns).get(self.timestamp) != "TIMESTAMP":
            raise ValueError(f"{self.name}: {self.timestamp} is no TIMESTAMP column")

    def write(self, folder: Path) -> str:
        """Write the files to `folder`/name, their name order being row order; return the CREATE STREAM."""
        place = folder / self.name
        place.mkdir(parents=True)
        cuts = [0]
        for count in [len(self.rows)] if self.files is None else self.files:
            cuts.append(cuts[-1] + count)
        for number, (start, end) in enumerate(pairwise(cuts)):
            part = place / f"part-{number:05d}.{self.format}"
            write_rows(part, self.columns, self.rows[start:end], self.format)
        options = [("path", str(place.resolve())), ("format", self.format)]
        if self.timestamp is not None:
            options.append(("timestamp", self.timestamp))
        if self.lateness_us:
            options.append(("lateness", duration(self.lateness_us, ("s", "ms", "us"))))
        return (
            f"CREATE STREAM {self.name} ({column_list(self.columns)})\n  FROM files WITH ({option_list(options)});"
        )


@dataclass(frozen=True)
class TableData:
    """A stored table."""

    name: str
    columns: Columns
    rows: Sequence[tuple]
    format: str = "csv"

    def __post_init__(self):
        check_rows(self)

    def write(self, folder: Path) -> str:
        """Write the one file to `folder`; return the CREATE TABLE."""
        path = folder / f"{self.name}.{self.format}"
        write_rows(path, self.columns, self.rows, self.format)
        options = option_list([("path", str(path.resolve()))])
        return f"CREATE TABLE {self.name} ({column_list(self.columns)}) FROM {self.format} WITH ({options});"


@dataclass(frozen=True)
class FromItem:
    """One source in FROM: a stream with its window, or a stored table with none."""

    source_name: str
    alias: str | None = None
    window: tuple | None = None  # ("rows", n) or ("range", microseconds); for aggregates (kind, size, slide)
    outer: str | None = None  # of a stored table after LEFT JOIN: the condition in its ON

    @property
    def name(self) -> str:
        """What the query calls it."""
        return self.alias or self.source_name

    def text(self, windows: bool = True) -> str:
        shown = window(self.window) if windows else ""
        return self.source_name + shown + (f" AS {self.alias}" if self.alias else "")


@dataclass(frozen=True)
class QuerySpec:
    """SELECT select FROM sources WHERE where; `comma_style` False writes JOIN … ON instead of commas.

    Then a condition that names two sources or more stands in the ON of the first join that knows them all. For
    that, it must qualify all its columns. A stored table with `outer` is LEFT JOINed in either style.
    """

    name: str
    select: Sequence[tuple[str, str | None]]  # (expression, output name); also ("*", None) and ("a.*", None)
    sources: Sequence[FromItem]
    where: str = ""
    comma_style: bool = True

    def output_names(self) -> list[str | None]:
        """The names of the output columns; None for an expression without one (and for stars)."""
        plain = [re.fullmatch(r"(?:\w+\.)?(\w+)", expression) for expression, _ in self.select]
        return [name or (p and p.group(1)) for (_, name), p in zip(self.select, plain, strict=True)]

    def text(self, windows: bool = True) -> str:
        """The query as the script has it; without windows it is ordinary SQL."""
        shown = ", ".join(expression + (f" AS {name}" if name else "") for expression, name in self.select)
        if self.comma_style:
            parts = [left_join(item) or f", {item.text(windows)}" for item in self.sources]
            tables, left = "".join(parts).removeprefix(", "), [self.where]
        else:
            tables, left = self.joins(windows)
        where = " AND ".join(condition for condition in left if condition)
        return f"SELECT {shown}\n  FROM {tables}" + (f"\n  WHERE {where}" if where else "")

    def varied(self, vary: Callable[[str], str], random: Random) -> Self:
        """The query with its expressions changed by `vary`, which replaces constants."""
        select = [(vary(expression), name) for expression, name in self.select]
        return replace(self, select=select, where=vary(self.where), sources=varied_joins(self.sources, vary))

    def joins(self, windows: bool) -> tuple[str, list[str]]:
        """The FROM clause with JOIN … ON, and the conditions left for WHERE."""
        left = conjuncts(self.where)
        names = [item.name for item in self.sources]
        shown = self.sources[0].text(windows)
        for known, item in enumerate(self.sources[1:], start=2):
            if item.outer is not None:
                shown += left_join(item)
                continue
            usable = set(names[:known])
            on = [c for c in left if len(uses := mentioned(c, names)) > 1 and uses <= usable]
            left = [c for c in left if c not in on]
            joined = item.text(windows)
            shown += f"\n    JOIN {joined} ON {' AND '.join(on)}" if on else f"\n    CROSS JOIN {joined}"
        return shown, left


def left_join(item: FromItem) -> str:
    return "" if item.outer is None else f"\n    LEFT JOIN {item.text()} ON {item.outer}"


def varied_joins(sources: Sequence[FromItem], vary: Callable[[str], str]) -> list[FromItem]:
    """The sources with the conditions of LEFT JOIN changed."""
    return [item if item.outer is None else replace(item, outer=vary(item.outer)) for item in sources]


@dataclass(frozen=True)
class DerivedSpec:
    """CREATE STREAM name AS: the results of queries, joined by UNION ALL, with the types that its columns have."""

    name: str
    columns: Columns
    branches: Sequence[QuerySpec]

    def text(self) -> str:
        return f"CREATE STREAM {self.name} AS\n  " + "\n  UNION ALL ".join(each.text() for each in self.branches)


@dataclass(frozen=True)
class Case:
    """Everything one run needs. Derived streams read streams and derived streams before them."""

    streams: Sequence[StreamData]
    tables: Sequence[TableData]
    queries: Sequence[QuerySpec]
    settings: Mapping[str, object] = field(default_factory=dict)
    derived: Sequence[DerivedSpec] = ()

    def query(self, name: str) -> QuerySpec:
        return next(query for query in self.queries if query.name == name)

    def stream(self, name: str) -> StreamData:
        return next(stream for stream in self.streams if stream.name == name)

    def source(self, name: str) -> StreamData | TableData:
        return next(source for source in (*self.streams, *self.tables) if source.name == name)

    def is_stream(self, name: str) -> bool:
        return any(stream.name == name for stream in self.streams)

    def script(self, definitions: Sequence[str]) -> str:
        """The script, given the CREATE STREAM and CREATE TABLE statements."""
        derived = [f"{stream.text()};" for stream in self.derived]
        queries = [f"CREATE QUERY {query.name} AS\n  {query.text()};" for query in self.queries]
        settings = [f"SET {name} = {literal(value)};" for name, value in self.settings.items()]
        return "\n".join([*definitions, *derived, *queries, *settings]) + "\n"

    def write(self, folder: Path) -> Path:
        """Write data and script.sql into `folder`, which may exist but must not hold them yet."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        definitions = [source.write(folder) for source in (*self.streams, *self.tables)]
        path = folder / "script.sql"
        path.write_text(self.script(definitions), encoding="utf-8")
        return path


def check_rows(source) -> None:
    if source.format not in FORMATS:
        raise ValueError(f"{source.name}: no format {source.format}")
    if unknown := {kind for _, kind in source.columns if not is_type(kind)}:
        raise ValueError(f"{source.name}: no type {', '.join(sorted(unknown))}")
    if any(len(row) != len(source.columns) for row in source.rows):
        raise ValueError(f"{source.name}: a row has not {len(source.columns)} values")


def column_list(columns: Columns) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)


def option_list(options: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {literal(value)}" for name, value in options)
