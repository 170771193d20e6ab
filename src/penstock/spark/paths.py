"""Paths of files as Spark's readers expect them."""

from pathlib import Path


def literal_path(path: Path) -> str:
    r"""Return the path for Spark, with the characters of a pattern escaped.

    >>> literal_path(Path("a [1]*.json"))
    'a \\[1\\]\\*.json'
    """
    text = str(path)
    for char in "\\{}[]*?":
        text = text.replace(char, f"\\{char}")
    return text
