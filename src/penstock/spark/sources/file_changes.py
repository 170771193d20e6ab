"""Warnings about files that change after they were read: they grow, are replaced, or are renamed.

A stream of files reads each name once, from its beginning to its end. This fails for logs that a program still
writes and rotates: added rows are missed, and renamed files are read twice.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_REMEMBERED = 1000
"""Number of files whose identity is kept, the last ones that were read."""
_CHECKED = 100
"""Number of files checked at each listing, so that its cost does not grow with the files read before."""


class FileChanges:
    """Remembers the last files that a stream read, and warns once about each kind of change."""

    def __init__(self, stream: str, tell: Callable[[str], object]) -> None:
        self._stream = stream
        self._tell = tell
        self._read: dict[_Identity, Path] = {}
        self._warned: set[str] = set()

    def reads(self, path: Path, status: os.stat_result) -> None:
        """Remember a file that is about to be read; warn if it was read under another name."""
        identity = _Identity.of(status)
        other = self._read.pop(identity, None)
        if other is not None and not other.exists():
            self._warn("renamed", f"{path.name} was already read as {other.name}: its rows are read twice")
        self._read[identity] = path
        if len(self._read) > _REMEMBERED:
            del self._read[next(iter(self._read))]

    def check(self) -> None:
        """Warn if one of the last files has grown or was replaced since it was read."""
        if "changed" in self._warned:
            return
        for earlier, path in list(self._read.items())[-_CHECKED:]:
            try:
                now = path.stat()
            except OSError:  # files that were read may be moved away
                continue
            if (now.st_ino, now.st_size) != (earlier.number, earlier.size):
                self._warn("changed", f"{path.name} has changed since it was read and is not read again")
                return

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self._tell(f"stream {self._stream}: {text}; add files under new names, when they are complete")


class _Identity(NamedTuple):
    """What a file keeps when it is renamed. A later file with the same inode number has another time."""

    device: int
    number: int
    size: int
    written_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "_Identity":
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
