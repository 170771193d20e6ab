"""The machine room of the simulator: flat arrays, compiled with numba, no Python object inside."""

import contextlib
from pathlib import Path


def _forget_what_is_older() -> None:
    """Drop compiled code that is older than a source: numba looks at one file, not at those that it calls."""
    here = Path(__file__).parent
    with contextlib.suppress(OSError):
        newest = max(source.stat().st_mtime_ns for source in here.glob("*.py"))
        for index in (here / "__pycache__").glob("*.nbi"):
            if index.stat().st_mtime_ns < newest:
                index.unlink(missing_ok=True)


_forget_what_is_older()
