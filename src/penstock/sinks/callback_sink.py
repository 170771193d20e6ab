"""The sink that passes results to a Python function."""

from collections.abc import Callable

import pyarrow as pa

from penstock.runtime.sink import Sink
from penstock.sinks.schemas import Schemas

Callback = Callable[[str, pa.Table], object]
"""Called with the name of a query and some of its results."""


class CallbackSink(Sink):
    """Calls a Python function with a query's name and its results as an Arrow table."""

    def __init__(self, function: Callback) -> None:
        self._function = function
        self._schemas = Schemas()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Remember the schema of a query's results."""
        self._schemas.open(query, schema)

    def emit(self, query: str, rows: pa.Table) -> None:
        """Call the function."""
        self._function(query, self._schemas.fitted(query, rows))
