"""The journal and the checkpoints of a state: numbered documents.

A checkpoint has everything; each entry has what one commit changed. The newest checkpoint and the entries after it
are the state. The checkpoint before it and its entries are kept in case the newest one is damaged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.storage.documents import DamagedError, encoded, read_document
from penstock.storage.files import make_folder, write_new

JOURNAL, CHECKPOINTS = "journal", "checkpoint"


@dataclass(frozen=True)
class Recovered:
    """What was read: a checkpoint, the entries after it, their last number, and what was found on the way."""

    checkpoint: dict[str, Any]
    entries: list[dict[str, Any]]
    last: int
    notes: list[str] = field(default_factory=list)
    damaged: list[Path] = field(default_factory=list)
    """Files that are left out."""


class Journal:
    """Writes entries and checkpoints."""

    def __init__(self, folder: Path, last: int = 0, checkpoints: tuple[int, ...] = ()) -> None:
        self._entries, self._checkpoints = folder / JOURNAL, folder / CHECKPOINTS
        make_folder(self._entries)
        make_folder(self._checkpoints)
        self.last = last
        """The number of the last entry."""
        self._known = list(checkpoints)

    def append(self, body: Mapping[str, Any]) -> int:
        """Write the next entry, and return its bytes. Raise FileExistsError if another process has written it."""
        data = encoded("entry", body)
        write_new(_path(self._entries, self.last + 1), data, "entry")
        self.last += 1
        return len(data)

    def checkpoint(self, body: Mapping[str, Any]) -> None:
        """Write everything as of the last entry."""
        if self.last in self._known:
            return
        path = _path(self._checkpoints, self.last)
        write_new(path, encoded("checkpoint", body), "checkpoint")
        self._known.append(self.last)

    def prune(self, keep: int = 2) -> None:
        """Remove what is older than the last checkpoints."""
        self._known = self._known[-keep:]
        first = self._known[0]
        for number, path in _numbered(self._checkpoints):
            if number < first:
                path.unlink()
        for number, path in _numbered(self._entries):
            if number <= first:
                path.unlink()


def recover(folder: Path) -> Recovered | None:
    """Read the newest state in a folder; None if nothing was ever committed. Raise if something is damaged.

    The last entry may be damaged: then it counts as not written, and the run goes on before it.
    """
    checkpoints = _numbered(folder / CHECKPOINTS)
    entries = dict(_numbered(folder / JOURNAL))
    if not checkpoints:
        if entries:
            raise DamagedError(f"{folder} has no checkpoint, but {len(entries):,} journal entries")
        return None
    notes: list[str] = []
    damaged: list[Path] = []
    for place, (number, path) in enumerate(reversed(checkpoints)):
        try:
            checkpoint = read_document("checkpoint", path)
        except DamagedError as error:
            if place + 1 == len(checkpoints):
                raise DamagedError(f"{folder}: no checkpoint can be read: {error}") from error
            notes.append(f"checkpoint {error}; going on from the one before")
            damaged.append(path)
            continue
        found, last = _entries_after(number, entries, notes, damaged)
        return Recovered(checkpoint, found, last, notes, damaged)
    raise AssertionError


def _entries_after(
    number: int, entries: Mapping[int, Path], notes: list[str], damaged: list[Path]
) -> tuple[list[dict[str, Any]], int]:
    found: list[dict[str, Any]] = []
    newest = max(entries, default=number)
    while number < newest:
        path = entries.get(number + 1)
        if path is None:
            raise DamagedError(f"journal entry {number + 1} is missing, and there are later ones")
        try:
            found.append(read_document("entry", path))
        except DamagedError as error:
            if number + 1 < newest:
                raise DamagedError(f"journal entry {error}, and there are later ones") from error
            notes.append(f"the last journal entry {error}; going on before it")
            damaged.append(path)
            break
        number += 1
    return found, number


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:012d}.json"


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """Return the documents of a folder with their numbers, in their order."""
    return sorted(_documents(folder))


def _documents(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.suffix == ".json" and path.stem.isdigit():
            yield int(path.stem), path


def checkpoint_numbers(folder: Path) -> tuple[int, ...]:
    """Return the numbers of the checkpoints in a state folder."""
    return tuple(number for number, _ in _numbered(folder / CHECKPOINTS))
