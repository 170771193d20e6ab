"""Retention: files of rows go when no checkpoint and no entry needs them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.storage.faults import reached

_FOLDERS = ("streams", "queues", "outbox")


class Retention:
    """Knows the files of rows in a state folder, and removes those that are no longer needed.

    A file goes one checkpoint after the last that needed it: so the checkpoint before the newest can be read, too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: set[str] = set()
        self._unneeded: set[str] = set()
        self._sizes: dict[str, int] = {}

    @property
    def bytes(self) -> int:
        """Bytes of the files as of the last checkpoint, and of those that came since."""
        return sum(self._sizes.values())

    def knows(self, path: Path) -> bool:
        """Whether a file is part of the state."""
        return path.is_relative_to(self._folder) and str(path.relative_to(self._folder)) in self._known

    def wrote(self, changes: Mapping[str, Any], batches: Iterable[Mapping[str, Any]]) -> None:
        """Take note of the files of an entry."""
        for about in (*changes.get("chunks", ()), *batches):
            if "at" in about:
                name, start, size, _ = about["at"]
                self._known.add(name)
                self._sizes[name] = max(self._sizes.get(name, 0), start + size)
            for file in about.get("stored", {}).get("files", ()):
                if file["owned"]:
                    self._known.add(file["path"])
                    self._sizes[file["path"]] = file["stamp"][0]

    def release(self, needed: set[str]) -> list[Path]:
        """Take what the newest checkpoint needs; remove what the last two do not, and return that."""
        gone = self._unneeded - needed
        if gone:
            reached("retention.before")
        removed = []
        for name in sorted(gone):
            path = self._folder / name
            path.unlink(missing_ok=True)
            self._remove_empty(path.parent)
            removed.append(path)
            self._known.discard(name)
            self._sizes.pop(name, None)
            reached("retention.removed")
        self._known |= needed
        self._unneeded = self._known - needed
        for name in needed - self._sizes.keys():
            self._sizes[name] = _size(self._folder / name)
        return removed

    def remove_orphans(self, needed: set[str]) -> None:
        """Remove files that nothing names: of a process that died. Only at the start."""
        for path in list(self.files()):
            name = str(path.relative_to(self._folder))
            if name not in needed:
                path.unlink(missing_ok=True)
                self._remove_empty(path.parent)
        self._known = set(needed)

    def files(self) -> Iterable[Path]:
        """Yield all files of rows."""
        for name in _FOLDERS:
            yield from (path for path in (self._folder / name).rglob("*") if path.is_file())

    def _remove_empty(self, folder: Path) -> None:
        if folder.name.startswith(("text-", "plain-")) and not any(folder.iterdir()):
            folder.rmdir()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
