"""The sink that writes parquet files. `folder_layout` has the folder, `rolling_files` the growth of files."""

import contextlib
import math
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from threading import RLock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RunError
from penstock.language.settings import Roll
from penstock.runtime.clock import now_text
from penstock.runtime.group_rows import split
from penstock.runtime.job import Emitted
from penstock.runtime.rejections import rejected_lines
from penstock.runtime.rows.written import WrittenResults
from penstock.runtime.sink import Sink
from penstock.sinks.durable_parts import recover, reveal
from penstock.sinks.folder_checks import QueryFolders, check_columns, check_usable
from penstock.sinks.folder_layout import (
    GROUPS,
    RECENT,
    REJECTED,
    WRITING,
    PartId,
    Staged,
    hidden_name,
    part_name,
    staged_in,
)
from penstock.sinks.manifest import Manifest
from penstock.sinks.parts import KeptTables, read_part, rows_in
from penstock.sinks.publish_batch import Batch, next_batch, read_at_once
from penstock.sinks.removal import remove_results, remove_staging, remove_unfinished
from penstock.sinks.rolling_files import RollingFiles, unfinished_in
from penstock.sinks.run_marker import RunMarker
from penstock.sinks.schemas import Schemas, columns_of, fitted, plain, schema_of
from penstock.storage.faults import reached
from penstock.storage.files import NO_ROOM, STOPS_WITHOUT_ROOM, flush_file, flush_folders, make_folder

Splitter = Callable[[Sequence[Path], Path], Mapping[str, Path]]
"""Splits files of a group by query, into a folder; returns one file for each query that has rows."""


class ParquetSink(Sink):
    """Writes results to ``folder/NAME/*.parquet``; readers never see an incomplete file.

    The results of a job are first written to one file, in ``_recent`` or, for a group, ``_groups``, where `read`
    finds them. `publish` moves them to the folders of their queries. Existing files stay unchanged until the first
    results or the first `publish`.

    One thread emits; another may publish.
    """

    takes_files = True

    def __init__(
        self,
        folder: str | Path,
        *,
        overwrite: bool = False,
        append: bool = False,
        roll: str | None = None,
        state: str | None = None,
        goes_on: bool = False,
        take_over: bool = False,
    ) -> None:
        self._folder = Path(folder)
        self.is_durable = state is not None
        self._state, self._goes_on, self._take_over = state, goes_on, take_over
        """The state that the results belong to. Then published files never change."""
        self._check: Callable[[], object] = lambda: None
        self._unnamed: set[Path] = set()
        """Folders in which names changed that are not durable yet."""
        self._rejected: dict[str, int] = {}
        """Bytes of this run's rejected rows, by stream."""
        self._publish_until = math.inf
        self._overwrite, self._append = overwrite, append
        self._roll = Roll() if roll is None else Roll.of(roll)
        self._schemas = Schemas()
        self._places: dict[str, RollingFiles] = {}
        self._number = 0
        self._kept_tables = KeptTables()
        self._splitter: Splitter | None = None
        self._marker = RunMarker(self._folder)
        self._opened = self._begun = self._ended = False
        self._lock, self._publishing = RLock(), RLock()
        self._inspect()

    def _inspect(self) -> None:
        """Read what is in the folder, and check that this run may write to it."""
        with self._os_errors():
            self._manifest = Manifest.read(self._folder)
            goes_on = self._state is not None and self._state in self._manifest.states.values()
            if self._goes_on and not goes_on:
                raise RunError(
                    f"{self._folder} does not hold the results of this state: name the folder that does (--out), "
                    "or begin a new state"
                )
            if goes_on and self._overwrite:
                raise RunError(f"{self._folder} has the results of the state: begin a new state to overwrite them")
            check_usable(
                self._folder,
                self._marker,
                overwrite=self._overwrite,
                append=self._append or goes_on,
                force=self._take_over,
                state=self._state,
            )
            self._folders = QueryFolders(self._folder, self._manifest, overwrite=self._overwrite)
            make_folder(self._folder)

    @contextlib.contextmanager
    def _os_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._check()  # who takes a state over renames and removes files here
            if self.is_durable and error.errno in NO_ROOM:
                raise RunError(f"no room is left for results in {self._folder}: {STOPS_WITHOUT_ROOM}") from error
            raise RunError(f"results cannot be written to {self._folder}: {error.strerror or error}") from error

    @property
    def folder(self) -> Path:
        """The folder of the results."""
        return self._folder

    # With a state -------------------------------------------------------------------------------------------

    def recover(self, position: Mapping[str, Any], pending: list[list[str]]) -> list[str]:
        """Finish what an earlier process committed, and undo what it did not; return what should be said."""
        assert self._state is not None
        with self._os_errors():
            return recover(self._folder, self._manifest, self._state, position, pending)

    def keep_for(self, check: Callable[[], object]) -> None:
        """Begin the run in the manifest: then its number is known."""
        self._check = check
        with self._os_errors():
            self._begin()

    def prepare(self, emitted: Emitted) -> list[list[str]]:
        """Write results durably, but hidden; return their hidden names and their places."""
        with self._os_errors():
            if emitted.written is not None:
                return self._prepare_files(emitted.name, emitted.written, of_group=emitted.of_group)
            if emitted.of_group:
                return self._prepare_rows(
                    f"{GROUPS}/{emitted.name}", fitted(emitted.rows, plain(emitted.rows.schema))
                )
            return self._prepare_rows(f"{RECENT}/{emitted.name}", self._schemas.fitted(emitted.name, emitted.rows))

    def _prepare_rows(self, place: str, rows: pa.Table) -> list[list[str]]:
        reached("results.before")
        part = self._next_part()
        unfinished = self._hidden(part)
        pq.write_table(rows, unfinished)
        reached("results.written")
        flush_file(unfinished)
        self._unnamed.add(unfinished.parent)
        self._kept_tables.add(part, rows)
        return [[str(unfinished.relative_to(self._folder)), f"{place}/{part_name(part)}"]]

    def _prepare_files(self, name: str, written: WrittenResults, *, of_group: bool) -> list[list[str]]:
        found = []
        for path in written.files:
            part = self._next_part()
            hidden = self._hidden(part)
            flush_file(path)
            path.rename(hidden)
            place = f"{GROUPS if of_group else RECENT}/{name}/{part_name(part)}"
            found.append([str(hidden.relative_to(self._folder)), place])
        written.remove_folder()
        self._unnamed.add(self._folder / WRITING)
        return found

    def _hidden(self, part: PartId) -> Path:
        return unfinished_in(self._folder / WRITING, hidden_name(part))

    def _next_part(self) -> PartId:
        self._number += 1
        return self._manifest.runs, self._number

    def flush(self) -> None:
        """Make rejected rows and the names of prepared files durable."""
        if self._unnamed:
            self.flush_names()
            reached("results.flushed")

    def reveal(self, files: list[list[str]]) -> None:
        """Rename prepared files to their places."""
        with self._os_errors():
            self._unnamed |= reveal(self._folder, files)
        reached("reveal.after")

    def flush_names(self) -> None:
        """Make durable what was revealed."""
        folders, self._unnamed = self._unnamed, set()
        with self._os_errors():
            flush_folders(folders)

    def position(self) -> dict[str, Any]:
        """Return the last part, and how long the files of rejected rows are."""
        folder = str(self._folder.absolute())
        return {
            "folder": folder,
            "run": self._manifest.runs,
            "part": self._number,
            "rejected": dict(self._rejected),
        }

    def hurry(self, seconds: float) -> None:
        """Publish no longer than this when the run ends: the next run does the rest."""
        if self.is_durable:
            self._publish_until = time.monotonic() + seconds

    # Queries and results ------------------------------------------------------------------------------------

    def open(self, query: str, schema: pa.Schema) -> None:
        """Add a query; raise an error if it can have no folder, or if its columns differ from earlier results."""
        with self._lock, self._os_errors():
            if not self._opened:
                self._inspect()  # again: another run may have written while Spark started
                self._marker.take(force=self._take_over)
                self._opened = True
            self._folders.claim(query)
            if self._begun or not self._overwrite:
                check_columns(self._folder, query, self._manifest, plain(schema))
            self._schemas.open(query, schema)
            if self._begun:
                self._manifest.add({query: columns_of(self._schemas[query])})

    def _begin(self) -> None:
        """Prepare the folder for the first results of this run."""
        with self._lock:
            if self._begun:
                return
            if self._overwrite:
                remove_results(self._folder, self._manifest)
                self._manifest = Manifest.read(self._folder)
            remove_unfinished(self._folder)
            self._manifest.begin(now_text(), self._state)
            self._manifest.add({query: columns_of(self._schemas[query]) for query in self._schemas})
            self._begun = True

    def emit(self, query: str, rows: pa.Table) -> None:
        """Write the results of a job."""
        self._stage(f"{RECENT}/{query}", self._schemas.fitted(query, rows))

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Write the results of a job for several queries as one file."""
        self._stage(f"{GROUPS}/{group}", fitted(rows, plain(rows.schema)))

    def results_folder(self) -> Path:
        """Return the folder of unfinished files."""
        with self._os_errors():
            self._begin()
            folder = (self._folder / WRITING).absolute()
            make_folder(folder)
            return folder

    def emit_files(self, name: str, written: WrittenResults, *, of_group: bool) -> None:
        """Make files that executors wrote visible to `read`, by renaming them."""
        with self._os_errors():
            for path in written.files:
                path.touch()  # its time is when results were there for readers
                self._make_visible(path, f"{GROUPS if of_group else RECENT}/{name}")
            written.remove_folder()

    def split_with(self, splitter: Splitter) -> None:
        """Let executors split large results of groups by query."""
        self._splitter = splitter

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Append rejected rows to the file of this run."""
        self._check()
        with self._os_errors():
            self._begin()
            folder = self._folder / REJECTED / stream
            make_folder(folder)
            with (folder / f"rows-{self._manifest.runs:04d}.json").open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in rejected_lines(rows))
                if self.is_durable:
                    file.flush()
                    reached("rejected.written")
                    os.fsync(file.fileno())
                    self._rejected[stream] = file.tell()
                    self._unnamed.add(folder)
                    reached("rejected.flushed")

    def _stage(self, place: str, rows: pa.Table) -> None:
        with self._os_errors():
            self._begin()
            unfinished = unfinished_in(self._folder / WRITING, f"part-{self._number + 1:08d}")
            pq.write_table(rows, unfinished)
            self._kept_tables.add((self._manifest.runs, self._number + 1), rows)
            self._make_visible(unfinished, place)

    def _make_visible(self, path: Path, place: str) -> None:
        """Rename a finished file to the next part of a place, where `read` finds it."""
        self._number += 1
        (self._folder / place).mkdir(parents=True, exist_ok=True)
        path.rename(self._folder / place / part_name((self._manifest.runs, self._number)))

    def publish(self) -> None:
        """Move results to the folders of their queries.

        Each file there records up to which part it holds the rows of its query. So if this is interrupted, the
        next call continues where it ended, and meanwhile `read` finds each row once.
        """
        with self._publishing, self._os_errors():
            self._begin()
            try:
                self._publish_all()
            except BaseException:
                self._places.clear()  # read them again: only the files count
                raise

    def _publish_all(self) -> None:
        staged = staged_in(self._folder)
        if staged and not self._places:
            for place in list(self._manifest.queries):  # a query may be created meanwhile
                self._rolled(place)
        while staged and self._has_time:
            self._check()
            reached("publish.before")
            batch = self._next_batch(staged)
            self._publish(batch)
            staged = staged[len(batch.parts) :]

    @property
    def _has_time(self) -> bool:
        """Whether publishing may go on. It can end after each file: some queries then have a part, others not."""
        return time.monotonic() < self._publish_until

    def _next_batch(self, staged: list[Staged]) -> Batch:
        """Return the parts to publish next: at most up to the part where an earlier call was interrupted."""
        ends = [rolled.until for rolled in self._places.values() if rolled.until >= staged[0].part]
        end = min(ends, default=staged[-1].part)
        return next_batch([each for each in staged if each.part <= end], len(self._manifest.queries))

    def _publish(self, batch: Batch) -> None:
        """Publish parts: large ones are renamed, or split by executors; small ones are merged with others."""
        parts, until = batch.parts, batch.parts[-1].part
        if batch.is_large and parts[0].place is not None:
            self._rolled(parts[0].place).add_file(parts[0].path, until)
            self._kept_tables.drop(until)
        elif batch.is_large and self._split(parts, until):
            self._remove(parts)
        else:
            for some in read_at_once(parts):
                if not (self._has_time and self._merge(some)):
                    break
                self._remove(some)

    def _merge(self, parts: Sequence[Staged]) -> bool:
        """Add the rows of parts to the files of their queries; return whether the time was enough for all."""
        until = parts[-1].part
        for place, tables in self._by_place(parts).items():
            if not self._has_time:
                return False
            rolled = self._rolled(place)
            if rolled.until < until:
                schema = self._schema(place) or plain(tables[0].schema)
                rolled.add(pa.concat_tables([fitted(rows, schema) for rows in tables]), until)
        return True

    def _remove(self, parts: Sequence[Staged]) -> None:
        for each in parts:
            each.path.unlink()
            self._kept_tables.drop(each.part)
        if self.is_durable:  # published files may be moved away by their readers: parts must not come back
            flush_folders({each.path.parent for each in parts})
        reached("publish.removed")

    def _split(self, batch: Sequence[Staged], until: PartId) -> bool:
        """Let executors split the results of a group by query; return whether that worked."""
        if self._splitter is None:
            return False
        folder = Path(mkdtemp(prefix="split-", dir=self.results_folder()))
        try:
            files = self._splitter([each.path.absolute() for each in batch], folder)
            if rows_in(files.values()) != rows_in(each.path for each in batch):
                return False  # an executor does not share this folder: its files are elsewhere
        except Exception:  # Spark may have ended: the driver can do it
            return False
        else:
            for place, path in files.items():
                if not self._has_time:
                    return False
                if self._rolled(place).until < until:
                    self._rolled(place).add_file(path, until)
            return True
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _by_place(self, staged: Sequence[Staged]) -> dict[str, list[pa.Table]]:
        """Return the rows of parts, by the folder of their query."""
        found: dict[str, list[pa.Table]] = defaultdict(list)
        groups: dict[tuple[int, Path], list[pa.Table]] = defaultdict(list)
        for each in staged:
            rows = self._kept_tables.get(each.part)
            if rows is None:
                rows = read_part(each)
            if each.place is None:
                groups[each.part[0], each.path.parent].append(fitted(rows, plain(rows.schema)))
            else:
                found[each.place].append(rows)
        for tables in groups.values():
            for query, rows in split(pa.concat_tables(tables).unify_dictionaries()):
                found[query].append(rows)
        return found

    def _rolled(self, place: str) -> RollingFiles:
        if place not in self._places:
            check = self._check if self.is_durable else None
            self._places[place] = RollingFiles(self._folder, place, self._roll, time.time, check)
        return self._places[place]

    def _schema(self, place: str) -> pa.Schema | None:
        columns = self._manifest.queries.get(place)
        return None if columns is None else schema_of(columns)

    def close(self) -> None:
        """Publish everything and merge small files; a query without results gets an empty file."""
        if self._ended:
            return
        self._check()
        self.publish()
        with self._publishing, self._os_errors():
            published = not staged_in(self._folder)
            until = self._manifest.runs, 0 if self.is_durable else self._number
            for query in self._schemas:
                if published and self._rolled(query).is_empty:
                    self._rolled(query).add(self._schemas[query].empty_table(), until)
            for rolled in self._places.values():
                rolled.compact()
            if not self.is_durable:  # what was committed and not revealed is there, too
                remove_unfinished(self._folder)
            remove_staging(self._folder)
            self._marker.release(ended_well=published)
        self._ended = True

    def release(self) -> None:
        """Unlock the folder, however the run ended; results of a failed run are published."""
        if self._begun:
            with contextlib.suppress(Exception):  # the error that ended the run is already reported
                self.close()
        self._marker.release(ended_well=not self._begun)
