"""Progress of a benchmark of many cases, on stderr."""

from typing import Self

from rich.console import Console
from rich.text import Text


class CaseProgress:
    """A status line on a terminal, and a line for every finished case."""

    def __init__(self, total: int) -> None:
        self._console = Console(stderr=True)
        self._status = self._console.status("")
        self._total = total
        self._number = 0
        self._name = ""

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._status.stop()

    def begin(self, name: str) -> None:
        """Begin a case."""
        self._number += 1
        self._name = name

    def stage(self, text: str) -> None:
        """Show the stage of a case."""
        self._status.update(f"{self._number}/{self._total} {self._name} [dim]({text})[/]")

    def done(self, status: str, figures: str, took_s: float) -> None:
        """Print the result of the case that was begun: its figures, or its status if that is not ok."""
        line = Text.assemble(
            (f"{self._number}/{self._total} ", "dim"),
            self._name,
            "  ",
            figures if status == "ok" else (status, "bold red"),
            (f"  {took_s:.0f} s", "dim"),
        )
        self._console.print(line, highlight=False, soft_wrap=True)
