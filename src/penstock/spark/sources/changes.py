"""Warnings about files that change after they were read: they grow, are replaced, or are renamed.

A stream of files reads each name once, from its beginning to its end. Logs that a program still writes to and
rotates break this: what is added is missed, and what is renamed is read twice.
"""

import os
from collections.abc import Callable
from pathlib import Path

_REMEMBERED = 1000
"""Files whose identity is kept, the last ones that were read."""
_CHECKED = 100
"""Files that are checked at each listing, so that it does not cost by what was read before."""


class Changes:
    """Remembers the files of a stream that were read last, and warns once of each kind of change."""

    def __init__(self, stream: str, tell: Callable[[str], object]) -> None:
        self._stream = stream
        self._tell = tell
        self._read: dict[Path, os.stat_result] = {}
        self._warned: set[str] = set()

    def reads(self, path: Path, status: os.stat_result) -> None:
        """Take note of a file that is about to be read; warn if it was read under another name."""
        if "renamed" not in self._warned:
            for other, earlier in self._read.items():
                if _same_file(earlier, status) and not other.exists():
                    self._warn(
                        "renamed", f"{path.name} was read already as {other.name}: its rows are there twice"
                    )
                    break
        self._read[path] = status
        if len(self._read) > _REMEMBERED:
            del self._read[next(iter(self._read))]

    def check(self) -> None:
        """Warn if one of the last files has grown or was replaced since it was read."""
        if "changed" in self._warned:
            return
        for path in list(self._read)[-_CHECKED:]:
            earlier = self._read[path]
            try:
                now = path.stat()
            except OSError:  # it was moved away, as files that were read may be
                continue
            if (now.st_ino, now.st_size) != (earlier.st_ino, earlier.st_size):
                self._warn("changed", f"{path.name} has changed since it was read, and is not read again")
                return

    def _warn(self, kind: str, text: str) -> None:
        self._warned.add(kind)
        self._tell(f"stream {self._stream}: {text}; let files come under new names when they are complete")


def _same_file(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether it is one file: another that got its number after it was removed was written at another time."""
    identities = [(each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns) for each in (one, other)]
    return identities[0] == identities[1]
