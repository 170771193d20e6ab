"""Stock Structured Streaming: one streaming query each, and two ways to write fifty queries as one by hand.

All emit in append mode: a window's results come once, in the first micro-batch after the watermark has reached the
window's end. Spark runs a micro-batch without data for that if no data is there, which is its default.
"""

from collections.abc import Mapping
from math import gcd
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.bench.aggregates.query_set import STREAM, AggregateQuery
from penstock.bench.aggregates.workload import AggregateWorkload
from penstock.bench.stock.stock_systems import Stock

SETTINGS: Mapping[str, str] = {"spark.sql.streaming.noDataMicroBatches.enabled": "true"}
ROCKSDB: Mapping[str, str] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
_DELAY = {"spark.watermarkDelayMs": 0}
"""The mark by which Spark knows a column with event times. `window` sets it; its columns have one size only."""
_WINDOWS = (
    "explode(sequence((at - size) - pmod(at - size, slide) + slide, at - pmod(at, slide), slide)) AS window_us"
)
"""The beginnings of all windows of a size and a slide that hold a time `at`."""


class _Aggregates(Stock):
    """The stream with a watermark that has no delay: rows are in order."""

    watermark = "0 seconds"

    def __init__(self, spark: SparkSession, workload: AggregateWorkload, folder: Path) -> None:
        super().__init__(spark, workload, folder)
        self._aggregates = workload.aggregates
        self._see_streams(watermarks=True)

    def _finished(self, grouped: DataFrame, constants: DataFrame) -> DataFrame:
        """Return the results as all systems write them: HAVING, and both times of the window."""
        start = "timestamp_micros(unix_micros(window_end) - size) AS window_start"
        found = grouped.join(F.broadcast(constants.select("q", "size", "least")), "q").where("s >= least")
        return found.selectExpr("q", "k", "n", "s", start, "window_end")


class OneEach(_Aggregates):
    """A streaming query for every query; with FAIR scheduling, a pool for each."""

    def __init__(self, spark: SparkSession, workload: AggregateWorkload, folder: Path, *, fair: bool) -> None:
        super().__init__(spark, workload, folder)
        self._fair = fair

    def start(self) -> None:
        """Start them one after the other."""
        for query in self._workload.queries:
            if self._fair:
                self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
            self._to_files(self._spark.sql(query.stock), query.name)


class Joined(_Aggregates):
    """One streaming query that joins each row with the table of all queries' constants.

    A row meets every query whose filter it passes, is repeated for every window of the query that it is in, and is
    grouped by query, window and key. The state has the results themselves and nothing else, but every row is
    repeated hundreds of times before Spark aggregates the rows of a partition.
    """

    def start(self) -> None:
        """Start it."""
        constants = _constants(self._spark, self._aggregates)
        met = self._spark.table(STREAM).join(F.broadcast(constants), F.expr("v >= low AND v < high"))
        rows = met.selectExpr("q", "k", "x", "size", "slide", "unix_micros(t) AS at")
        rows = rows.selectExpr("q", "k", "x", "size", _WINDOWS).select("q", "k", "x", _window_end())
        grouped = rows.groupBy("q", "window_end", "k").agg(F.expr("count(*) AS n"), F.expr("sum(x) AS s"))
        self._to_files(self._finished(grouped, constants), "all")


class Panes(_Aggregates):
    """One streaming query of two aggregations, the first by the finest pane.

    The first groups rows by key and by the pane of which all windows consist; each filter of the queries is the
    condition of a count and a sum. When the watermark has passed a pane, its few rows are repeated for every query
    and every window of the query that the pane is in, and the second aggregation merges them.
    """

    def start(self) -> None:
        """Start it."""
        filters = list(dict.fromkeys((query.low, query.high) for query in self._aggregates))
        seconds = _finest_pane(self._aggregates)
        conditional = [
            F.expr(f"{aggregate} FILTER (WHERE v >= {low} AND v < {high}) AS {name}{number}")
            for number, (low, high) in enumerate(filters)
            for aggregate, name in (("count(*)", "n"), ("sum(x)", "s"))
        ]
        pane = F.window("t", f"{seconds} seconds").alias("pane")
        panes = self._spark.table(STREAM).groupBy(pane, "k").agg(*conditional)
        values = ", ".join(f"{number}, n{number}, s{number}" for number in range(len(filters)))
        parts = panes.selectExpr(
            "k", "unix_micros(pane.start) AS at", f"stack({len(filters)}, {values}) AS (filter, pane_n, pane_s)"
        )
        constants = _constants(self._spark, self._aggregates)
        numbers = self._spark.createDataFrame(
            [(number, *each) for number, each in enumerate(filters)], "filter INT, low INT, high INT"
        )
        queries = constants.join(numbers, ["low", "high"]).select("q", "filter", "size", "slide")
        rows = parts.where("pane_n > 0").join(F.broadcast(queries), "filter")
        rows = rows.selectExpr("q", "k", "pane_n", "pane_s", "size", _WINDOWS)
        rows = rows.select("q", "k", "pane_n", "pane_s", _window_end())
        merged = rows.groupBy("q", "window_end", "k").agg(F.expr("sum(pane_n) AS n"), F.expr("sum(pane_s) AS s"))
        self._to_files(self._finished(merged, constants), "all")


def _constants(spark: SparkSession, queries: list[AggregateQuery]) -> DataFrame:
    """Return the table of constants; without HAVING, every sum passes."""
    rows = [
        (each.number, each.low, each.high, each.size_s * 1_000_000, each.slide_s * 1_000_000, each.least or 0)
        for each in queries
    ]
    return spark.createDataFrame(rows, "q INT, low INT, high INT, size BIGINT, slide BIGINT, least BIGINT")


def _window_end() -> Column:
    """Return the end of a window as a time by which Spark closes groups."""
    return F.expr("timestamp_micros(window_us + size)").alias("window_end", metadata=_DELAY)


def _finest_pane(queries: list[AggregateQuery]) -> int:
    """Return the length in seconds of which all windows consist.

    >>> _finest_pane([AggregateQuery(0, 30, 15), AggregateQuery(1, 10, 10)])
    5
    """
    return gcd(*(each for query in queries for each in (query.size_s, query.slide_s)))
