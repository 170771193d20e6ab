"""The sink that writes parquet files: what is where is said in `layout`, how files grow in `rolling`."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from threading import RLock

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RunError
from penstock.language.settings import Roll
from penstock.plan.group import QUERY
from penstock.runtime.groups import split
from penstock.runtime.rejections import rejected_lines
from penstock.runtime.sink import Sink
from penstock.sinks.folder import (
    GROUPS,
    RECENT,
    REJECTED,
    WRITING,
    Manifest,
    Staged,
    part_name,
    remove_results,
    remove_staging,
    remove_unfinished,
    staged_in,
)
from penstock.sinks.folder_checks import QueryFolders, check_columns, check_usable
from penstock.sinks.rolling_files import RollingFiles, unfinished_in
from penstock.sinks.run_marker import RunMarker, now
from penstock.sinks.schemas import Schemas, columns_of, fitted, plain, schema_of

_TOGETHER = 64 * 1000 * 1000
"""Bytes of parts that are published together: so much is in memory at a time."""


class ParquetSink(Sink):
    """Writes results to ``folder/NAME/*.parquet``; a file is there as a whole or not at all.

    The results of a job are written to one file at once, in ``_recent`` or, for a group, ``_groups``, where `read`
    finds them. `publish` brings them to the folders of their queries. Nothing that was in the folder before is
    changed until the first results, or `publish`.

    One thread emits; another may publish.
    """

    def __init__(
        self, folder: str | Path, *, overwrite: bool = False, append: bool = False, roll: str | None = None
    ) -> None:
        self._folder = Path(folder)
        self._overwrite, self._append = overwrite, append
        self._roll = Roll() if roll is None else Roll.of(roll)
        self._schemas = Schemas()
        self._places: dict[str, RollingFiles] = {}
        self._number = 0
        self._marker = RunMarker(self._folder)
        self._opened = self._begun = self._ended = False
        self._lock, self._publishing = RLock(), RLock()
        self._look()

    def _look(self) -> None:
        """Find out what is in the folder, and whether this run may write there."""
        with self._guarded():
            check_usable(self._folder, self._marker, overwrite=self._overwrite, append=self._append)
            self._manifest = Manifest.read(self._folder)
            self._folders = QueryFolders(self._folder, self._manifest, overwrite=self._overwrite)
            self._folder.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"results cannot be written to {self._folder}: {error.strerror or error}") from error

    def open(self, query: str, schema: pa.Schema) -> None:
        """Take a query in, if its results have a folder, and fit to those that are there."""
        with self._lock, self._guarded():
            if not self._opened:
                self._look()  # again: another run may have come and gone while Spark started
                self._marker.take()
                self._opened = True
            self._folders.take(query)
            if self._begun or not self._overwrite:
                check_columns(self._folder, query, self._manifest, plain(schema))
            self._schemas.open(query, schema)
            if self._begun:
                self._manifest.add({query: columns_of(self._schemas[query])})

    def _begin(self) -> None:
        """Make the folder ready for the first results of this run."""
        with self._lock:
            if self._begun:
                return
            if self._overwrite:
                remove_results(self._folder, self._manifest)
                self._manifest = Manifest.read(self._folder)
            remove_unfinished(self._folder)
            self._manifest.begin(now())
            self._manifest.add({query: columns_of(self._schemas[query]) for query in self._schemas})
            self._begun = True

    def emit(self, query: str, rows: pa.Table) -> None:
        """Write results of a job."""
        self._stage(f"{RECENT}/{query}", self._schemas.fitted(query, rows))

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Write results of a job for several queries as one file."""
        self._stage(f"{GROUPS}/{group}", rows)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Add rows that were turned away to the file of this run."""
        with self._guarded():
            self._begin()
            folder = self._folder / REJECTED / stream
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / f"rows-{self._manifest.runs:04d}.json").open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in rejected_lines(rows))

    def _stage(self, place: str, rows: pa.Table) -> None:
        with self._guarded():
            self._begin()
            self._number += 1
            name = part_name((self._manifest.runs, self._number))
            unfinished = unfinished_in(self._folder / WRITING, name)
            pq.write_table(rows, unfinished)
            (self._folder / place).mkdir(parents=True, exist_ok=True)
            unfinished.rename(self._folder / place / name)

    def publish(self) -> None:
        """Bring results to the folders of their queries.

        Each file there says up to which part it holds the rows of its query. So if this breaks off, the next call
        goes on where it ended, and `read` finds each row once meanwhile.
        """
        with self._publishing, self._guarded():
            self._begin()
            try:
                self._publish_all()
            except BaseException:
                self._places.clear()  # they are read again: what is there counts
                raise

    def _publish_all(self) -> None:
        staged = staged_in(self._folder)
        if staged and not self._places:
            for place in self._manifest.queries:
                self._rolled(place)
        while staged:
            together = self._together(staged)
            self._publish(together)
            staged = staged[len(together) :]

    def _together(self, staged: list[Staged]) -> list[Staged]:
        """Return the parts that are published next: not beyond the one where an earlier call broke off."""
        ends = [rolled.until for rolled in self._places.values() if rolled.until >= staged[0].part]
        end = min(ends, default=staged[-1].part)
        taken, size = [], 0
        for each in staged:
            if each.part > end or size >= _TOGETHER:
                break
            taken.append(each)
            size += each.path.stat().st_size
        return taken

    def _publish(self, together: list[Staged]) -> None:
        until = together[-1].part
        for place, tables in _by_place(together).items():
            rolled = self._rolled(place)
            if rolled.until < until:
                schema = self._schema(place) or plain(tables[0].schema)
                rolled.add(pa.concat_tables([fitted(rows, schema) for rows in tables]), until)
        for each in together:
            each.path.unlink()

    def _rolled(self, place: str) -> RollingFiles:
        if place not in self._places:
            self._places[place] = RollingFiles(self._folder, place, self._roll, time.time)
        return self._places[place]

    def _schema(self, place: str) -> pa.Schema | None:
        columns = self._manifest.queries.get(place)
        return None if columns is None else schema_of(columns)

    def close(self) -> None:
        """Publish everything and merge small files; a query without results gets an empty file."""
        if self._ended:
            return
        self.publish()
        with self._publishing, self._guarded():
            for query in self._schemas:
                if self._rolled(query).is_empty:
                    self._rolled(query).add(
                        self._schemas[query].empty_table(), (self._manifest.runs, self._number)
                    )
            for rolled in self._places.values():
                rolled.compact()
            remove_staging(self._folder)
            self._marker.give_back(ended_well=True)
        self._ended = True

    def release(self) -> None:
        """Let go of the folder however the run ended; results of a run that failed are published."""
        if self._begun:
            with contextlib.suppress(Exception):  # what ended the run is said already
                self.close()
        self._marker.give_back(ended_well=not self._begun)


def _by_place(staged: list[Staged]) -> dict[str, list[pa.Table]]:
    """Return the rows of parts by the folder that they belong to."""
    found: dict[str, list[pa.Table]] = defaultdict(list)
    groups: dict[tuple[int, Path], list[pa.Table]] = defaultdict(list)
    for each in staged:
        with pq.ParquetFile(each.path, read_dictionary=[QUERY] if each.place is None else None) as file:
            rows = file.read()
        if each.place is None:
            groups[each.part[0], each.path.parent].append(fitted(rows, plain(rows.schema)))
        else:
            found[each.place].append(rows)
    for tables in groups.values():
        for query, rows in split(pa.concat_tables(tables).unify_dictionaries()):
            found[query].append(rows)
    return found
