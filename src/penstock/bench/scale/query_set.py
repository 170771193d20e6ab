"""The queries of a case, as SQL for Penstock and for Spark, and the stored table that some of them read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.bench.stock.filters import VALUES, Filters
from penstock.bench.stock.workload import BenchStream

COLUMNS = "k INT, v INT, word STRING, amount DOUBLE"
TABLE = "items"
TABLE_COLUMNS = "k INT, level INT, owner STRING"
TABLE_ROWS = 1_000
LEVEL = 3
"""The join with the stored table selects its rows of this level: a tenth of them."""
ROWS_PER_SECOND = 1_000
"""Rows per second of event time in each stream of a window join."""

Sum = tuple[int, int]
"""The number of results and the sum of their hashes."""


def row_hashes(
    first: "np.typing.NDArray[np.int32]", second: "np.typing.NDArray[np.int32]"
) -> "np.typing.NDArray[np.int64]":
    """Return a small number for each pair of values; sums of it are exact, also as floating-point numbers.

    >>> row_hashes(np.array([1, 70_000], np.int32), np.array([2, 5], np.int32)).tolist()
    [65, 7892]
    """
    return (first.astype(np.int64) * 31 + second.astype(np.int64) * 17) % 65_521


@dataclass(frozen=True)
class QuerySet:
    """Queries of one kind: `count` filters, a join with a stored table, or a join of two windows."""

    kind: str = "filters"
    count: int = 1
    window_rows: int = 0
    """Rows of one stream in a window."""

    @property
    def what(self) -> str:
        """The queries in words.

        >>> QuerySet("filters", 10).what, QuerySet("window", window_rows=5_000_000).what
        ('10 filters of 1 %', 'a join of windows of 5,000,000 rows')
        """
        if self.kind == "table":
            return "a join with a stored table"
        if self.kind == "window":
            return f"a join of windows of {self.window_rows:,} rows"
        return "1 filter of 1 %" if self.count == 1 else f"{self.count:,} filters of 1 %"

    @property
    def streams(self) -> tuple[BenchStream, ...]:
        """The streams that the queries read."""
        if self.kind == "window":
            return tuple(BenchStream(name, f"at TIMESTAMP, {COLUMNS}", "at") for name in ("a", "b"))
        return (BenchStream("s", COLUMNS),)

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns that a query needs of a row, apart from its time."""
        return ("k", "v") if self.kind == "window" else ("k", "v", "word", "amount")

    @property
    def hashed(self) -> tuple[str, str]:
        """The two columns of a result that are checked."""
        return ("v", "w") if self.kind == "window" else ("k", "v")

    @property
    def constants(self) -> list[tuple[int, int]]:
        """The bounds of each filter."""
        return Filters(self.count).constants

    def penstock(self) -> dict[str, str]:
        """Return the SELECT of each query in Penstock's language."""
        if self.kind == "window":
            window = f"[RANGE {self._window_s} SECONDS]"
            return {"q0": f"SELECT a.k, a.v, b.v AS w FROM a {window} AS a, b {window} AS b WHERE a.k = b.k"}
        return self._on_rows()

    def spark(self) -> dict[str, str]:
        """Return the SELECT of each query in Spark SQL. Two RANGE windows of V mean: at most V apart."""
        if self.kind == "window":
            apart = f"INTERVAL '{self._window_s}' SECOND"
            times = f"a.at >= b.at - {apart} AND b.at >= a.at - {apart}"
            return {"q0": f"SELECT a.k, a.v, b.v AS w FROM a JOIN b ON a.k = b.k AND {times}"}
        return self._on_rows()

    def _on_rows(self) -> dict[str, str]:
        if self.kind == "table":
            select = f"SELECT s.k, s.v, s.word, s.amount, h.owner FROM s JOIN {TABLE} AS h ON s.k = h.k"
            return {"q0": f"{select} WHERE h.level = {LEVEL}"}
        select = "SELECT k, v, word, amount FROM s"
        return {f"q{i}": f"{select} WHERE v >= {lo} AND v < {hi}" for i, (lo, hi) in enumerate(self.constants)}

    @property
    def _window_s(self) -> int:
        return self.window_rows // ROWS_PER_SECOND

    def script(self, folder: Path, file_format: str, settings: Mapping[str, str]) -> str:
        """Return the script for Penstock over the files of a folder."""
        lines = []
        for stream in self.streams:
            time_option = f", timestamp = '{stream.timestamp}'" if stream.timestamp else ""
            options = f"path = '{folder}/{stream.name}', format = '{file_format}'{time_option}"
            lines.append(f"CREATE STREAM {stream.name} ({stream.columns}) FROM files WITH ({options});")
        if self.kind == "table":
            where = f"FROM parquet WITH (path = '{folder}/{TABLE}.parquet')"
            lines.append(f"CREATE TABLE {TABLE} ({TABLE_COLUMNS}) {where};")
        lines += [f"CREATE QUERY {name} AS {select};" for name, select in self.penstock().items()]
        lines += [f"SET {name} = '{value}';" for name, value in settings.items()]
        return "\n".join(lines)


def stored_table() -> pa.Table:
    """Return the stored table: every tenth key, so that one row in a hundred joins with one of its level."""
    numbers = np.arange(TABLE_ROWS)
    return pa.table(
        {
            "k": (numbers * (VALUES // TABLE_ROWS)).astype(np.int32),
            "level": (numbers % 10).astype(np.int32),
            "owner": [f"owner {number % 37}" for number in numbers],
        }
    )


def store_table(folder: Path) -> None:
    """Write the stored table."""
    pq.write_table(stored_table(), folder / f"{TABLE}.parquet")
