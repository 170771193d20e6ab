"""`Sink`: the base of all places for results."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.runtime.group_rows import split
from penstock.runtime.job import Emitted
from penstock.runtime.rows.written import WrittenResults


class Sink:
    """A place for results. Only `emit` must be written; it returns when the results are there."""

    def open(self, query: str, schema: pa.Schema) -> None:
        """Prepare for the results of a query, which have this schema."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Take results of a query."""
        raise NotImplementedError

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Take results of several queries; the column `__query` has the name of each row's query."""
        for query, part in split(rows):
            self.emit(query, part)

    takes_files = False
    """Whether executors may write results for this sink."""

    def results_folder(self) -> Path:
        """Return a hidden folder to which executors may write results."""
        raise NotImplementedError

    def emit_files(self, name: str, written: WrittenResults, *, of_group: bool) -> None:
        """Take results that executors wrote to the hidden folder. The files of a group have two more columns.

        They are ``__query``, the name of each row's query, and ``__a``, its arrival.
        """
        raise NotImplementedError

    def take(self, emitted: Emitted) -> None:
        """Take the results of a job, wherever they are."""
        if emitted.written is not None:
            self.emit_files(emitted.name, emitted.written, of_group=emitted.of_group)
        elif emitted.of_group:
            self.emit_group(emitted.name, emitted.rows)
        else:
            self.emit(emitted.name, emitted.rows)

    # With a state, results are prepared, committed by a journal entry, and then revealed. ---------------------

    is_durable = False
    """Whether results can be prepared, and stay hidden until they are revealed."""
    redelivers = False
    """Whether results that were handed over, but perhaps not taken, should be handed over again after a crash."""
    batch: int | None = None
    """With a state: the number of the results that are handed over."""

    def recover(self, position: Mapping[str, Any], pending: list[list[str]]) -> list[str]:
        """Finish what an earlier process committed, undo what it did not; return what should be said about it."""
        return []

    def keep_for(self, check: Callable[[], object]) -> None:
        """Begin to work for a state. `check` raises if another process has taken it over."""

    def prepare(self, emitted: Emitted) -> list[list[str]]:
        """Write results durably, but hidden; return what `reveal` needs, as JSON has it."""
        return []

    def flush(self) -> None:
        """Make rejected rows and the names of prepared files durable."""

    def reveal(self, files: list[list[str]]) -> None:
        """Make prepared results visible; they are committed."""

    def flush_names(self) -> None:
        """Make durable what was revealed."""

    def position(self) -> dict[str, Any]:
        """Return what the sink must know to go on, as JSON has it."""
        return {}

    def hurry(self, seconds: float) -> None:
        """Finish `close` within this time, if a later run can do the rest."""

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Take rejected rows of a stream, with the reasons."""

    def publish(self) -> None:
        """Make results visible to readers. The first call comes when the run begins."""

    def close(self) -> None:
        """Finish."""
