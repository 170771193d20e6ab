"""Paths for Spark, which takes some characters as a pattern."""

from pathlib import Path


def for_spark(path: Path) -> str:
    r"""Return the path for Spark, with the characters of a pattern escaped.

    >>> for_spark(Path("/a/b[1].json"))
    '/a/b\\[1\\].json'
    """
    text = str(path)
    for char in "\\{}[]*?":
        text = text.replace(char, f"\\{char}")
    return text
