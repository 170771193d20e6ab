"""The source of a folder, a file or a pattern: new files as they appear, in the order of their names."""

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Set
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import RunError
from penstock.language.statements import StreamDef
from penstock.plan.columns import arrow_type
from penstock.runtime.admission import BAD, RAW, Arrived
from penstock.runtime.rows.segment import ArrivedFiles, Segment
from penstock.spark.job_errors import check_room, explained
from penstock.spark.session import check_alive
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.file_changes import FileChanges
from penstock.spark.sources.file_segments import FileSegments
from penstock.spark.sources.parquet_segments import Footer
from penstock.spark.sources.read_files import read_files, signature
from penstock.spark.sources.text_files import BLOCK_BYTES, UnreadableError
from penstock.spark.sources.time_units import TimeUnit

_BYTES_AT_ONCE = 32 * 1024 * 1024
_STORED_BYTES_AT_ONCE = 256 * 1024 * 1024
"""The same where rows stay in their files, unless memory is limited: fewer, larger jobs."""
_FILES_AT_ONCE = 5000
_YOUNG_NS = 100_000_000
"""A folder that changed less than this ago may change again without another time of change."""
_LISTING_S = 1.0
"""Shortest time between listings of a folder that has not changed."""
_LISTING_SHARE = 0.02
"""Largest share of the time that listing a folder takes while it has not changed."""
_SUFFIXES = (".tmp", ".crc", ".inprogress")


class FileSource:
    """Rows of files. Names that begin with . or _ mark unfinished files, which are ignored."""

    buffer_bytes = held_bytes = 0  # nothing is read ahead

    def __init__(
        self,
        stream: StreamDef,
        context: SourceContext,
        position: Mapping[str, Any] | None = None,
        folder: Path | None = None,
        *,
        owned: bool = False,
    ) -> None:
        self.ended = False
        self._stream = stream
        self._context = context
        path = stream.options.get("path", "")
        self._path = folder or context.path(path, f"stream {stream.name}")
        self._format = "parquet" if folder else stream.options["format"]
        self._seen: set[str] = set()
        self._waiting: deque[Path] = deque()
        self._footers: dict[Path, Footer] = {}
        self._open: Iterator[pa.Table | tuple[Segment, ...]] = iter(())
        self._stopped = False
        self._has_time = stream.timestamp is not None
        stores = context.places.may_store and not context.has_memory_limit
        self._bytes_at_once = _STORED_BYTES_AT_ONCE if stores else _BYTES_AT_ONCE
        self._unit = TimeUnit(stream, context.tell)
        self._segments = FileSegments(stream, context, self._format, self._unit, owned=owned)
        self._changes = FileChanges(stream.name, context.tell)
        self._changed = -1
        self._next_listing = 0.0
        self._group: list[Path] = []
        """The files that are being read together."""
        self._group_stays = False
        """Whether their rows stay there."""
        self._group_rows = self._group_bytes = 0
        """The rows of these that were returned, and the bytes of the files."""
        self._finished: list[str] = []
        """Names of the files that were read since the position was last asked for."""
        self._gone: list[str] = []
        """Names of files that were removed since then."""
        self._stamps: list[list[Any]] = []
        """The files of the group with their sizes and times before they were read; 0 if one was gone by then."""
        self._told: list[Any] = [[], 0]
        """The same with the rows of the group, as the position was last asked for."""
        if position is not None:
            self._go_on(position)

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived | ArrivedFiles]:
        """Return the next rows: of several small files, or a part of a large file."""
        if self.ended:
            return
        found = next(self._open, None)
        if found is None:
            if not self._stopped:
                self._finish_group()
            if not self._waiting and not self._stopped:
                self._list()
            if not self._waiting:
                self.ended = self._stopped or self._at_end()
                return
            self._group, self._group_rows = self._next_paths(), 0
            self._open = self._read(self._group)
            found = next(self._open, None)
        if found is None:
            self._finish_group()
            return
        self._group_stays = isinstance(found, tuple)
        self._group_rows += sum(each.rows for each in found) if isinstance(found, tuple) else found.num_rows
        if isinstance(found, tuple):
            yield ArrivedFiles(found, now_us, self._segments.names)
            self._look_ahead()
            if self._format == "parquet" and not self._waiting and not self._stopped and self._at_end():
                self._list()  # if the stream has ended, the last rows of others need not wait for it
                self.ended = not self._waiting
        else:
            yield Arrived(self._unit.reported(found), now_us)
            self._look_ahead()

    def watermark(self, now_us: int) -> int | None:
        """Return the clock if a row's time is its arrival; None if rows have times of their own."""
        return None if self._has_time else now_us

    def offered(self, now_us: int) -> int | None:
        """Return None: unread rows wait in their files, and none are lost."""
        return None

    def stop(self, now_us: int) -> None:
        """Stop reading, and forget the files that were found."""
        self._stopped = True
        self._seen.difference_update(map(self._name_of, self._waiting))
        self._waiting.clear()
        self._open = iter(())

    def close(self) -> None:
        """Close the file that is open, if one is."""
        self._open = iter(())

    def _at_end(self) -> bool:
        return self._context.drain

    # Where a later run goes on ------------------------------------------------------------------------------

    def position(self, *, whole: bool) -> dict[str, Any]:
        """Return the names of the files that were read, and the files and rows of those that are being read."""
        finished, self._finished = self._finished, []
        group: list[Any] = [self._stamps, self._group_rows] if self._group else [[], 0]
        if whole:
            self._gone = []
            open_names = {self._name_of(path) for path in (*self._group, *self._waiting)}
            self._told = group
            return {"read": sorted(self._seen - open_names), "group": group}
        found: dict[str, Any] = {"read-": self._gone} if self._gone else {}
        self._gone = []
        found |= {"read+": finished} if finished else {}
        if group != self._told:
            found["group"] = self._told = group
        return found

    def _go_on(self, position: Mapping[str, Any]) -> None:
        self._seen.update(position.get("read", ()))
        stamps, rows = position.get("group", ([], 0))
        if stamps:
            self._group, self._group_rows = [Path(path) for path, _, _ in stamps], rows
            self._seen.update(map(self._name_of, self._group))
            self._stamps = stamps
            self._check_group(stamps)
            self._open = self._after(self._read_rows(self._group), rows)

    def _check_group(self, stamps: list[list[Any]]) -> None:
        """Raise if files of which some rows were read are not what they were: where the others are is unknown."""
        for path, size, written_ns in stamps:
            try:
                status = os.stat(path)
                now = [status.st_size, status.st_mtime_ns]
            except OSError:
                now = [0, 0]
            if now != [size, written_ns]:
                what = "is gone" if now == [0, 0] else f"has {now[0]:,} bytes and was written {_when(now[1])}"
                others = f" and {len(stamps) - 1:,} other files" if len(stamps) > 1 else ""
                raise RunError(
                    f"stream {self._stream.name}: {path} {what}; it had {size:,} bytes and was written "
                    f"{_when(written_ns)} when the first {self._group_rows:,} rows of it{others} were taken, and "
                    "the rest cannot be found in another version: restore it with its time, or begin a new state"
                )

    def _after(self, tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
        """Return what follows after so many rows."""
        for table in tables:
            if rows < table.num_rows:
                yield table.slice(rows)
            rows = max(rows - table.num_rows, 0)

    def _finish_group(self) -> None:
        self._finished += [name for name in map(self._name_of, self._group) if name in self._seen]
        self._group, self._group_rows = [], 0

    def _look_ahead(self) -> None:
        """Find out whether anything of the files follows, where that costs little."""
        if self._format == "parquet" or self._group_bytes < BLOCK_BYTES:
            following = next(self._open, None)
            if following is None:
                self._finish_group()
            else:
                self._open = chain([following], self._open)

    def _name_of(self, path: Path) -> str:
        """Return the name by which a file is known."""
        return path.name

    # Listing ------------------------------------------------------------------------------------------------

    def _list(self) -> None:
        """Look for new files if the folder has changed or changed very recently, and from time to time."""
        folder = self._path if self._path.is_dir() else self._path.parent
        try:
            changed = folder.stat().st_mtime_ns
        except OSError:
            changed = 0
        now = time.monotonic()
        if changed == self._changed and now < self._next_listing:
            return
        self._changed = changed if time.time_ns() - changed > _YOUNG_NS else -1
        self._waiting.extend(self._new_files())
        self._changes.check()
        took = time.monotonic() - now
        self._next_listing = now + max(_LISTING_S, took / _LISTING_SHARE)

    def _new_files(self) -> list[Path]:
        """Return the new files; known files cost only a comparison of names."""
        if self._path.is_file():
            folder, names = self._path.parent, {self._path.name}
        else:
            folder = self._path if self._path.is_dir() else self._path.parent
            try:
                names = set(os.listdir(folder))
            except OSError:
                return []
        self._forget(self._seen - names)
        names -= self._seen
        if folder != self._path and not self._path.is_file():
            names = {name for name in names if fnmatchcase(name, self._path.name)}
        found = [folder / name for name in sorted(names) if name[0] not in "._" and not name.endswith(_SUFFIXES)]
        found = [path for path in found if path.is_file()]
        self._seen.update(path.name for path in found)
        return found

    def _forget(self, names: Set[str]) -> None:
        """Forget names that have gone: they may come again."""
        if names:
            self._seen -= names
            self._finished = [name for name in self._finished if name not in names]
            self._gone += sorted(names)

    def _next_paths(self) -> list[Path]:
        """Remove and return the next files to read together: of one signature, and of limited number and size."""
        taken: list[Path] = []
        self._stamps = []
        self._group_bytes = size = 0
        kind: object = None
        while self._waiting and len(taken) < _FILES_AT_ONCE:
            path = self._waiting[0]
            stamp = [str(path), 0, 0]
            try:
                status = path.stat()
                stamp = [str(path), status.st_size, status.st_mtime_ns]
                size += status.st_size
                here = self._signature(path)
            except Exception:  # reading the file alone will show what is wrong
                self._group_bytes = size
                if not taken:
                    taken.append(self._waiting.popleft())
                    self._stamps.append(stamp)
                return taken
            if taken and (size > self._bytes_at_once or here != kind):
                break
            kind = here
            self._group_bytes = size
            self._changes.reads(path, status)
            taken.append(self._waiting.popleft())
            self._stamps.append(stamp)
        return taken

    def _signature(self, path: Path) -> object:
        """Return what files must have in common to be read together; the footer of a parquet file is kept."""
        if self._format != "parquet":
            return signature(path, self._format, self._stream)
        self._footers[path] = Footer.of(path)
        return self._footers[path].schema

    # Reading ------------------------------------------------------------------------------------------------

    def _read(self, paths: list[Path]) -> Iterator[pa.Table | tuple[Segment, ...]]:
        """Return files as segments, or their rows; a broken file is rejected, and the others are read."""
        if self._format == "parquet":
            footers = {path: self._footers.pop(path) for path in paths if path in self._footers}
            segments = self._segments.of_parquet(footers) if len(footers) == len(paths) else ()
            if segments:
                yield segments
            else:
                yield from self._read_rows(paths)
            return
        yield from self._read_text(paths)

    def _read_text(self, paths: list[Path]) -> Iterator[pa.Table | tuple[Segment, ...]]:
        """Return text files in their order: plain ones by one job, other large ones by a job each, small ones."""
        plain = self._segments.of_plain_text(paths)
        small: list[Path] = []
        together: tuple[Segment, ...] = ()
        for path in paths:
            if path in plain:
                yield from self._read_small(small)
                small, together = [], together + plain[path]
                continue
            if together:
                yield together
                together = ()
            segments = self._segments.of_text(path)
            if not segments:
                small.append(path)
                continue
            yield from self._read_small(small)
            yield segments
            small = []
        if together:
            yield together
        yield from self._read_small(small)

    def _read_small(self, paths: list[Path]) -> Iterator[pa.Table]:
        """Read small text files, which pass through the driver: only so many bytes at once."""
        together: list[Path] = []
        size = 0
        for path in paths:
            length = path.stat().st_size if path.is_file() else 0
            if together and size + length > _BYTES_AT_ONCE:
                yield from self._read_rows(together)
                together, size = [], 0
            together.append(path)
            size += length
        yield from self._read_rows(together)

    def _read_rows(self, paths: list[Path]) -> Iterator[pa.Table]:
        """Read files together; a broken file is rejected, and the others are read."""
        if not paths:
            return
        stream, spark = self._stream, self._context.spark
        try:
            yield from read_files(spark, self._format, paths, stream)
        except UnreadableError as error:
            yield self._rejected(paths[error.place], error)
            if paths[error.place + 1 :]:
                yield from self._read_rows(paths[error.place + 1 :])
        except Exception as error:  # of Spark, Java or Arrow: anything may be wrong with a file
            if len(paths) > 1:
                for path in paths:
                    yield from self._read_rows([path])
            else:
                check_alive(spark)
                check_room(error)
                yield self._rejected(paths[0], error)

    def _rejected(self, path: Path, error: Exception) -> pa.Table:
        """Return one malformed row that stands for a file that cannot be read."""
        nulls = {c.name: pa.nulls(1, arrow_type(c.type.name)) for c in self._stream.columns}
        return pa.table({**nulls, BAD: [f"file {path.name} cannot be read: {explained(error)}"], RAW: [path.name]})


def _when(ns: int) -> str:
    """Return a time of modification.

    >>> _when(1_767_225_600_250_000_000)
    '2026-01-01 00:00:00.250000 UTC'
    """
    return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
