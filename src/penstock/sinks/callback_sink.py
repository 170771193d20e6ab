"""The sink that passes results to a Python function."""

import inspect
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.runtime.sink import Sink
from penstock.sinks.schemas import Schemas

Callback = Callable[..., object]
"""Called with the name of a query and some of its results, and with a batch number if it takes three arguments."""


class CallbackSink(Sink):
    """Calls a Python function with a query's name and its results as an Arrow table.

    With a state, a function of three arguments also gets the number of the batch. The same number comes again only
    after a crash, for the same query and with the same rows.
    """

    redelivers = True

    def __init__(self, function: Callback) -> None:
        self._function = function
        self._wants_batch = _takes_three(function)
        self._schemas = Schemas()

    def open(self, query: str, schema: pa.Schema) -> None:
        """Remember the schema of a query's results."""
        self._schemas.open(query, schema)

    def emit(self, query: str, rows: pa.Table) -> None:
        """Call the function."""
        more: tuple[Any, ...] = (self.batch,) if self._wants_batch else ()
        self._function(query, self._schemas.fitted(query, rows), *more)


def _takes_three(function: Callback) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(positional) >= 3
