"""`Delivery`: hands results and rejected rows to the sinks, or to the state, which commits them first."""

from collections.abc import Sequence

import pyarrow as pa

from penstock.runtime.job import Emitted
from penstock.runtime.sink import Sink
from penstock.runtime.store import Store


class Delivery:
    """Where results and rejected rows go."""

    def __init__(self, sinks: Sequence[Sink], store: Store | None = None) -> None:
        self._sinks = sinks
        self._store = store

    def take(self, emitted: Emitted) -> None:
        """Take the results of a job."""
        if self._store is not None:
            self._store.take(emitted)
            return
        for sink in self._sinks:
            sink.take(emitted)

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Take rejected rows of a stream."""
        if self._store is not None:
            self._store.reject(stream, rows)
            return
        for sink in self._sinks:
            sink.reject(stream, rows)
