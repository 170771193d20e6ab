"""`Sink`: the base of all places for results."""

from pathlib import Path

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

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Take rejected rows of a stream, with the reasons."""

    def publish(self) -> None:
        """Make results visible to readers. The first call comes when the run begins."""

    def close(self) -> None:
        """Finish."""
