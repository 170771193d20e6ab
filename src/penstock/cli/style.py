"""Formatting for the terminal; everything fits 80 columns."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

COMPACT: dict[str, Any] = {
    "title_justify": "left",
    "title_style": "bold",
    "caption_justify": "left",
    "header_style": "dim",
    "padding": (0, 1, 0, 0),
    "pad_edge": False,
}
"""Keyword arguments of a rich Table."""

NONE = Text("–", style="dim")
"""Stands for a missing value."""

STATUS = {"running": "green", "ending": "yellow", "ended": "dim", "failed": "bold red"}
"""Style of each status of a query."""


def wide_console() -> Console:
    """Return a console of at least 80 columns: on a narrower terminal lines wrap instead of losing digits."""
    console = Console()
    return console if console.width >= 80 else Console(width=80)


def in_a_folder(file: Path | None) -> Path | None:
    """Raise if the folder of an output file does not exist: before hours of work, not after."""
    if file and not file.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {file.parent} for {file.name}")
    return file


@contextmanager
def spinner(text: str, *, hidden: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal, and yield a function that changes its text.

    It writes to a copy of stderr, which Spark's start redirects.
    """
    if hidden or not Console(stderr=True).is_terminal:
        yield lambda text: None
        return
    dots = Spinner("dots", text=Text(text))
    with os.fdopen(os.dup(sys.stderr.fileno()), "w") as file:
        console = Console(file=file)
        with Live(dots, console=console, transient=True, redirect_stdout=False, redirect_stderr=False):
            yield lambda text: dots.update(text=Text(text))


def duration(microseconds: int) -> str:
    """Return a time in the largest unit of which it is a whole number.

    >>> duration(5_000_000), duration(90_000_000), duration(1500)
    ('5 SECONDS', '90 SECONDS', '1500 MICROSECONDS')
    """
    units = (("DAY", 86_400), ("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1), ("MILLISECOND", 1e-3))
    for unit, seconds in units:
        count, rest = divmod(microseconds, round(seconds * 1e6))
        if count and not rest:
            return f"{count} {unit}{'S' if count > 1 else ''}"
    return f"{microseconds} MICROSECONDS"


def size(count: float) -> str:
    """Return a number of bytes with three digits and a decimal unit.

    >>> size(999), size(1_234_567), size(256e9)
    ('999 B', '1.23 MB', '256 GB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def amount(count: float) -> str:
    """Return a number; a large one with three digits and a unit.

    >>> amount(2000), amount(810_000_000), amount(2.5e17), amount(0.5)
    ('2,000', '810 M', '250,000 T', '0.5')
    """
    if count < 999_999.5:
        return f"{count:,.10g}"
    for unit, size_of in (("M", 1e6), ("G", 1e9)):
        if count < 999.5 * size_of:
            return f"{count / size_of:.3g} {unit}"
    return f"{count / 1e12:,.3g} T" if count < 999.5e12 else f"{count / 1e12:,.0f} T"


def span(microseconds: int) -> str:
    """Return a time in its usual unit.

    >>> span(810_000_000), span(5_000_000), span(1500), span(0), span(7_200_000_000)
    ('13.5 min', '5 s', '1.5 ms', '0 s', '2 h')
    """
    for unit, size_us in (("d", 86_400e6), ("h", 3600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3)):
        if microseconds >= size_us:
            return f"{microseconds / size_us:.3g} {unit}"
    return f"{microseconds} µs" if microseconds else "0 s"


def share(value: float) -> str:
    """Return a percentage without an exponent.

    >>> share(100.0), share(37.52), share(0.00948), share(1e-9)
    ('100', '37.5', '0.00948', '< 0.001')
    """
    if 0 < value < 0.001:
        return "< 0.001"
    return f"{value:.3g}"


def seconds(value: float) -> str:
    """Return seconds, with more decimals for short times.

    >>> seconds(0.01234), seconds(1.234), seconds(1234.5)
    ('0.012', '1.23', '1,234')
    """
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def rate(value: float) -> str:
    """Return a number per second.

    >>> rate(0.25), rate(1999.9)
    ('0.2', '2,000')
    """
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def ratio(value: float) -> str:
    """Return a slowdown.

    >>> ratio(1.234), ratio(56.78), ratio(1234.5)
    ('1.2', '57', '1,234')
    """
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def plural(count: int, word: str, words: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1, "row"), plural(2000, "row"), plural(2, "query", "queries")
    ('1 row', '2,000 rows', '2 queries')
    """
    return f"{count:,} {word if count == 1 else words or word + 's'}"


def short(value: float) -> str:
    """Return a large number with three digits.

    >>> short(950), short(182_275), short(46_207_737)
    ('950', '182k', '46.2M')
    """
    for unit, amount in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= amount:
            return f"{value / amount:.3g}{unit}"
    return f"{value:.3g}"
