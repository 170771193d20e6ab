"""Files that survive a loss of power: written, flushed, renamed, and their folder flushed."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4
from zlib import crc32

from penstock.storage.faults import reached

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
STOPS_WITHOUT_ROOM = (
    "the run stops at its last commit, and nothing that was committed is lost; make room, and start again with "
    "the same command"
)
_BLOCK = 4 * 1024 * 1024
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)


def flush_file(path: Path) -> None:
    """Wait until the contents of a file are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name != "nt":
        flush_file(folder)


def flush_folders(folders: set[Path]) -> None:
    """Wait until the names in several folders are on the disk; those that are gone do not matter."""
    for folder in sorted(folders):
        if folder.is_dir():
            flush_folder(folder)


def flush_upwards(path: Path, top: Path, durable: set[Path]) -> None:
    """Wait until a file is on the disk, with its name and those of the folders between it and `top`.

    `durable` has the folders below `top` whose names are on the disk; new ones are added.
    """
    flush_file(path)
    for folder in path.parents:
        flush_folder(folder)
        if folder == top or folder in durable:
            return
        durable.add(folder)


def make_folder(folder: Path) -> None:
    """Create a folder, and wait until it is on the disk."""
    if not folder.is_dir():
        if folder.exists():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def write_new(path: Path, data: bytes, point: str) -> None:
    """Write a file that must not exist yet, whole and durably; raise FileExistsError if it does.

    `point` begins the names of the fault points in between.
    """
    reached(f"{point}.before")
    unfinished = _unfinished(path)
    _write(unfinished, data, point)
    try:
        os.link(unfinished, path)
        unfinished.unlink()
    except OSError as error:
        if error.errno not in _NO_LINKS:
            unfinished.unlink(missing_ok=True)
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        unfinished.rename(path)
    reached(f"{point}.named")
    flush_folder(path.parent)
    reached(f"{point}.durable")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, whole and durably; it replaces one of the same name."""
    unfinished = _unfinished(path)
    _write(unfinished, data, None)
    unfinished.replace(path)
    flush_folder(path.parent)


def unfinished_files(folder: Path) -> Iterator[Path]:
    """Yield the files that a process left in a folder when it died while it wrote them."""
    yield from folder.glob(".*.tmp")


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid4().hex[:8]}.tmp")


def _write(path: Path, data: bytes, point: str | None) -> None:
    try:
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            if point is not None:
                reached(f"{point}.written")
            os.fsync(file.fileno())
        if point is not None:
            reached(f"{point}.flushed")
    except OSError:
        path.unlink(missing_ok=True)
        raise


def checksum_of(path: Path) -> int:
    """Return the CRC-32 of a file's contents."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found = crc32(block, found)
    return found
