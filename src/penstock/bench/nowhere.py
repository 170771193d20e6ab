"""A place for results that nobody wants to see."""

import pyarrow as pa

from penstock.runtime.sink import Sink


class Nowhere(Sink):
    """A sink that forgets: what is measured is when results are there."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Do nothing."""

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Do nothing: the queries of a group are not even told apart."""
