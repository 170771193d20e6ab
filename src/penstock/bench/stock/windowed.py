"""One join of two windows of a given length: the cost of a probe by the length of the window."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.bench.stock.mixed import WindowJoin, join_query, pairs
from penstock.bench.stock.workload import BenchStream, Columns, EventTimeSpan


class Windowed:
    """A join on `k` of streams that have a thousand rows each in a second of event time.

    There are as many keys as rows in a window, so that a row finds one other on average, whatever the length.
    """

    streams = (
        BenchStream("a", "t TIMESTAMP, k INT, x INT, sent BIGINT", timestamp="t"),
        BenchStream("b", "t TIMESTAMP, k INT, z INT, sent BIGINT", timestamp="t"),
    )
    tables: Mapping[str, str] = {}

    def __init__(self, rows: int) -> None:
        if rows % 1000:
            raise ValueError(f"a window has whole thousands of rows, not {rows}")
        self._keys = rows
        seconds = rows // 1000
        self._join = WindowJoin(
            "a.k, a.x, b.z",
            ("k",),
            seconds,
            seconds,
            "a.k >= 0",
            lambda r: r.k >= 0,
            "b.k >= 0",
            lambda r: r.k >= 0,
        )
        self.queries = (join_query("j0", self._join),)

    def store(self, folder: Path) -> None:
        """Write nothing: there are no stored tables."""

    def rows(
        self, stream: str, count: int, span: EventTimeSpan, sent_us: int, random: np.random.Generator
    ) -> pa.Table:
        """Make rows whose times rise evenly through the span, the heartbeat last."""
        times = np.linspace(span.first, span.end - 2, count).astype(np.int64)
        times[-1] = span.end - 1
        keys = random.integers(0, self._keys, count, dtype=np.int32)
        keys[-1] = -1 if stream == "a" else -2
        return pa.table(
            {
                "t": pa.array(times, pa.timestamp("us", tz="UTC")),
                "k": keys,
                "x" if stream == "a" else "z": random.integers(0, 10_000, count, dtype=np.int32),
                "sent": np.full(count, sent_us, dtype=np.int64),
            }
        )

    def expected(self, rows: Mapping[str, Columns]) -> dict[str, int]:
        """Count by numpy."""
        return {"j0": pairs(self._join, rows["a"], rows["b"])}
