"""Thirty queries over one bursty stream: some cost a microsecond per row, some a hundred times that.

Every row has `v` and `w` between 0 and 9,999, so that ``v < 500`` passes a twentieth. Expensive queries join
with a stored table by two comparisons, which reads every row of the table, or nested functions; both come before
the filter, so that cost and selectivity are independent.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.workloads import Bursty, take

BANDS = (1_000, 10_000, 80_000)
"""Rows of the stored tables that are joined by comparison."""
FLOWS = 8
"""As bursty as the Bellcore trace: counts in seconds deviate by a third of their mean (64 flows: by a tenth)."""
DIGEST = 32
"""Characters that md5 makes."""
STRAY = 0.05
"""A run's mean rate may differ from what is offered by this share."""


def write_tables(folder: Path) -> None:
    """Write the stored tables: bands of equal width that cover 0 to 9,999."""
    for size in BANDS:
        lows = np.linspace(0, 10_000, size, endpoint=False).astype(np.int32)
        highs = np.append(lows[1:], 10_000).astype(np.int32)
        numbers = np.arange(size, dtype=np.int32)
        pq.write_table(pa.table({"low": lows, "high": highs, "number": numbers}), folder / f"bands{size}.parquet")


def script(folder: Path, *, rate: float, rows: int, seed: int, settings: str = "") -> str:
    """Return the script; the stream ends after `rows` rows."""
    lines = [
        "CREATE STREAM s (k INT, v INT, w INT, name STRING) FROM bursty WITH "
        f"(rate = {rate:.3f}, rows = {rows}, seed = {seed}, flows = {FLOWS}, "
        "k_high = 999, v_high = 9999, w_high = 9999, name_distinct = 200);"
    ]
    lines += [
        f"CREATE TABLE bands{size} (low INT, high INT, number INT) "
        f"FROM parquet WITH (path = '{folder}/bands{size}.parquet');"
        for size in BANDS
    ]
    lines += [f"CREATE QUERY {name} AS {select};" for name, select in queries().items()]
    return "\n".join([*lines, "SET groups = false;", settings])


def seeds(rate: float, rows: int) -> Iterator[int]:
    """Yield seeds with which the mean rate of `rows` rows is close to `rate`.

    Few flows may be above or below their mean for long, which would change the load.
    """
    for seed in count(1):
        if abs(take(Bursty(rate, FLOWS), seed, rows)[-1] * rate / rows - 1) <= STRAY:
            yield seed


def queries() -> dict[str, str]:
    """Return the queries by name, which begins with their cost: light, middling, heavy."""
    light = {
        f"light{most}": f"SELECT k, v FROM s WHERE v < {most}" for most in (20, 100, 500, 1000, 2500, 5000, 9000)
    }
    light |= {f"light_w{most}": f"SELECT k + w AS sum, v FROM s WHERE w < {most}" for most in (50, 300, 4000)}
    middling = {}
    for depth, most in ((4, 8000), (8, 3000), (12, 1000), (16, 500), (20, 200), (24, 6000), (30, 100), (36, 2000)):
        made = "name"
        for _ in range(depth):
            made = f"md5({made})"
        middling[f"middling{depth}"] = f"SELECT k, w FROM s WHERE w + length({made}) < {most + DIGEST}"
    heavy = {
        f"heavy{size}_{most}": (
            f"SELECT s.k, b.number FROM s JOIN bands{size} b ON s.v >= b.low AND s.v < b.high "
            f"WHERE s.w + b.number % 2 < {most}"
        )
        for size in BANDS
        for most in (100, 1000, 4000, 10_000)
    }
    return {**light, **middling, **heavy}
