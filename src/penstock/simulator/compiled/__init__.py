"""The compiled part of the simulator: numba functions on flat arrays, without Python objects."""

import contextlib
from pathlib import Path


def _forget_what_is_older() -> None:
    """Drop cached code that is older than a source: numba checks one file, not those that it calls."""
    here = Path(__file__).parent
    with contextlib.suppress(OSError):
        newest = max(source.stat().st_mtime_ns for source in here.glob("*.py"))
        for index in (here / "__pycache__").glob("*.nbi"):
            if index.stat().st_mtime_ns < newest:
                index.unlink(missing_ok=True)


_forget_what_is_older()
