"""Row logs: files to which rows are appended, chunk after chunk. A file goes when no chunk in it is needed."""

import os
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
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
_FILES_OF_LIMIT = 32
"""Into how many files a limit is divided: a file stays as long as one of its rows is needed."""
"""Bytes from which on the next file is begun."""
_LONGEST_NAME = 150
_MOST_HANDLES = 64
"""How many files are open at a time: there may be thousands of operators."""


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
class _Log:
    path: Path
    file: BinaryIO | None
    size: int = 0


class RowLogs:
    """The row logs of a state, one for each stream or operator."""

    def __init__(self, folder: Path, epoch: int, limit: int | None = None) -> None:
        self._folder = folder
        self._roll_bytes = ROLL_BYTES if limit is None else min(ROLL_BYTES, limit // _FILES_OF_LIMIT)
        self._epoch = epoch
        self._logs: dict[str, _Log] = {}
        """The newest file of each place."""
        self._handles: dict[Path, _Log] = {}
        """Those that are open; the one that was used last is the last."""
        self._files = 0
        self._unflushed: dict[Path, BinaryIO] = {}
        self._new_in: set[Path] = set()

    def append(self, place: str, rows: pa.Table) -> RowsAt:
        """Write rows to the log at a place, a folder below the state folder. They are durable after `flush`."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as writer:
            writer.write_table(rows)
        data = sink.getvalue()
        log = self._logs.get(place)
        if log is None or log.size >= self._roll_bytes:
            if log is not None:
                self._close(log)
            log = self._logs[place] = self._new(place)
        file = self._opened(log)
        reached("rows.before")
        start = log.size
        file.write(data)
        log.size += len(data)
        self._unflushed[log.path] = file
        return RowsAt(str(log.path.relative_to(self._folder)), start, len(data), crc32(data))

    def _new(self, place: str) -> _Log:
        folder = self._folder / place
        make_folder(folder)
        self._files += 1
        path = folder / f"{self._epoch:06d}-{self._files:08d}.rows"
        self._new_in.add(folder)
        return _Log(path, path.open("xb"))

    def _opened(self, log: _Log) -> BinaryIO:
        """Return the file of a log, open at its end; that of another may be closed for it."""
        if log.file is None:
            log.file = log.path.open("r+b")
            log.file.seek(log.size)
        self._handles.pop(log.path, None)
        self._handles[log.path] = log
        if len(self._handles) > _MOST_HANDLES:
            self._close(next(iter(self._handles.values())))
        return log.file

    def _close(self, log: _Log) -> None:
        if log.file is not None:
            if self._unflushed.pop(log.path, None) is not None:
                self._flush(log.file)
            log.file.close()
            log.file = None
            self._handles.pop(log.path, None)

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

    def leave(self, needed: Set[str]) -> None:
        """Append no more to files of which nothing is needed, so that they can be removed."""
        for place, log in list(self._logs.items()):
            if str(log.path.relative_to(self._folder)) not in needed:
                self._close(self._logs.pop(place))

    def close(self) -> None:
        """Close all files; what was not flushed is not part of the state, and there may be no room for it."""
        for log in self._handles.values():
            if log.file is not None:
                with suppress(OSError):
                    log.file.close()
        self._handles.clear()
        self._logs.clear()


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
    quoted = quote(name, safe=" .-_()")
    if len(quoted) > _LONGEST_NAME:
        quoted = f"{quoted[:_LONGEST_NAME]}~{sha256(name.encode()).hexdigest()[:16]}"
    return f"{kind}/={quoted}"
