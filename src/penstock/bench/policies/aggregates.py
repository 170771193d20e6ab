"""Twenty aggregates over windows and twenty filters over one bursty stream, no two of the same cost.

Slides of windows of time are multiples of each other: every eight seconds all of them close at the same instant.
Groups are ``k % n``, for n from 4 to 4,000. Nested digests make rows expensive; sets of distinct values and many
groups make closes expensive.
"""

from dataclasses import dataclass

from penstock.bench.policies.workload import DIGEST, Workload, nested_md5

DEEPEST = 32
"""Calls that an expression may nest."""
K_VALUES = 4_000
"""`k` is uniform in 0 … 3,999; so is ``k % n`` in 0 … n − 1 where n divides 4,000."""
_SECONDS, _ROWS = "SECONDS", "ROWS"


@dataclass(frozen=True)
class _Windows:
    size: int
    slide: int
    unit: str = _SECONDS

    @property
    def sql(self) -> str:
        if self.unit == _ROWS:
            return f"[ROWS {self.size} SLIDE {self.slide}]"
        return f"[RANGE {self.size} SECONDS SLIDE {self.slide} SECONDS]"


@dataclass(frozen=True)
class _Aggregate:
    """An aggregate: its windows and groups, the digests per row, and what its closes compute."""

    windows: _Windows
    groups: int
    digests: int = 0
    most: int = 10_000
    """Rows with ``v`` below this are summed up."""
    what: str = "sum(w)"
    having: str = ""

    @property
    def sql(self) -> str:
        rows = [f"v < {self.most}"] if self.most < 10_000 else []
        if self.digests:
            rows.append(_below(10_000, self.digests))
        where = f" WHERE {' AND '.join(rows)}" if rows else ""
        having = f" HAVING {self.having}" if self.having else ""
        return (
            f"SELECT k % {self.groups} AS key, count(*) AS n, {self.what} AS x, window_end "
            f"FROM s {self.windows.sql}{where} GROUP BY k % {self.groups}{having}"
        )


_TWO, _FOUR, _EIGHT = _Windows(2, 2), _Windows(4, 4), _Windows(8, 8)
_FOUR_BY_TWO, _EIGHT_BY_TWO, _EIGHT_BY_FOUR = _Windows(4, 2), _Windows(8, 2), _Windows(8, 4)
_DISTINCT = "count(DISTINCT w)"
_AGGREGATES = (
    _Aggregate(_TWO, 4),
    _Aggregate(_TWO, 50, digests=80, most=500),
    _Aggregate(_TWO, 1000, digests=8, having="n > 5"),
    _Aggregate(_TWO, 2000, digests=24, what="avg(w)"),
    _Aggregate(_FOUR_BY_TWO, 8, digests=40),
    _Aggregate(_FOUR_BY_TWO, 200, what="max(w)"),
    _Aggregate(_FOUR_BY_TWO, 4000, most=3000),
    _Aggregate(_EIGHT_BY_TWO, 5, digests=128, most=2000),
    _Aggregate(_EIGHT_BY_TWO, 500, what=_DISTINCT),
    _Aggregate(_FOUR, 10, digests=16, what="stddev(w)"),
    _Aggregate(_FOUR, 100, most=100),
    _Aggregate(_FOUR, 800, digests=56),
    _Aggregate(_EIGHT_BY_FOUR, 16, digests=96),
    _Aggregate(_EIGHT_BY_FOUR, 250, most=5000, what=_DISTINCT, having="n > 40"),
    _Aggregate(_EIGHT, 20, digests=32),
    _Aggregate(_EIGHT, 4000, digests=4),
    _Aggregate(_Windows(1000, 1000, _ROWS), 25, digests=12),
    _Aggregate(_Windows(4000, 1000, _ROWS), 400, digests=48),
    _Aggregate(_Windows(5000, 5000, _ROWS), 125, most=8000, what=_DISTINCT),
    _Aggregate(_Windows(20_000, 5000, _ROWS), 40, digests=72),
)
_LIGHT = (20, 150, 500, 1000, 2000, 3500, 5500, 6500, 7500, 9500)
"""``v`` below this passes a light filter."""
_HEAVY = (
    (8, 9000), (16, 200), (24, 4000), (32, 50), (48, 7000),
    (64, 1000), (80, 100), (96, 5000), (112, 500), (128, 2000),
)  # fmt: skip
"""Digests per row of a heavy filter, and what passes."""


def aggregates() -> Workload:
    """Return twenty aggregates and twenty filters."""
    summed = {f"aggregate{place}_{each.groups}": each for place, each in enumerate(_AGGREGATES, 1)}
    return Workload(
        "aggregates",
        {name: each.sql for name, each in summed.items()} | _filters(),
        K_VALUES - 1,
        groups={name: each.groups for name, each in summed.items()},
        begins_with_costs=True,
        quickest="brt",
    )


def _filters() -> dict[str, str]:
    """Return the filters by name, which begins with their cost."""
    light = {f"light{most}": f"SELECT k, v FROM s WHERE v < {most}" for most in _LIGHT}
    heavy = {f"heavy{digests}": f"SELECT k, w FROM s WHERE {_below(most, digests)}" for digests, most in _HEAVY}
    return {**light, **heavy}


def _below(most: int, digests: int) -> str:
    """Return the condition that `w` is below a number; it costs as much as so many digests.

    >>> _below(50, 2)
    'w + length(md5(md5(name))) < 82'
    """
    depths = [min(DEEPEST, digests - done) for done in range(0, digests, DEEPEST)]
    texts = ["name", *(f"concat(name, '{place}')" for place in range(1, len(depths)))]
    lengths = [f"length({nested_md5(depth, text)})" for depth, text in zip(depths, texts, strict=True)]
    return f"w + {' + '.join(lengths)} < {most + DIGEST * len(lengths)}"
