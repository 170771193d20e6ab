"""Forty queries of which no two are alike: filters and projections, stored-table joins, two-stream window joins.

Each query stands here once as SQL and once as numpy computes it. Stock gets its window joins as an interval
join: both rows within a number of seconds of each other, which is what two RANGE windows mean.

The last row of every file is a heartbeat: it has the newest time of the file and joins with nothing. In Penstock,
a row waits until the watermarks of the other streams have reached its time; the heartbeat advances them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.bench.stock.workload import BenchQuery, BenchStream, Columns, EventTimeSpan

KEYS = 1000
GROUPS = 20
WORDS = 100
WATERMARK = "1 second"
"""The delay of stock's watermark: files come in order, so no row is late."""

Mask = Callable[[Any], npt.NDArray[np.bool_]]
"""Whether a row passes; columns are attributes of its argument."""


class Row:
    """Columns as attributes."""

    def __init__(self, columns: Columns) -> None:
        self.__dict__.update(columns)


@dataclass(frozen=True)
class StreamFilter:
    """A filter and projection of a stream."""

    stream: str
    select: str
    where: str
    mask: Mask


@dataclass(frozen=True)
class TableLookup:
    """A join of a stream with the stored table `h`, on `k`."""

    stream: str
    select: str
    where: str
    mask: Mask


@dataclass(frozen=True)
class WindowJoin:
    """A window join: keys, the seconds that rows of `a` and of `b` stay, conditions on each."""

    select: str
    keys: tuple[str, ...]
    a_stays: int
    b_stays: int
    where_a: str
    mask_a: Mask
    where_b: str
    mask_b: Mask


FILTERS = (
    StreamFilter("a", "k, x", "x < 500", lambda r: r.x < 500),
    StreamFilter("a", "k, y", "y >= 9000 AND g = 3", lambda r: (r.y >= 9000) & (r.g == 3)),
    StreamFilter("a", "x + y AS total", "x + y > 19000", lambda r: r.x + r.y > 19000),
    StreamFilter("a", "k, g, x", "g IN (1, 4, 9) AND x < 1500", lambda r: np.isin(r.g, [1, 4, 9]) & (r.x < 1500)),
    StreamFilter("a", "w, x", "w LIKE 'w1%' AND x > 8000", lambda r: _tens(r.w, 1) & (r.x > 8000)),
    StreamFilter("a", "upper(w) AS word, y", "w = 'w07'", lambda r: r.w == "w07"),
    StreamFilter("a", "k, x - y AS gap", "x > y AND x - y < 200", lambda r: (r.x > r.y) & (r.x - r.y < 200)),
    StreamFilter("a", "k, abs(x - y) AS away", "abs(x - y) > 9500", lambda r: np.abs(r.x - r.y) > 9500),
    StreamFilter("a", "k, x, y, g", "k BETWEEN 100 AND 119", lambda r: (r.k >= 100) & (r.k <= 119)),
    StreamFilter("a", "k, x * 2 AS twice", "x % 50 = 7", lambda r: r.x % 50 == 7),
    StreamFilter("b", "k, z", "z > 9800", lambda r: r.z > 9800),
    StreamFilter("b", "z, g", "g = 11 AND z < 4000", lambda r: (r.g == 11) & (r.z < 4000)),
    StreamFilter("b", "k, greatest(z, 9000) AS top", "k < 30", lambda r: r.k < 30),
    StreamFilter(
        "b", "concat(v, '-', v) AS twin", "v = 'w42' OR v = 'w43'", lambda r: (r.v == "w42") | (r.v == "w43")
    ),
    StreamFilter("b", "CASE WHEN z < 100 THEN 'low' ELSE 'mid' END AS band", "z < 200", lambda r: r.z < 200),
    StreamFilter("b", "k, k + z AS moved", "k + z < 600 AND g <> 0", lambda r: (r.k + r.z < 600) & (r.g != 0)),
)
LOOKUPS = (
    TableLookup("a", "h.owner, s.x", "s.x < 600", lambda r: r.x < 600),
    TableLookup("a", "h.owner, s.y, s.g", "h.level = 3 AND s.y > 7000", lambda r: (r.level == 3) & (r.y > 7000)),
    TableLookup("a", "h.cap, s.x", "s.x > h.cap + 8500", lambda r: r.x > r.cap + 8500),
    TableLookup("a", "h.owner, s.w", "h.owner = 'o5' AND s.g < 4", lambda r: (r.owner == "o5") & (r.g < 4)),
    TableLookup("a", "s.k, h.cap - s.y AS room", "h.cap - s.y > 8800", lambda r: r.cap - r.y > 8800),
    TableLookup("a", "h.level, s.x", "h.cap < 300 AND s.x > 2000", lambda r: (r.cap < 300) & (r.x > 2000)),
    TableLookup("a", "h.level, s.k", "s.g = h.level AND s.x < 4000", lambda r: (r.g == r.level) & (r.x < 4000)),
    TableLookup("a", "h.cap * 2 AS two", "s.w LIKE 'w9%' AND h.level > 7",
                lambda r: _tens(r.w, 9) & (r.level > 7)),
    TableLookup("b", "h.owner, s.z", "s.z > 9700", lambda r: r.z > 9700),
    TableLookup("b", "h.cap, s.z, s.k", "s.z = h.cap OR s.z = 77", lambda r: (r.z == r.cap) | (r.z == 77)),
    TableLookup("b", "h.level, s.v", "h.level IN (2, 6) AND s.g = 5",
                lambda r: np.isin(r.level, [2, 6]) & (r.g == 5)),
    TableLookup("b", "h.owner, s.z + h.cap AS total", "s.z + h.cap > 18800", lambda r: r.z + r.cap > 18800),
)  # fmt: skip
JOINS = (
    WindowJoin("a.k, a.x, b.z", ("k",), 5, 5, "a.x < 1000", lambda r: r.x < 1000,
               "b.z < 2000", lambda r: r.z < 2000),
    WindowJoin("a.k, a.y", ("k",), 2, 2, "a.y > 8000", lambda r: r.y > 8000, "b.z > 8000", lambda r: r.z > 8000),
    WindowJoin("a.x, b.g", ("k",), 10, 10, "a.g = 2", lambda r: r.g == 2, "b.z < 1000", lambda r: r.z < 1000),
    WindowJoin("a.k, b.z", ("k", "g"), 10, 10, "a.x > 2000", lambda r: r.x > 2000,
               "b.z > 500", lambda r: r.z > 500),
    WindowJoin("a.w, b.v", ("k",), 3, 3, "a.w LIKE 'w2%'", lambda r: _tens(r.w, 2), "b.z > 0", lambda r: r.z > 0),
    WindowJoin("a.x + b.z AS total", ("k",), 1, 4, "a.x < 3000", lambda r: r.x < 3000,
               "b.g < 5", lambda r: r.g < 5),
    WindowJoin("a.k, b.v", ("k",), 6, 1, "a.y < 2500", lambda r: r.y < 2500,
               "b.v LIKE 'w3%'", lambda r: _tens(r.v, 3)),
    WindowJoin("a.g, b.g AS h", ("k",), 4, 4, "a.x > a.y", lambda r: r.x > r.y,
               "b.z > 9000", lambda r: r.z > 9000),
    WindowJoin("a.y - b.z AS gap", ("k",), 8, 2, "a.g = 7", lambda r: r.g == 7, "b.g = 7", lambda r: r.g == 7),
    WindowJoin("a.k, a.g", ("k", "g"), 20, 20, "a.y > 100", lambda r: r.y > 100, "b.k < 500", lambda r: r.k < 500),
    WindowJoin("a.x, a.y, b.z", ("k",), 1, 1, "a.k < 400", lambda r: r.k < 400,
               "b.z < 5000", lambda r: r.z < 5000),
    WindowJoin("b.z * 2 AS two", ("k",), 7, 7, "a.x % 10 = 3", lambda r: r.x % 10 == 3,
               "b.g = 1", lambda r: r.g == 1),
)  # fmt: skip


class Mixed:
    """The forty, over streams `a` and `b` with event times, and a stored table `h`."""

    streams = (
        BenchStream("a", "t TIMESTAMP, k INT, g INT, x INT, y INT, w STRING, sent BIGINT", timestamp="t"),
        BenchStream("b", "t TIMESTAMP, k INT, g INT, z INT, v STRING, sent BIGINT", timestamp="t"),
    )
    tables: Mapping[str, str] = {"h": "k INT, owner STRING, level INT, cap INT"}

    def __init__(self) -> None:
        random = np.random.default_rng(5)
        self._stored: Columns = {
            "k": np.arange(KEYS, dtype=np.int32),
            "owner": np.array([f"o{i % 40}" for i in range(KEYS)], dtype=object),
            "level": random.integers(0, 10, KEYS, dtype=np.int32),
            "cap": random.integers(0, 10_000, KEYS, dtype=np.int32),
        }
        self.queries = tuple(
            [_filter_query(f"f{i}", query) for i, query in enumerate(FILTERS)]
            + [_lookup_query(f"l{i}", query) for i, query in enumerate(LOOKUPS)]
            + [join_query(f"j{i}", query) for i, query in enumerate(JOINS)]
        )

    def store(self, folder: Path) -> None:
        """Write `h`."""
        pq.write_table(pa.table(dict(self._stored)), folder / "h.parquet")

    def rows(
        self, stream: str, count: int, span: EventTimeSpan, sent_us: int, random: np.random.Generator
    ) -> pa.Table:
        """Make rows whose times rise evenly through the span, the heartbeat last."""
        times = np.linspace(span.first, span.end - 2, count).astype(np.int64)
        times[-1] = span.end - 1
        made: dict[str, Any] = {
            "t": pa.array(times, pa.timestamp("us", tz="UTC")),
            "k": random.integers(0, KEYS, count, dtype=np.int32),
            "g": random.integers(0, GROUPS, count, dtype=np.int32),
        }
        made["k"][-1] = -1 if stream == "a" else -2
        words = np.array([f"w{i:02d}" for i in range(WORDS)], dtype=object)[random.integers(0, WORDS, count)]
        for name in ("x", "y") if stream == "a" else ("z",):
            made[name] = random.integers(0, 10_000, count, dtype=np.int32)
        made["w" if stream == "a" else "v"] = words
        made["sent"] = np.full(count, sent_us, dtype=np.int64)
        return pa.table(made)

    def expected(self, rows: Mapping[str, Columns]) -> dict[str, int]:
        """Count by numpy."""
        joined = {name: _looked_up(columns, self._stored) for name, columns in rows.items()}
        counts = {f"f{i}": int(each.mask(Row(rows[each.stream])).sum()) for i, each in enumerate(FILTERS)}
        counts |= {f"l{i}": int(each.mask(Row(joined[each.stream])).sum()) for i, each in enumerate(LOOKUPS)}
        counts |= {f"j{i}": pairs(each, rows["a"], rows["b"]) for i, each in enumerate(JOINS)}
        return counts


def _tens(words: npt.NDArray[Any], digit: int) -> npt.NDArray[np.bool_]:
    return np.isin(words, [f"w{digit}{unit}" for unit in range(10)])


def _filter_query(name: str, query: StreamFilter) -> BenchQuery:
    text = f"SELECT {query.select}, sent FROM {query.stream} WHERE {query.where}"
    return BenchQuery(name, (query.stream,), text, text)


def _lookup_query(name: str, query: TableLookup) -> BenchQuery:
    text = f"SELECT {query.select}, s.sent FROM {query.stream} AS s JOIN h ON s.k = h.k WHERE {query.where}"
    return BenchQuery(name, (query.stream,), text, text)


def join_query(name: str, query: WindowJoin) -> BenchQuery:
    """Return a window join as SQL for Penstock and for stock."""
    select = f"SELECT {query.select}, greatest(a.sent, b.sent) AS sent"
    where = " AND ".join([*(f"a.{key} = b.{key}" for key in query.keys), query.where_a, query.where_b])
    older, newer = f"{query.a_stays} SECONDS", f"{query.b_stays} SECONDS"
    penstock = f"{select} FROM a [RANGE {older}] AS a, b [RANGE {newer}] AS b WHERE {where}"
    # A row of `a` must not be more than `a_stays` older than the row of `b`, and the other way round
    within = f"a.t >= b.t - INTERVAL {older} AND a.t <= b.t + INTERVAL {newer} AND {where}"
    return BenchQuery(name, ("a", "b"), penstock, f"{select} FROM a JOIN b ON {within}")


def _looked_up(columns: Columns, stored: Columns) -> Columns:
    """Join with the stored table, whose keys are 0, 1, 2 …"""
    found = columns["k"].astype(np.int64) >= 0
    keys = columns["k"][found].astype(np.int64)
    matches = {name: column[keys] for name, column in stored.items() if name != "k"}
    return {**{name: column[found] for name, column in columns.items()}, **matches}


def pairs(join: WindowJoin, a: Columns, b: Columns) -> int:
    """Count pairs with equal keys and near times: for each row of `b`, a range in `a` ordered by key and time."""
    left, right = join.mask_a(Row(a)), join.mask_b(Row(b))
    a_keys, b_keys = (_key(rows, join.keys)[mask] for rows, mask in ((a, left), (b, right)))
    a_times, b_times = (rows["t"].astype(np.int64)[mask] for rows, mask in ((a, left), (b, right)))
    if not len(a_times) or not len(b_times):
        return 0
    older, newer = join.a_stays * 1_000_000, join.b_stays * 1_000_000
    start = min(a_times.min(), b_times.min()) - older
    width = max(a_times.max(), b_times.max()) - start + newer + 1
    places = np.sort(a_keys * width + (a_times - start))
    own = b_keys * width + (b_times - start)
    counts = np.searchsorted(places, own + newer, "right") - np.searchsorted(places, own - older, "left")
    return int(counts.sum())


def _key(rows: Columns, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """Return one number for a key of one or two columns; those of the heartbeats are negative."""
    key = rows[names[0]].astype(np.int64)
    return key * GROUPS + rows["g"].astype(np.int64) if len(names) == 2 else key
