"""The error for a declared column that a file does not have."""

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from penstock.errors import RunError, nearest
from penstock.language.statements import Column


def fail_missing(path: Path, column: Column, names: Sequence[str]) -> NoReturn:
    """Raise an error that names the missing column, the most similar one, and all columns of the file."""
    name = column.path or column.name
    raise RunError(f"{path.name} has no column {name!r}.{nearest(name, names)} It has {', '.join(names)}")
