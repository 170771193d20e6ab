"""A sink that discards results."""

import pyarrow as pa

from penstock.runtime.sink import Sink


class Nowhere(Sink):
    """Discards results: benchmarks measure when they are ready."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Do nothing."""

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Do nothing: the results of a group are not even split by query."""
