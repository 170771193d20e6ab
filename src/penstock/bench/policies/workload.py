"""What all workloads of the benchmark share: one bursty stream, stored tables, a script, seeds of even load."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.workloads import Bursty, take

AGGREGATES, FILTERS = "aggregates", "filters"
"""Kinds of queries, where a workload has both."""
AT_ONCE = 1e7
"""Rows per second, of a backlog."""
STREAM = "s"
FLOWS = 8
"""As bursty as the Bellcore trace: counts in seconds deviate by a third of their mean (64 flows: by a tenth)."""
DIGEST = 32
"""Characters that md5 makes."""
STRAY = 0.05
"""A run's mean rate may differ from what is offered by this share."""


@dataclass(frozen=True)
class Input:
    """The input of a run: rows at a mean rate; at a higher `speed` they arrive faster, and have the same times."""

    rate: float
    rows: int
    seed: int
    speed: float = 1.0

    @classmethod
    def backlog(cls, rate: float, rows: int) -> "Input":
        """Return rows that arrive at once, with times as far apart as at this rate."""
        return cls(rate, rows, next(seeds(rate, rows)), AT_ONCE / rate)


@dataclass(frozen=True)
class Workload:
    """Queries over one stream of `k`, from 0 to `k_high`, `v` and `w`, from 0 to 9,999, and 200 names."""

    name: str
    queries: Mapping[str, str]
    k_high: int
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    """Stored tables; all their columns are INT."""
    groups: Mapping[str, int] = field(default_factory=dict)
    """The number of keys of each query with aggregates."""
    begins_with_costs: bool = False
    """Whether runs begin with measured costs; else they learn them from nothing."""
    quickest: str = "hr"
    """The policy whose average response must be below that of FIFO and round robin."""

    @property
    def kinds(self) -> Mapping[str, tuple[str, ...]]:
        """The queries of each kind; none if all are of one."""
        if not self.groups:
            return {}
        return {
            AGGREGATES: tuple(name for name in self.queries if name in self.groups),
            FILTERS: tuple(name for name in self.queries if name not in self.groups),
        }

    def write_tables(self, folder: Path) -> None:
        """Write the stored tables."""
        for name, table in self.tables.items():
            pq.write_table(table, folder / f"{name}.parquet")

    def script(self, folder: Path, given: Input, settings: str = "") -> str:
        """Return the script."""
        lines = [
            f"CREATE STREAM {STREAM} (k INT, v INT, w INT, name STRING) FROM bursty WITH "
            f"(rate = {given.rate:.3f}, rows = {given.rows}, seed = {given.seed}, flows = {FLOWS}, "
            f"speed = {given.speed:.3f}, "
            f"k_high = {self.k_high}, v_high = 9999, w_high = 9999, name_distinct = 200);"
        ]
        for name, table in self.tables.items():
            columns = ", ".join(f"{column} INT" for column in table.column_names)
            lines.append(f"CREATE TABLE {name} ({columns}) FROM parquet WITH (path = '{folder}/{name}.parquet');")
        lines += [f"CREATE QUERY {name} AS {select};" for name, select in self.queries.items()]
        return "\n".join([*lines, "SET groups = false;", settings])


def nested_md5(depth: int, text: str = "name") -> str:
    """Return an expression of so many digests of a text, each of the one before; it has 32 characters."""
    return "md5(" * depth + text + ")" * depth


def seeds(rate: float, rows: int) -> Iterator[int]:
    """Yield seeds with which the mean rate of `rows` rows is close to `rate`.

    Few flows may be above or below their mean for long, which would change the load.
    """
    for seed in count(1):
        if abs(take(Bursty(rate, FLOWS), seed, rows)[-1] * rate / rows - 1) <= STRAY:
            yield seed
