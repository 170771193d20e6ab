"""How tables look on the terminal, in one place; everything fits 80 columns."""

from typing import Any

COMPACT: dict[str, Any] = {
    "title_justify": "left",
    "title_style": "bold",
    "header_style": "dim",
    "padding": (0, 1, 0, 0),
    "pad_edge": False,
}
"""Keyword arguments of a rich Table."""
