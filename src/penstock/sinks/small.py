"""Small sinks: memory, the screen, a Python function."""

from collections.abc import Callable, Mapping
from threading import Lock

import pyarrow as pa
from rich.console import Console

from penstock.formats.json_rows import python_rows
from penstock.runtime.groups import split
from penstock.runtime.sink import Sink
from penstock.sinks.schemas import Schemas

Callback = Callable[[str, pa.Table], object]


class Memory(Sink):
    """Keeps results as Arrow tables, by query."""

    def __init__(self) -> None:
        self._parts: dict[str, list[pa.Table]] = {}
        self._schemas = Schemas()
        self._rejected: dict[str, list[pa.Table]] = {}
        self._together: list[pa.Table] = []
        self._lock = Lock()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Begin with no rows, or go on where a query of this name ended."""
        self._parts.setdefault(query, [])
        self._schemas.open(query, schema)

    def emit(self, query: str, rows: pa.Table) -> None:
        """Keep results."""
        self._parts[query].append(self._schemas.fitted(query, rows))

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Keep results of several queries; they are told apart when somebody asks."""
        self._together.append(rows)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Keep rows that were turned away."""
        self._rejected.setdefault(stream, []).append(rows)

    @property
    def results(self) -> Mapping[str, pa.Table]:
        """All results so far, by query."""
        with self._lock:
            while self._together:
                for query, rows in split(self._together[0]):
                    self.emit(query, rows)
                del self._together[0]
        return {
            query: pa.concat_tables([self._schemas[query].empty_table(), *parts])
            for query, parts in self._parts.items()
        }

    @property
    def rejected(self) -> Mapping[str, pa.Table]:
        """Rows that were turned away, by stream."""
        return {stream: pa.concat_tables(parts) for stream, parts in self._rejected.items()}


class Screen(Sink):
    """Prints results as they come, a few rows of each query at a time."""

    def __init__(self, console: Console | None = None, most: int = 5) -> None:
        self._console = console or Console()
        self._most = most

    def emit(self, query: str, rows: pa.Table) -> None:
        """Print the first rows."""
        for row in python_rows(rows.slice(0, self._most)):
            text = ", ".join(f"{name}={value}" for name, value in row.items())
            self._console.print(f"[bold]{query}[/]  {_escaped(text)}", highlight=False, soft_wrap=True)
        if rows.num_rows > self._most:
            self._console.print(
                f"[bold]{query}[/]  [dim]and {rows.num_rows - self._most:,} more[/]", highlight=False
            )

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Print the first reason."""
        reason = rows.column("reason")[0].as_py()
        text = f"{stream}: {rows.num_rows:,} row{'s' * (rows.num_rows > 1)} rejected: {reason}"
        self._console.print(f"[yellow]{_escaped(text)}[/]", highlight=False, soft_wrap=True)


class Called(Sink):
    """Hands results to a Python function, as the query's name and an Arrow table."""

    def __init__(self, function: Callback) -> None:
        self._function = function
        self._schemas = Schemas()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Remember the schema of a query's results."""
        self._schemas.open(query, schema)

    def emit(self, query: str, rows: pa.Table) -> None:
        """Call the function."""
        self._function(query, self._schemas.fitted(query, rows))


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")
