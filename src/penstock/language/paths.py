"""Paths in a script: absolute, beside the script, or in the working folder."""

import os
from pathlib import Path

from penstock.errors import RunError


def found_path(folder: Path, written: str, what: str) -> Path:
    """Return a path of a script: absolute, beside the script, or in the working folder; or a pattern there."""
    given = Path(written).expanduser()
    for found in (folder / given, Path.cwd() / given):
        try:
            if found.exists() or any(found.parent.glob(found.name)):
                return Path(os.path.normpath(found.absolute()))
        except (OSError, ValueError) as error:
            raise RunError(f"{what}: {written!r} is not a path: {error}") from error
    raise RunError(f"{what}: there is no file or folder {written!r} (looked in {folder.absolute()})")
