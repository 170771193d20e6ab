"""Filters that differ only in their constants: ``v >= lo AND v < hi``, each passing the same share of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.bench.stock.workload import BenchQuery, BenchStream, Columns, EventTimeSpan

VALUES = 10_000
"""`v` is uniform in 0 … 9,999."""

_STEP = 1009
"""Coprime to all ranges of `lo` in use, so that queries have distinct constants, far apart from each other."""


@dataclass(frozen=True)
class Filters:
    """`count` filters of one selectivity on one stream."""

    count: int
    selectivity: float = 0.01

    @cached_property
    def constants(self) -> list[tuple[int, int]]:
        """`lo` and `hi` of every query.

        >>> Filters(3).constants
        [(0, 100), (1009, 1109), (2018, 2118)]
        """
        width = round(VALUES * self.selectivity)
        starts = [i * _STEP % (VALUES - width) for i in range(self.count)]
        return [(lo, lo + width) for lo in starts]

    @property
    def streams(self) -> tuple[BenchStream, ...]:
        """One stream; the time of a row is its arrival."""
        return (BenchStream("s", "k INT, v INT, sent BIGINT"),)

    @property
    def tables(self) -> Mapping[str, str]:
        """No tables."""
        return {}

    @cached_property
    def queries(self) -> tuple[BenchQuery, ...]:
        """The filters."""
        texts = [f"SELECT k, v, sent FROM s WHERE v >= {lo} AND v < {hi}" for lo, hi in self.constants]
        return tuple(BenchQuery(f"q{i}", ("s",), text, text) for i, text in enumerate(texts))

    def store(self, folder: Path) -> None:
        """Do nothing: there are no tables."""

    def rows(
        self, stream: str, count: int, span: EventTimeSpan, sent_us: int, random: np.random.Generator
    ) -> pa.Table:
        """Make rows with uniform `v`."""
        return pa.table(
            {
                "k": random.integers(0, 100, count, dtype=np.int32),
                "v": random.integers(0, VALUES, count, dtype=np.int32),
                "sent": np.full(count, sent_us, dtype=np.int64),
            }
        )

    def expected(self, rows: Mapping[str, Columns]) -> dict[str, int]:
        """Count the rows between the constants, from how often each value occurs."""
        below = np.concatenate([[0], np.cumsum(np.bincount(rows["s"]["v"].astype(np.int64), minlength=VALUES))])
        return {f"q{i}": int(below[hi] - below[lo]) for i, (lo, hi) in enumerate(self.constants)}
