"""How tables look on the terminal, in one place; everything fits 80 columns."""

from typing import Any

TITLE: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "header_style": "dim"}
"""Keyword arguments of a rich Table."""
