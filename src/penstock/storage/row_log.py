"""Row logs: files to which rows are appended, chunk after chunk. A file goes when no chunk in it is needed."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote
from zlib import crc32

import pyarrow as pa
import pyarrow.ipc

from penstock.storage.documents import DamagedError
from penstock.storage.faults import reached
from penstock.storage.files import flush_folders, make_folder

ROLL_BYTES = 16 * 1024 * 1024
"""Bytes from which on the next file is begun."""


@dataclass(frozen=True)
class RowsAt:
    """Where rows are: a file below the state folder, the place and size in it, and their checksum."""

    file: str
    start: int
    size: int
    checksum: int

    def as_json(self) -> list[Any]:
        """Return it as JSON has it."""
        return [self.file, self.start, self.size, self.checksum]


@dataclass
class _Open:
    path: Path
    file: BinaryIO
    size: int = 0


class RowLogs:
    """The row logs of a state, one for each stream or operator."""

    def __init__(self, folder: Path, epoch: int) -> None:
        self._folder = folder
        self._epoch = epoch
        self._open: dict[str, _Open] = {}
        self._files = 0
        self._unflushed: dict[Path, BinaryIO] = {}
        self._new_in: set[Path] = set()

    def append(self, place: str, rows: pa.Table) -> RowsAt:
        """Write rows to the log at a place, a folder below the state folder. They are durable after `flush`."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as writer:
            writer.write_table(rows)
        data = sink.getvalue()
        current = self._open.get(place)
        if current is None or current.size >= ROLL_BYTES:
            current = self._next(place)
        reached("rows.before")
        start = current.size
        current.file.write(data)
        current.size += len(data)
        self._unflushed[current.path] = current.file
        return RowsAt(str(current.path.relative_to(self._folder)), start, len(data), crc32(data))

    def _next(self, place: str) -> _Open:
        before = self._open.pop(place, None)
        if before is not None:
            self._flush(before.file)
            self._unflushed.pop(before.path, None)
            before.file.close()
        folder = self._folder / place
        make_folder(folder)
        self._files += 1
        path = folder / f"{self._epoch:06d}-{self._files:08d}.rows"
        self._open[place] = _Open(path, path.open("xb"))
        self._new_in.add(folder)
        return self._open[place]

    def flush(self) -> None:
        """Wait until all rows are on the disk."""
        if self._unflushed:
            for file in self._unflushed.values():
                self._flush(file)
            self._unflushed.clear()
            reached("rows.flushed")
        if self._new_in:
            flush_folders(self._new_in)
            self._new_in.clear()

    def _flush(self, file: BinaryIO) -> None:
        file.flush()
        reached("rows.written")
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(file.fileno())

    @property
    def current(self) -> set[str]:
        """The files to which more may be appended."""
        return {str(each.path.relative_to(self._folder)) for each in self._open.values()}

    def close(self) -> None:
        """Close all files."""
        for each in self._open.values():
            each.file.close()
        self._open.clear()


_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def read_rows(folder: Path, at: RowsAt) -> pa.Table:
    """Read rows back; raise if they are not what was written."""
    try:
        with (folder / at.file).open("rb") as file:
            file.seek(at.start)
            data = file.read(at.size)
    except OSError as error:
        raise DamagedError(f"rows of the state are missing: {at.file}: {error.strerror or error}") from error
    if len(data) < at.size:
        raise DamagedError(
            f"rows of the state are missing: {at.file} is cut off at {at.start + len(data):,} bytes"
        )
    if crc32(data) != at.checksum:
        raise DamagedError(f"rows of the state are damaged: {at.file}, at byte {at.start:,}: the checksum differs")
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def place_of(kind: str, name: str) -> str:
    """Return the folder of a stream or operator below the state folder.

    >>> place_of("streams", "my/../stream")
    'streams/=my%2F..%2Fstream'
    """
    return f"{kind}/={quote(name, safe=' .-_()')}"
