"""Draft of a script for sampled files: a stream with its columns, and two example queries."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot.tokenizer_core import TokenType

from penstock.formats.inference import Inferred, TimeColumn, inferred, time_column_of
from penstock.formats.log_times import seconds
from penstock.formats.sample import FileSample
from penstock.language.dialect import DIALECT
from penstock.language.names import quoted

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LATENESS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 7 * 86_400)
_SHOWN = 5
_MOST_COLUMNS = 1000
_LONGEST_NAME = 60


@dataclass(frozen=True)
class Draft:
    """A drafted stream: its name, the path of its files, and a sample of their rows."""

    name: str
    path: str
    sample: FileSample

    def statements(self) -> str:
        """Return the stream and two queries over it, as SQL."""
        usable = [key for key in self.sample.columns if key and key.isprintable()][:_MOST_COLUMNS]
        columns = inferred(replace(self.sample, columns=tuple(usable)))
        clock = time_column_of(self.sample, columns)
        names = column_names([column.key for column in columns])
        return "\n".join([*self._stream(columns, names, clock), "", *self._queries(columns, names, clock), ""])

    def _stream(
        self, columns: Sequence[Inferred], names: Sequence[str], clock: TimeColumn | None
    ) -> Iterator[str]:
        some = "the first " if self.sample.has_more else ""
        seen = f"-- {self.name}: {some}{len(self.sample.rows):,} rows of {self.sample.form} were sampled"
        if self.sample.skipped:
            seen += f", {self.sample.skipped:,} more did not fit"
        if clock is None:
            yield f"{seen}; no time column was found, so a row's time is its arrival"
        elif clock.disorder_us:
            yield f"{seen}; rows were up to {seconds(clock.disorder_us)} out of order"
        else:
            yield f"{seen}, in the order of {clock.key}"
        yield f"CREATE STREAM {self.name} ("
        width = max(len(_identifier(name)) for name in names)
        for place, (column, name) in enumerate(zip(columns, names, strict=True)):
            path = "" if column.key == name else f" PATH {literal(column.key)}"
            comma = "," if place < len(columns) - 1 else ""
            yield f"  {_identifier(name):<{width}} {column.type.name}{path}{comma}"
        options: dict[str, Any] = {"path": self.path, "format": self.sample.form, **self.sample.options}
        if clock is not None:
            options["timestamp"] = names[[column.key for column in columns].index(clock.key)]
            if clock.disorder_us:
                options["lateness"] = _lateness(clock.disorder_us)
        units = {column.unit for column in columns if column.unit is not None}
        if len(units) == 1 and self.sample.form != "zeek" and not _texts_of_times(columns):
            options["timestamp_unit"] = units.pop()
        listed = ", ".join(f"{key} = {literal(value)}" for key, value in options.items())
        yield f") FROM files WITH ({listed});"

    def _queries(
        self, columns: Sequence[Inferred], names: Sequence[str], clock: TimeColumn | None
    ) -> Iterator[str]:
        conditions = [*_large(self.sample, columns, names), *_frequent(self.sample, columns, names)]
        conditions = conditions[:2] or [("all", "")]
        if len(conditions) == 1:
            conditions.append(("known", f" WHERE {_identifier(names[0])} IS NOT NULL"))
        time = next(
            (name for column, name in zip(columns, names, strict=True) if clock and column.key == clock.key), None
        )
        for word, condition in conditions:
            used = [name for name in names if _identifier(name) in condition]
            shown = dict.fromkeys([*([time] if time else []), *used, *names])
            listed = ", ".join(_identifier(name) for name in list(shown)[:_SHOWN])
            yield f"CREATE QUERY {self.name}_{word} AS SELECT {listed} FROM {self.name}{condition};"


def _texts_of_times(columns: Sequence[Inferred]) -> bool:
    """Return whether some times are texts, so that one unit of numbers does not apply to all."""
    return any(column.type.name == "TIMESTAMP" and column.unit is None for column in columns)


def column_names(keys: Sequence[str]) -> list[str]:
    """Return valid column names: no two that differ only in case, none that begins with __.

    >>> column_names(["Src", "src", "__CURSOR", "id.orig_h"])
    ['Src', 'src_2', 'CURSOR', 'id.orig_h']
    """
    names: list[str] = []
    for key in keys:
        name = "".join(char if char.isprintable() else "_" for char in key)[:_LONGEST_NAME]
        name = re.sub("^__+", "", name) or "c"
        known = {each.lower() for each in names}
        wanted, number = name, 2
        while wanted.lower() in known:
            wanted, number = f"{name}_{number}", number + 1
        names.append(wanted)
    return names


def stream_name(text: str) -> str:
    """Return a name for a stream, from the name of a file.

    >>> stream_name("conn.log.gz"), stream_name("2026-access log.csv"), stream_name("1.json")
    ('conn', 'access', 'rows')
    """
    found = re.search(r"[A-Za-z][A-Za-z0-9_]*", text.split(".")[0])
    name = found[0] if found else "rows"
    return name if name == "rows" or _identifier(name) == name else f"{name}_rows"  # a keyword of SQL


def _identifier(name: str) -> str:
    """Return a name in SQL; in backticks if it is a keyword or not a plain name."""
    plain = _PLAIN.fullmatch(name) and DIALECT.tokenize(name)[0].token_type == TokenType.VAR
    return name if plain else quoted(name)


def literal(value: object) -> str:
    r"""Return a value as SQL writes it.

    >>> print(literal("it's"), literal(True), literal(0.5))
    'it\'s' true 0.5
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return "'" + text.replace("\t", "\\t") + "'"


def _lateness(disorder_us: int) -> str:
    """Return a round time that is longer than the observed disorder, which may grow."""
    for size in _LATENESS_S:
        if size * 1e6 >= 1.5 * disorder_us:
            return seconds(size * 1_000_000)
    return f"{round(1.5 * disorder_us / 86_400e6) + 1} d"


def _large(sample: FileSample, columns: Sequence[Inferred], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return a condition on a column of numbers that keeps about a tenth of the rows."""
    for column, name in zip(columns, names, strict=True):
        if column.type.name not in ("BIGINT", "INT", "DOUBLE") or re.search(
            r"(^|[._])(p?id|port|status)$|_(id|p)$", column.key
        ):
            continue
        values = sorted(float(row[column.key]) for row in sample.rows if row.get(column.key) is not None)
        if len(set(values)) > 3:
            limit = values[int(0.9 * (len(values) - 1))]
            number = f"{limit:.0f}" if limit == int(limit) and abs(limit) < 1e15 else repr(limit)
            sign = ">=" if limit == values[-1] else ">"
            yield "large", f" WHERE {_identifier(name)} {sign} {number}"
            return


def _frequent(sample: FileSample, columns: Sequence[Inferred], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return a condition for the most frequent value of a string column with few values."""
    best: tuple[int, str, str] | None = None
    for column, name in zip(columns, names, strict=True):
        if column.type.name == "STRING":
            counts = Counter(str(row[column.key]) for row in sample.rows if isinstance(row.get(column.key), str))
            if 1 < len(counts) <= max(20, len(sample.rows) // 20):
                value, count = counts.most_common(1)[0]
                if len(value) <= 60 and value.isprintable() and (best is None or len(counts) < best[0]) and count:
                    best = (len(counts), name, value)
    if best is not None:
        yield "matching", f" WHERE {_identifier(best[1])} = {literal(best[2])}"
