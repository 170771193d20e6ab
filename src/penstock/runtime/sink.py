"""`Sink`: the base of all places for results."""

import pyarrow as pa

from penstock.runtime.group_rows import split


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

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Take rejected rows of a stream, with the reasons."""

    def publish(self) -> None:
        """Make results visible to readers. The first call comes when the run begins."""

    def close(self) -> None:
        """Finish."""
