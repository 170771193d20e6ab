"""Where results go: parquet files, memory, the console, a Python function."""

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from penstock.errors import RunError
from penstock.spark.admission import REJECTED

Callback = Callable[[str, pa.Table], object]


class Sink(Protocol):
    """A place for results. `emit` returns when they are there."""

    def open(self, query: str, schema: pa.Schema) -> None:
        """Make the place for a query's results, which have this schema."""
        ...

    def emit(self, query: str, rows: pa.Table) -> None:
        """Take results of a query."""
        ...

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Take rows that were turned away, with their reasons."""
        ...

    def close(self) -> None:
        """Finish."""
        ...


class Memory:
    """Keeps results as Arrow tables, by query."""

    def __init__(self) -> None:
        self._parts: dict[str, list[pa.Table]] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._rejected: dict[str, list[pa.Table]] = {}

    def open(self, query: str, schema: pa.Schema) -> None:
        """Begin with no rows, or go on where a query of this name ended."""
        self._parts.setdefault(query, [])
        self._schemas[query] = naive(schema.empty_table()).schema

    def emit(self, query: str, rows: pa.Table) -> None:
        """Keep results."""
        self._parts[query].append(naive(rows))

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Keep rows that were turned away."""
        self._rejected.setdefault(stream, []).append(rows)

    def close(self) -> None:
        """Do nothing: the tables stay."""

    @property
    def results(self) -> Mapping[str, pa.Table]:
        """All results so far, by query."""
        return {
            query: pa.concat_tables(parts) if parts else self._schemas[query].empty_table()
            for query, parts in self._parts.items()
        }

    @property
    def rejected(self) -> Mapping[str, pa.Table]:
        """Rows that were turned away, by stream."""
        return {stream: pa.concat_tables(parts) for stream, parts in self._rejected.items()}


class Parquet:
    """Writes ``folder/query=NAME/part-N.parquet``; a file is there as a whole or not at all.

    Rows that were turned away are in ``folder/_rejected/stream=NAME``. Times are in UTC.
    """

    def __init__(self, folder: str | Path, *, overwrite: bool = False) -> None:
        self._folder = Path(folder)
        self._numbers: dict[str, int] = {}
        self._schemas: dict[str, pa.Schema] = {}
        if self._folder.exists() and not self._folder.is_dir():
            raise RunError(f"{self._folder} is a file; results need a folder")
        self._old = [*self._folder.glob("query=*"), *self._folder.glob("_rejected")]
        if self._old and not overwrite:
            raise RunError(
                f"{self._folder} holds results already ({self._old[0].name}): choose another, or overwrite them"
            )
        self._guarded(lambda: self._folder.mkdir(parents=True, exist_ok=True))

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            raise RunError(f"results cannot be written to {self._folder}: {error.strerror or error}") from error

    def open(self, query: str, schema: pa.Schema) -> None:
        """Make the folder of a query; the first one removes the results that were there."""
        for old in self._old:
            self._guarded(partial(shutil.rmtree, old))
        self._old = []
        self._schemas[query] = naive(schema.empty_table()).schema
        self._guarded(partial((self._folder / f"query={query}").mkdir, exist_ok=True))

    def emit(self, query: str, rows: pa.Table) -> None:
        """Write results as one more file."""
        self._write(f"query={query}", naive(rows))

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Write rows that were turned away as one more file."""
        place = f"_rejected/stream={stream}"
        self._guarded(partial((self._folder / place).mkdir, parents=True, exist_ok=True))
        self._write(place, rows.cast(REJECTED))

    def close(self) -> None:
        """Give queries without results an empty file, so that their columns can be read."""
        for query, schema in self._schemas.items():
            if f"query={query}" not in self._numbers:
                self._write(f"query={query}", schema.empty_table())

    def _write(self, place: str, rows: pa.Table) -> None:
        number = self._numbers[place] = self._numbers.get(place, 0) + 1
        folder = self._folder / place
        unfinished = folder / f".part-{number:06d}.tmp"
        self._guarded(partial(pq.write_table, rows, unfinished))
        self._guarded(partial(unfinished.rename, folder / f"part-{number:06d}.parquet"))


class Screen:
    """Prints results as they come, a few rows of each query at a time."""

    def __init__(self, console: Console | None = None, most: int = 5) -> None:
        self._console = console or Console()
        self._most = most

    def open(self, query: str, schema: pa.Schema) -> None:
        """Do nothing."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Print the first rows."""
        for row in rows.slice(0, self._most).to_pylist():
            text = ", ".join(f"{name}={value}" for name, value in row.items())
            self._console.print(f"[bold]{query}[/]  {_escaped(text)}", highlight=False, soft_wrap=True)
        if rows.num_rows > self._most:
            self._console.print(
                f"[bold]{query}[/]  [dim]and {rows.num_rows - self._most:,} more[/]", highlight=False
            )

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Print the first reason."""
        reason = rows.column("reason")[0].as_py()
        text = f"{stream}: {rows.num_rows:,} rows turned away: {reason}"
        self._console.print(f"[yellow]{_escaped(text)}[/]", highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Do nothing."""


class Called:
    """Hands results to a Python function, as the query's name and an Arrow table."""

    def __init__(self, function: Callback) -> None:
        self._function = function

    def open(self, query: str, schema: pa.Schema) -> None:
        """Do nothing."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Call the function."""
        self._function(query, naive(rows))

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Do nothing: counts are in the summary."""

    def close(self) -> None:
        """Do nothing."""


def naive(table: pa.Table) -> pa.Table:
    """Return the table with times in UTC without a zone, as Spark writes them to files."""
    fields = [
        field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")
