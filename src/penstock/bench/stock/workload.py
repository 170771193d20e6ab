"""The interface of a workload: streams, stored tables, queries for both systems, and expected results."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Column = npt.NDArray[np.generic]
Columns = Mapping[str, Column]
"""The rows of a stream so far, by column; times are in microseconds."""


@dataclass(frozen=True)
class BenchStream:
    """A stream of parquet files: its columns in SQL, and which of them is the event time."""

    name: str
    columns: str
    timestamp: str | None = None


@dataclass(frozen=True)
class BenchQuery:
    """A query: the streams it reads, and its SELECT for Penstock and for Spark."""

    name: str
    reads: tuple[str, ...]
    penstock: str
    stock: str


@dataclass(frozen=True)
class EventTimeSpan:
    """The event times of a file, in microseconds: from `first` up to, but without, `end`."""

    first: int
    end: int


class BenchWorkload(Protocol):
    """Streams, tables and queries."""

    @property
    def streams(self) -> tuple[BenchStream, ...]:
        """The streams."""

    @property
    def tables(self) -> Mapping[str, str]:
        """The stored tables: their columns by name."""

    @property
    def queries(self) -> tuple[BenchQuery, ...]:
        """The queries."""

    def store(self, folder: Path) -> None:
        """Write the stored tables, each as ``folder/NAME.parquet``."""

    def rows(
        self, stream: str, count: int, span: EventTimeSpan, sent_us: int, random: np.random.Generator
    ) -> pa.Table:
        """Make the rows of a file that arrives `sent_us` after the start of its batch."""


class StockWorkload(BenchWorkload, Protocol):
    """Streams, tables and queries that have a known number of results."""

    def expected(self, rows: Mapping[str, Columns]) -> dict[str, int]:
        """Return how many results each query has, given all rows of the streams."""


def row_queries(workload: StockWorkload, rows: Mapping[str, int]) -> int:
    """Return the number of row-queries: the sum over queries of the rows that each reads."""
    return sum(rows[stream] for query in workload.queries for stream in query.reads)
