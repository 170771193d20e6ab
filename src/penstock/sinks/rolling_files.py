"""The result files of one folder: small files grow, and are closed when they reach a size or an age.

New rows are merged with the newest files if that is cheap: a merge writes at most a few times the bytes of the new
rows, or little. The merged file replaces the oldest of the merged files, by a rename. Often that is the only one:
then any reader always finds each row once. The other files are removed right after the rename, and until then
their rows exist twice. Each file records which parts it holds, so that `read` ignores duplicates.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.language.settings import Roll
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.sinks.folder_layout import WRITING, PartId, part_name, parts_in
from penstock.storage.faults import reached
from penstock.storage.files import flush_file, flush_folder, make_folder

_KEY = b"penstock"
_SMALL = 256 * 1024
"""A file of fewer bytes is always merged with new rows."""
_TIMES = 8
"""A larger file is merged if it has at most this many times the bytes of the new rows."""
_ROW_GROUP = 128 * 1024
_FIRST: PartId = (0, 0)


@dataclass(frozen=True)
class HeldParts:
    """The parts that a result file holds, `after` < part <= `until`, and when it was opened; in its metadata."""

    after: PartId
    until: PartId
    opened_s: float
    sealed: bool = False
    """Whether the file stays as it is: executors wrote it."""

    @classmethod
    def of(cls, file: pq.ParquetFile, part: PartId) -> "HeldParts":
        """Return the parts of a file that is named by a part; what executors wrote holds what its name says."""
        text = (file.metadata.metadata or {}).get(_KEY)
        if text is None:
            return cls.named(part)
        entry = json.loads(text)
        return cls(tuple(entry["after"]), tuple(entry["until"]), entry["opened"])

    @classmethod
    def named(cls, part: PartId) -> "HeldParts":
        """Return the parts of a file that executors wrote."""
        return cls((part[0], part[1] - 1), part, 0.0, sealed=True)

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of a file with these parts."""
        return {_KEY: json.dumps({"after": self.after, "until": self.until, "opened": self.opened_s}).encode()}

    def contains(self, other: "HeldParts") -> bool:
        """Whether all parts of another file are also in this one."""
        return self is not other and self.after <= other.after and other.until <= self.until


@dataclass(frozen=True)
class _File:
    path: Path
    held: HeldParts
    bytes: int
    schema: pa.Schema


class RollingFiles:
    """The result files of a folder, oldest first."""

    def __init__(
        self,
        out: Path,
        place: str,
        roll: Roll,
        now_s: Callable[[], float],
        check: Callable[[], object] | None = None,
    ) -> None:
        self._folder = out / place
        self._writing = out / WRITING
        self._roll = roll
        self._now_s = now_s
        self._check = check
        """With a state: raises if another process has taken it over. Then files are durable and never change."""
        self._files = list(self._existing() if check is None else self._newest())

    def _newest(self) -> Iterator[_File]:
        """Return the newest file: others do not matter where files never change."""
        for part, path in parts_in(self._folder)[-1:]:
            with pq.ParquetFile(path) as file:
                held, schema = HeldParts.of(file, part), file.schema_arrow.remove_metadata()
            yield _File(path, held, path.stat().st_size, schema)

    def _existing(self) -> Iterator[_File]:
        """Return the existing files; complete a merge that was interrupted before it removed the old ones."""
        found = []
        for part, path in parts_in(self._folder):
            with pq.ParquetFile(path) as file:
                held, schema = HeldParts.of(file, part), file.schema_arrow.remove_metadata()
            found.append(_File(path, held, path.stat().st_size, schema))
        for each in found:
            if any(other.held.contains(each.held) for other in found):
                each.path.unlink()
            else:
                yield each

    @property
    def until(self) -> PartId:
        """The last part that the files hold."""
        return max((file.held.until for file in self._files), default=_FIRST)

    @property
    def is_empty(self) -> bool:
        """Whether there is no file."""
        return not self._files

    def add(self, rows: pa.Table, until: PartId) -> None:
        """Add the rows of all parts up to `until`."""
        first = self._first_merged(rows, _SMALL)
        self._merge(first, rows, until)

    def add_file(self, path: Path, until: PartId) -> None:
        """Add a file with the rows of all parts up to `until`, by renaming it; it is never merged with others."""
        self._make_folder()
        size, schema = path.stat().st_size, pq.read_schema(path).remove_metadata()
        place = self._folder / part_name(until)
        if self._check is not None:
            flush_file(path)
            self._check()
        path.rename(place)
        self._named()
        self._files.append(_File(place, HeldParts.named(until), size, schema))

    def _make_folder(self) -> None:
        if self._check is None:  # thousands of queries have a folder each
            self._folder.mkdir(parents=True, exist_ok=True)
        else:
            make_folder(self._folder)

    def _named(self) -> None:
        """Take note that a file got its place: where files never change, it is durable now."""
        if self._check is not None:
            reached("publish.renamed")
            flush_folder(self._folder)
            del self._files[:-1]

    def compact(self) -> None:
        """Merge all files that are not closed."""
        if self._files and self._check is None:
            last = self._files[-1]
            first = self._first_merged(last.schema.empty_table(), self._roll.bytes)
            if first < len(self._files) - 1:
                self._merge(first, last.schema.empty_table(), last.held.until)

    def _first_merged(self, rows: pa.Table, small: int) -> int:
        """Return the place of the oldest file to merge new rows with; the number of files if there is none."""
        if (
            self._check is not None
        ):  # a reader that has listed the files may read them later: they stay as they are
            return len(self._files)
        first, gathered = len(self._files), rows.nbytes
        while first:
            file = self._files[first - 1]
            closed = file.held.sealed or file.bytes >= self._roll.bytes
            closed = closed or self._now_s() - file.held.opened_s >= self._roll.seconds
            cheap = file.bytes < small or file.bytes <= _TIMES * gathered
            if closed or not cheap or gathered >= self._roll.bytes or not file.schema.equals(rows.schema):
                break
            gathered += file.bytes
            first -= 1
        return first

    def _merge(self, first: int, rows: pa.Table, until: PartId) -> None:
        merged = self._files[first:]
        if merged:
            path, held = merged[0].path, replace(merged[0].held, until=until)
        else:
            path, held = self._folder / part_name(until), HeldParts(self.until, until, self._now_s())
        schema = rows.schema.with_metadata(held.metadata)
        self._make_folder()
        unfinished = unfinished_in(self._writing, f"{path.stem}-{uuid4().hex[:8]}")
        with pq.ParquetWriter(unfinished, schema) as writer:
            for group in _row_groups([file.path for file in merged], rows):
                writer.write_table(group.replace_schema_metadata(schema.metadata))
        size = unfinished.stat().st_size
        if self._check is not None:
            reached("publish.written")
            flush_file(unfinished)
            reached("publish.flushed")
            self._check()
        unfinished.replace(path)
        for file in reversed(merged[1:]):
            file.path.unlink()
        self._files[first:] = [_File(path, held, size, rows.schema)]
        self._named()


def unfinished_in(folder: Path, name: str) -> Path:
    """Return the path where a file is written before it is moved to its place, so that readers see it complete."""
    make_folder(folder)
    return folder / f"{name}.tmp"


def _row_groups(files: Sequence[Path], rows: pa.Table) -> Iterator[pa.Table]:
    """Return the rows of files and then the new rows, in tables of a row group's size."""
    gathered: list[pa.Table] = []
    count = 0
    for table in _tables(files, rows):
        gathered.append(table)
        count += table.num_rows
        if count >= _ROW_GROUP:
            yield pa.concat_tables(gathered)
            gathered, count = [], 0
    if count:
        yield pa.concat_tables(gathered)


def _tables(files: Sequence[Path], rows: pa.Table) -> Iterator[pa.Table]:
    for path in files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROW_GROUP):
                TRAFFIC.add(read=batch.nbytes)
                yield pa.Table.from_batches([batch]).replace_schema_metadata(None)
    yield rows
