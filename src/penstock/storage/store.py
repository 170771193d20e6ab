"""`StateStore`: keeps a run in a folder. What happened is committed by journal entries, one after another.

A commit writes rows and results first, flushes them, and then writes the entry that names them: that alone
commits. Results become visible after it.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from penstock.runtime.clock import now_text
from penstock.runtime.derived_types import DerivedTypes
from penstock.runtime.engine import Engine
from penstock.runtime.job import Emitted
from penstock.runtime.sink import Sink
from penstock.runtime.store import Positions
from penstock.storage.documents import StateError
from penstock.storage.engine_record import EngineRecord
from penstock.storage.engine_restore import check_plan, restore_rows, restore_statistics, script_after
from penstock.storage.folder import Folder
from penstock.storage.image import Image
from penstock.storage.outbox import Outbox
from penstock.storage.retention import Retention
from penstock.storage.row_log import RowLogs
from penstock.storage.state_segments import StateSegments

LOG = logging.getLogger("penstock.state")
_CHECKPOINT_ENTRIES = 500
_CHECKPOINT_BYTES = 8 * 1000 * 1000
_CHECKPOINT_S = 30.0
_CHECKPOINT_SHARE = 0.02
"""The share of the time that checkpoints may take."""
_LATE_S = 0.2
"""Weight of the last commit in the average time of commits."""


class StateStore:
    """The state of one run."""

    def __init__(
        self,
        folder: Folder,
        commit_us: int,
        limit: int | None,
        on_note: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.folder = folder
        self._on_note = on_note
        self.commit_s = 0.002
        self.epoch = folder.owner.epoch
        self._commit_us = commit_us
        self._limit = limit
        self._rows = RowLogs(folder.path, self.epoch, limit)
        self._retention = Retention(folder.path)
        self._sinks: list[Sink] = []
        self._emitted: list[Emitted] = []
        self._rejected: list[tuple[str, pa.Table]] = []
        self._outbox = Outbox(self._rows, folder.path)
        self._positions: Positions | None = None
        self._record: EngineRecord | None = None
        self._pending_since: int | None = None
        self._began = time.monotonic()
        self._before_s = float(self.image.run["seconds"]) if self.image else 0.0
        self._entries = self._bytes = 0
        self._checkpointed = time.monotonic()
        self._checkpoint_s = 0.0
        self._is_broken = False

    @property
    def image(self) -> Image | None:
        """The run as an earlier process left it; None if this is the first."""
        return self.folder.image

    @property
    def seconds(self) -> float:
        """How long earlier processes ran."""
        return self._before_s

    # Going on -----------------------------------------------------------------------------------------------

    def restore_queries(self, engine: Engine, types: DerivedTypes) -> bool:
        """Register the queries of an earlier process; return False if this is the first."""
        if self.image is None:
            return False
        _, changes, created = script_after(self.folder.base, self.image)
        queries = {key: types.of_query(query) for key, query in created.items()}
        engine.begin_again(types.of_script(self.folder.base), changes, queries)
        check_plan(engine, self.image)
        return True

    def restore_rows(self, engine: Engine, on_stage: Callable[[str], object]) -> None:
        """Fill the engine with the rows and statistics of an earlier process."""
        for log in engine.streams.values():
            log.continues = True
        if self.image is None:
            self._record = EngineRecord(engine, self._rows, self.folder.path)
            return
        told = time.monotonic()

        def on_read(count: int, total: int) -> None:
            nonlocal told
            if time.monotonic() - told > 1:
                told = time.monotonic()
                on_stage(f"reading the state: {count:,} of {total:,} chunks")

        LOG.info("going on from %s, where entry %d was committed", self.image.run["written"], self.folder.last)
        with self.folder.os_errors():
            found = restore_rows(engine, self.image, self.folder.path, on_read)
        restore_statistics(engine, self.image)
        self._record = EngineRecord(engine, self._rows, self.folder.path)
        self._record.adopt(found.chunks, found.checksums)
        self._retention.remove_orphans(self.image.files)

    def position_of(self, stream: str) -> Mapping[str, Any] | None:
        """Return where a source goes on; None if it begins."""
        return None if self.image is None else self.image.sources.get(stream)

    def begin(self, engine: Engine, positions: Positions, sinks: Sequence[Sink], now_us: int) -> None:
        """Write a first checkpoint. From now on everything is kept."""
        self._positions = positions
        self._sinks = list(sinks)
        with self.folder.os_errors():
            for sink in sinks:
                known = ({}, []) if self.image is None else (self.image.sink, self.image.pending)
                for note in sink.recover(*known):
                    self._on_note(note)
                sink.keep_for(self.folder.owner.check)
            self._outbox.begin(self.image, self._sinks)
            if self.image is not None:
                # The entry of this epoch: an earlier process cannot write its own any more
                self._append(now_us, {"script": self.folder.script})
            self._checkpoint(now_us)
            self.folder.image = None

    # Commits ------------------------------------------------------------------------------------------------

    def take(self, emitted: Emitted) -> None:
        """Keep results until the next commit."""
        self._emitted.append(emitted)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Keep rejected rows until the next commit."""
        self._rejected.append((stream, rows))

    @property
    def _has_changes(self) -> bool:
        return bool(self._emitted or self._rejected or self._of.has_changes)

    @property
    def _of(self) -> EngineRecord:
        assert self._record is not None
        return self._record

    def commit_if_due(self, now_us: int, *, has_slot: bool) -> bool:
        """Commit what happened, if rows or results should not wait longer; return whether it did."""
        if not self._has_changes:
            return False
        if self._pending_since is None:
            self._pending_since = now_us
        if not has_slot and now_us - self._pending_since < self._commit_us:
            return False
        self.commit(now_us)
        return True

    def commit(self, now_us: int) -> None:
        """Commit what happened, if anything did."""
        if not self._has_changes:
            return
        start = time.perf_counter()
        self._pending_since = None
        try:
            with self.folder.os_errors():
                self._append(now_us)
                self._checkpoint_if_due(now_us)
        except BaseException:
            self._is_broken = True
            raise
        self.commit_s += (time.perf_counter() - start - self.commit_s) * _LATE_S

    def _append(self, now_us: int, more: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.folder.owner.check()
        emitted, self._emitted = self._emitted, []
        rejected, self._rejected = self._rejected, []
        files = [file for sink in self._sinks for each in emitted for file in sink.prepare(each)]
        for sink in self._sinks:
            for stream, rows in rejected:
                sink.reject(stream, rows)
            sink.flush()
        batches = self._outbox.add(emitted)
        changes = self._of.changes()
        self._rows.flush()
        entry = {
            "run": self._run(now_us),
            "engine": changes,
            "sources": self._positions(whole=False) if self._positions else {},
            "sink": self._sink_positions(),
            "files": files,
            "outbox": batches,
            **more,
        }
        self._bytes += self.folder.append(entry)
        self.folder.owner.check()  # the entry of this number may have been pruned by who took over meanwhile
        self._entries += 1
        LOG.debug("committed entry %d: %d batches of results", self.folder.last, len(emitted))
        self._retention.wrote(changes, batches)
        for sink in self._sinks:
            sink.reveal(files)
        self._outbox.deliver(emitted)

    def _run(self, now_us: int) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "now_us": now_us,
            "seconds": self._before_s + time.monotonic() - self._began,
            "version": version("penstock"),
            "written": now_text(),
            "taken": self._outbox.taken,
            "ended": self._of.ended_streams(),
        }

    def _sink_positions(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for sink in self._sinks:
            found |= sink.position()
        return found

    # Checkpoints --------------------------------------------------------------------------------------------

    def _checkpoint_if_due(self, now_us: int) -> None:
        passed = time.monotonic() - self._checkpointed
        many = self._entries >= _CHECKPOINT_ENTRIES or self._bytes >= _CHECKPOINT_BYTES or passed >= _CHECKPOINT_S
        if many and passed * _CHECKPOINT_SHARE >= self._checkpoint_s:
            self._checkpoint(now_us)

    def _checkpoint(self, now_us: int) -> None:
        start = time.monotonic()
        for sink in self._sinks:
            sink.flush_names()
        body = {
            "run": self._run(now_us),
            "script": self.folder.script,
            "engine": self._of.everything(),
            "sources": self._positions(whole=True) if self._positions else {},
            "sink": self._sink_positions(),
            "outbox": self._outbox.waiting,
        }
        self._rows.flush()
        self.folder.checkpoint(body)
        needed = Image.of(body).files
        self._rows.leave(needed)
        for path in self._retention.release(needed):
            self._of.forget(path)
        self._entries = self._bytes = 0
        self._checkpointed = time.monotonic()
        self._checkpoint_s = self._checkpointed - start
        LOG.debug("checkpoint at entry %d, in %.3f s", self.folder.last, self._checkpoint_s)

    # Files and limits ---------------------------------------------------------------------------------------

    def segment_writer(self, *, always: bool) -> StateSegments:
        """Return what writes rows of streams to files of the state."""
        return StateSegments(self.folder.path, self.epoch, self.released, always=always)

    def check(self) -> None:
        """Raise if another process has taken the state over."""
        self.folder.owner.check()

    def has_room(self) -> bool:
        """Whether the state is below its limit."""
        return self._limit is None or self._retention.bytes < self._limit

    def make_room(self, now_us: int) -> None:
        """Remove what is not needed any more; raise if the limit is still reached: nothing else can continue."""
        with self.folder.os_errors():
            for _ in range(2):  # a file goes one checkpoint after the last that needed it
                self._append(now_us)
                self._checkpoint(now_us)
        if not self.has_room():
            raise StateError(
                f"the state {self.folder.path} has reached its limit of {self._limit:,} bytes, and each of its "
                "files has rows that wait or that are in windows: set a higher limit (SET state = '…') or shorter "
                "windows, or leave out other rows (`penstock state DIR --compact`), and start again with the same "
                "command"
            )

    def released(self, segment: Path) -> None:
        """Take note that the run needs a file of rows no more."""
        if not self._retention.knows(segment):
            segment.unlink(missing_ok=True)  # it was never part of the state

    def release(self) -> None:
        """Let another process own the folder, without a commit."""
        self._rows.close()
        self.folder.owner.release()

    def close(self, now_us: int) -> None:
        """Commit, write a last checkpoint and let another process own the folder."""
        try:
            if self._record is not None and self._positions is not None and not self._is_broken:
                with self.folder.os_errors():
                    if self._has_changes:
                        self._append(now_us)
                    self._append(now_us)  # of what sources and sinks did since
                    self._checkpoint(now_us)
        finally:
            self.release()
