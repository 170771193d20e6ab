"""Where results go: parquet files, memory, the console, a Python function."""

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from penstock.errors import RunError
from penstock.language.group import QUERY
from penstock.spark.admission import REJECTED
from penstock.spark.grouped import split

GROUPS = "_groups"
Callback = Callable[[str, pa.Table], object]


class Sink(Protocol):
    """A place for results. `emit` returns when they are there."""

    def open(self, query: str, schema: pa.Schema) -> None:
        """Make the place for a query's results, which have this schema."""
        ...

    def emit(self, query: str, rows: pa.Table) -> None:
        """Take results of a query."""
        ...

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Take results of several queries, told apart by the column `query`."""
        ...

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Take rows that were turned away, with their reasons."""
        ...

    def publish(self) -> None:
        """Bring results that were written together to where each query's are."""
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
        self._together: list[pa.Table] = []
        self._lock = Lock()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Begin with no rows, or go on where a query of this name ended."""
        self._parts.setdefault(query, [])
        self._schemas[query] = naive(schema.empty_table()).schema

    def emit(self, query: str, rows: pa.Table) -> None:
        """Keep results."""
        self._parts[query].append(naive(rows))

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Keep results of several queries; they are told apart when somebody asks."""
        self._together.append(rows)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Keep rows that were turned away."""
        self._rejected.setdefault(stream, []).append(rows)

    def publish(self) -> None:
        """Do nothing: results are told apart already."""

    def close(self) -> None:
        """Do nothing: the tables stay."""

    @property
    def results(self) -> Mapping[str, pa.Table]:
        """All results so far, by query."""
        with self._lock:
            while self._together:
                for query, rows in split(self._together[0]):
                    self._parts[query].append(naive(rows))
                del self._together[0]
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

    Results of a group are written together, to ``folder/_groups/NAME/``, and published to each query's folder
    from time to time and at the end. Rows that were turned away are in ``folder/_rejected/stream=NAME``. Times are
    in UTC.
    """

    def __init__(self, folder: str | Path, *, overwrite: bool = False) -> None:
        self._folder = Path(folder)
        self._numbers: dict[str, int] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._begun: dict[Path, list[Path]] = {}
        if self._folder.exists() and not self._folder.is_dir():
            raise RunError(f"{self._folder} is a file; results need a folder")
        self._old = [*self._folder.glob("query=*"), *self._folder.glob("_rejected"), *self._folder.glob(GROUPS)]
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

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Write results of several queries as one more file of their group."""
        place = f"{GROUPS}/{group}"
        if place not in self._numbers:
            self._guarded(partial((self._folder / place).mkdir, parents=True, exist_ok=True))
        self._write(place, naive(rows))

    def publish(self) -> None:
        """Give every query its own rows of the files of its group, which are not needed any more then.

        What is published is named after the files it is from. So whoever reads the results while this goes on, or
        after it broke off, can tell which rows of a group are there already: `read` does.
        """
        for group in sorted((self._folder / GROUPS).glob("*")):
            if self._begun.get(group):
                self._publish(group, self._begun[group])  # it broke off: the same again, under the same name
            files = [path for path in sorted(group.glob("*.parquet")) if path.name[0] != "."]
            if files:
                self._publish(group, files)

    def _publish(self, group: Path, files: list[Path]) -> None:
        self._begun[group] = files
        there = [path for path in files if path.exists()]
        if len(there) == len(files):  # else all was published, and removing them broke off
            rows = pa.concat_tables([pq.read_table(path, read_dictionary=[QUERY]) for path in files])
            name = f"{group.name}.{files[0].stem}.{files[-1].stem}"
            for query, part in split(rows.unify_dictionaries()):
                self._put(self._folder / f"query={query}", name, part)
                self._numbers.setdefault(f"query={query}", 0)
        for path in there:
            self._guarded(path.unlink)
        del self._begun[group]

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Write rows that were turned away as one more file."""
        place = f"_rejected/stream={stream}"
        self._guarded(partial((self._folder / place).mkdir, parents=True, exist_ok=True))
        self._write(place, rows.cast(REJECTED))

    def close(self) -> None:
        """Publish the groups, and give queries without results an empty file, for its columns."""
        self.publish()
        for query, schema in self._schemas.items():
            if f"query={query}" not in self._numbers:
                self._write(f"query={query}", schema.empty_table())

    def _write(self, place: str, rows: pa.Table) -> None:
        number = self._numbers[place] = self._numbers.get(place, 0) + 1
        self._put(self._folder / place, f"part-{number:06d}", rows)

    def _put(self, folder: Path, name: str, rows: pa.Table) -> None:
        unfinished = folder / f".{name}.tmp"
        self._guarded(partial(pq.write_table, rows, unfinished))
        self._guarded(partial(unfinished.rename, folder / f"{name}.parquet"))


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

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Print the first rows of each query."""
        for query, part in split(rows):
            self.emit(query, part)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Print the first reason."""
        reason = rows.column("reason")[0].as_py()
        text = f"{stream}: {rows.num_rows:,} rows turned away: {reason}"
        self._console.print(f"[yellow]{_escaped(text)}[/]", highlight=False, soft_wrap=True)

    def publish(self) -> None:
        """Do nothing: results are told apart already."""

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

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Call the function for each query that has results."""
        for query, part in split(rows):
            self.emit(query, part)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Do nothing: counts are in the summary."""

    def publish(self) -> None:
        """Do nothing: results are told apart already."""

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
