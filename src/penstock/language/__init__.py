"""SQL with windows: from a text to a checked script, and from its queries to a network of operators."""

from penstock.language.script import Script

__all__ = ["Script"]
