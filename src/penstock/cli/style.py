"""How things look on the terminal, in one place; everything fits 80 columns."""

from typing import Any

from rich.console import Console

COMPACT: dict[str, Any] = {
    "title_justify": "left",
    "title_style": "bold",
    "caption_justify": "left",
    "header_style": "dim",
    "padding": (0, 1, 0, 0),
    "pad_edge": False,
}
"""Keyword arguments of a rich Table."""


def wide_console() -> Console:
    """Return a console of 80 columns or more: on a narrower one lines wrap, which is better than lost digits."""
    console = Console()
    return console if console.width >= 80 else Console(width=80)
