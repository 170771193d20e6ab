"""The result files of one folder: small ones grow, and are closed when they have their size or age.

New rows are merged with the newest files where that is cheap: a merge writes at most a few times what is new, or
little. The merged file replaces the oldest of them, by a rename. Often it is the only one: then any reader finds
each row once, always. If there are more, they are removed right after the rename, and until then their rows are
there twice. Each file says which parts it holds, so `read` leaves those out.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.language.settings import Roll
from penstock.sinks.folder import WRITING, PartId, part_name, parts_in

_KEY = b"penstock"
_SMALL = 256 * 1024
"""A file below this is always merged with what is new."""
_TIMES = 8
"""A larger one is merged if it has at most so many times the bytes of what is new."""
_ROW_GROUP = 128 * 1024
_FIRST: PartId = (0, 0)


@dataclass(frozen=True)
class HeldParts:
    """What a result file says of itself: it holds the parts after one number, up to another, and since when."""

    after: PartId
    until: PartId
    opened_s: float

    @classmethod
    def of(cls, file: pq.ParquetFile) -> "HeldParts | None":
        """Return what a file says; None if it is not one of ours."""
        noted = (file.metadata.metadata or {}).get(_KEY)
        if noted is None:
            return None
        said = json.loads(noted)
        return cls(tuple(said["after"]), tuple(said["until"]), said["opened"])

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """The same as a file's metadata."""
        return {_KEY: json.dumps({"after": self.after, "until": self.until, "opened": self.opened_s}).encode()}

    def holds(self, other: "HeldParts") -> bool:
        """Whether all parts of another file are in this one, too."""
        return self is not other and self.after <= other.after and other.until <= self.until


@dataclass(frozen=True)
class _File:
    path: Path
    note: HeldParts
    bytes: int
    schema: pa.Schema


class RollingFiles:
    """The result files of a folder, oldest first."""

    def __init__(self, out: Path, place: str, roll: Roll, now_s: Callable[[], float]) -> None:
        self._folder = out / place
        self._writing = out / WRITING
        self._roll = roll
        self._now_s = now_s
        self._files = list(self._there())

    def _there(self) -> Iterator[_File]:
        """Return the files that are there; a merge that broke off before it removed the old ones is finished."""
        found = []
        for _, path in parts_in(self._folder):
            with pq.ParquetFile(path) as file:
                note, schema = HeldParts.of(file), file.schema_arrow.remove_metadata()
            if note is not None:
                found.append(_File(path, note, path.stat().st_size, schema))
        for each in found:
            if any(other.note.holds(each.note) for other in found):
                each.path.unlink()
            else:
                yield each

    @property
    def until(self) -> PartId:
        """The last part that is here."""
        return max((file.note.until for file in self._files), default=_FIRST)

    @property
    def is_empty(self) -> bool:
        """Whether no file is here."""
        return not self._files

    def add(self, rows: pa.Table, until: PartId) -> None:
        """Add the rows of all parts up to a number."""
        first = self._first_merged(rows, _SMALL)
        self._merge(first, rows, until)

    def compact(self) -> None:
        """Merge all files that are not closed."""
        if self._files:
            last = self._files[-1]
            first = self._first_merged(last.schema.empty_table(), self._roll.bytes)
            if first < len(self._files) - 1:
                self._merge(first, last.schema.empty_table(), last.note.until)

    def _first_merged(self, rows: pa.Table, small: int) -> int:
        """Return the place of the oldest file that new rows are merged with, or the number of files."""
        first, gathered = len(self._files), rows.nbytes
        while first:
            file = self._files[first - 1]
            closed = file.bytes >= self._roll.bytes or self._now_s() - file.note.opened_s >= self._roll.seconds
            cheap = file.bytes < small or file.bytes <= _TIMES * gathered
            if closed or not cheap or gathered >= self._roll.bytes or not file.schema.equals(rows.schema):
                break
            gathered += file.bytes
            first -= 1
        return first

    def _merge(self, first: int, rows: pa.Table, until: PartId) -> None:
        merged = self._files[first:]
        if merged:
            path, note = merged[0].path, replace(merged[0].note, until=until)
        else:
            path, note = self._folder / part_name(until), HeldParts(self.until, until, self._now_s())
        schema = rows.schema.with_metadata(note.metadata)
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = unfinished_in(self._writing, path.name)
        with pq.ParquetWriter(unfinished, schema) as writer:
            for group in _row_groups([file.path for file in merged], rows):
                writer.write_table(group.replace_schema_metadata(schema.metadata))
        size = unfinished.stat().st_size
        unfinished.replace(path)
        for file in reversed(merged[1:]):
            file.path.unlink()
        self._files[first:] = [_File(path, note, size, rows.schema)]


def unfinished_in(folder: Path, name: str) -> Path:
    """Return where a file is written before it is moved to its place: a reader never sees it unfinished."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.tmp"


def _row_groups(files: Sequence[Path], rows: pa.Table) -> Iterator[pa.Table]:
    """Return the rows of files and those behind them, in tables of a row group's size."""
    gathered: list[pa.Table] = []
    count = 0
    for table in _tables(files, rows):
        gathered.append(table)
        count += table.num_rows
        if count >= _ROW_GROUP:
            yield pa.concat_tables(gathered)
            gathered, count = [], 0
    if gathered:
        yield pa.concat_tables(gathered)


def _tables(files: Sequence[Path], rows: pa.Table) -> Iterator[pa.Table]:
    for path in files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROW_GROUP):
                yield pa.Table.from_batches([batch]).replace_schema_metadata(None)
    yield rows
