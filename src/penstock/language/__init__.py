"""SQL with windows: parses a text into a checked script of streams, tables, queries and settings."""

from penstock.language.script import Script

__all__ = ["Script"]
