"""The sink that prints results on the screen."""

import pyarrow as pa
from rich.console import Console

from penstock.formats.json_rows import python_rows
from penstock.runtime.sink import Sink


class ScreenSink(Sink):
    """Prints results as they come: of each table of results the first `most` rows."""

    def __init__(self, console: Console | None = None, most: int = 5) -> None:
        self._console = console or Console()
        self._most = most

    def emit(self, query: str, rows: pa.Table) -> None:
        """Print the first rows, and how many more there are."""
        for row in python_rows(rows.slice(0, self._most)):
            text = ", ".join(f"{name}={value}" for name, value in row.items())
            self._console.print(f"[bold]{query}[/]  {_escaped(text)}", highlight=False, soft_wrap=True)
        if rows.num_rows > self._most:
            self._console.print(
                f"[bold]{query}[/]  [dim]and {rows.num_rows - self._most:,} more[/]", highlight=False
            )

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Print how many rows were rejected, and why the first one was."""
        reason = rows.column("reason")[0].as_py()
        text = f"{stream}: {rows.num_rows:,} row{'s' * (rows.num_rows > 1)} rejected: {reason}"
        self._console.print(f"[yellow]{_escaped(text)}[/]", highlight=False, soft_wrap=True)


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")
