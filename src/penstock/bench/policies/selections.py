"""Thirty queries over one bursty stream: some cost a microsecond per row, some a hundred times that.

Every row has `v` and `w` between 0 and 9,999, so that ``v < 500`` passes a twentieth. Expensive queries join
with a stored table by two comparisons, which reads every row of the table, or nested functions; both come before
the filter, so that cost and selectivity are independent.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.bench.policies.workload import DIGEST, Workload, nested_md5

BANDS = (1_000, 10_000, 80_000)
"""Rows of the stored tables that are joined by comparison."""


def selections() -> Workload:
    """Return thirty selections, none of which shares anything with another."""
    return Workload("selections", _queries(), 999, {f"bands{size}": _bands(size) for size in BANDS})


def _bands(size: int) -> pa.Table:
    """Return bands of equal width that cover 0 to 9,999."""
    lows = np.linspace(0, 10_000, size, endpoint=False).astype(np.int32)
    highs = np.append(lows[1:], 10_000).astype(np.int32)
    return pa.table({"low": lows, "high": highs, "number": np.arange(size, dtype=np.int32)})


def _queries() -> Mapping[str, str]:
    """Return the queries by name, which begins with their cost: light, middling, heavy."""
    light = {
        f"light{most}": f"SELECT k, v FROM s WHERE v < {most}" for most in (20, 100, 500, 1000, 2500, 5000, 9000)
    }
    light |= {f"light_w{most}": f"SELECT k + w AS sum, v FROM s WHERE w < {most}" for most in (50, 300, 4000)}
    middling = {
        f"middling{depth}": f"SELECT k, w FROM s WHERE w + length({nested_md5(depth)}) < {most + DIGEST}"
        for depth, most in (
            (4, 8000),
            (8, 3000),
            (12, 1000),
            (16, 500),
            (20, 200),
            (24, 6000),
            (30, 100),
            (36, 2000),
        )
    }
    heavy = {
        f"heavy{size}_{most}": (
            f"SELECT s.k, b.number FROM s JOIN bands{size} b ON s.v >= b.low AND s.v < b.high "
            f"WHERE s.w + b.number % 2 < {most}"
        )
        for size in BANDS
        for most in (100, 1000, 4000, 10_000)
    }
    return {**light, **middling, **heavy}
