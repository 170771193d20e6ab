"""The stream and its queries, as the machinery of `bench/stock` takes them."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.bench.aggregates.query_set import AMOUNTS, STREAM, VALUES, AggregateQuery, QuerySet
from penstock.bench.stock.workload import BenchQuery, BenchStream, EventTimeSpan

SWEEP = 100
"""Rows at the end of a file that pass the filters: one in every hundredth of the values."""


class AggregateWorkload:
    """One stream with event times, which rise from row to row, and aggregates over its windows."""

    streams = (BenchStream(STREAM, "t TIMESTAMP, k INT, v INT, x INT", timestamp="t"),)
    tables: Mapping[str, str] = {}

    def __init__(self, queries: QuerySet) -> None:
        self.set = queries

    @cached_property
    def aggregates(self) -> list[AggregateQuery]:
        """The queries as values."""
        return self.set.queries()

    @cached_property
    def queries(self) -> tuple[BenchQuery, ...]:
        """The queries as SQL."""
        return tuple(query.as_sql() for query in self.aggregates)

    def store(self, folder: Path) -> None:
        """Do nothing: there are no stored tables."""

    def rows(
        self, stream: str, count: int, span: EventTimeSpan, sent_us: int, random: np.random.Generator
    ) -> pa.Table:
        """Make rows whose times rise evenly through the span; the last ones have the newest time and all `v`.

        Spark moves a query's watermark by the rows that pass its filter and by no others. So each file ends with a
        row for every hundredth of the values: then a file closes the same windows in all systems.
        """
        last = min(SWEEP, count)
        times = np.linspace(span.first, span.end - 1, count).astype(np.int64)
        times[-last:] = span.end - 1
        values = random.integers(0, VALUES, count, dtype=np.int32)
        values[-last:] = (np.arange(last) + 0.5) * (VALUES / last)
        return pa.table(
            {
                "t": pa.array(times, pa.timestamp("us", tz="UTC")),
                "k": random.integers(0, self.set.keys, count, dtype=np.int32),
                "v": values,
                "x": random.integers(0, AMOUNTS, count, dtype=np.int32),
            }
        )
