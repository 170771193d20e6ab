"""A place for results that nobody wants to see."""

import pyarrow as pa


class Nowhere:
    """A sink that forgets: what is measured is when results are there."""

    def open(self, query: str, schema: pa.Schema) -> None:
        """Do nothing."""

    def emit(self, query: str, rows: pa.Table) -> None:
        """Do nothing."""

    def emit_group(self, group: str, rows: pa.Table) -> None:
        """Do nothing."""

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Do nothing."""

    def publish(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
