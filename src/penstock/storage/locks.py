"""Locks: files that a process holds until it ends."""

import os
from pathlib import Path
from typing import TextIO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows: a lock is never held by another process
    fcntl = None  # type: ignore[assignment]


def lock(path: Path) -> TextIO | None:
    """Create and lock a file; return None if another process holds it."""
    while True:
        file = path.open("a", encoding="utf-8")
        try:
            if fcntl is None:
                return file
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(file, path):
                return file
        except BlockingIOError:
            file.close()
            return None
        except BaseException:
            file.close()
            raise
        file.close()  # another process put a new file there meanwhile


def replace_lock(path: Path) -> TextIO:
    """Put a new locked file in the place of one that another process holds: it holds nothing any more."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex[:8]}.tmp")
    file = unfinished.open("a", encoding="utf-8")
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unfinished.replace(path)
    except BaseException:
        file.close()
        raise
    return file


def is_at(file: TextIO, path: Path) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock now, as far as this machine can tell."""
    if fcntl is None or not path.exists():
        return False
    with path.open("r", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
