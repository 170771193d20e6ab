"""Stock Structured Streaming, with the usual ways to run many queries on it."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.bench.loopback import LOOPBACK
from penstock.bench.stock.filters import Filters
from penstock.bench.stock.mixed import WATERMARK
from penstock.bench.stock.workload import BenchWorkload


@contextmanager
def stock_session(
    heap: str, *, fair: bool = False, master: str = "local[*]", settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Open a session with Spark's defaults, except for what the report lists and `settings`."""
    builder = (
        SparkSession.builder.master(master)
        .appName("penstock-bench")
        .config("spark.driver.memory", heap)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(os.cpu_count() or 1))
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        .config("spark.scheduler.mode", "FAIR" if fair else "FIFO")
    )
    loopback = LOOPBACK if master.startswith("local") else {}
    for key, value in {**loopback, **(settings or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


class Stock:
    """Base of all variants: sources and tables as views, sinks, and waiting until all is processed."""

    watermark = WATERMARK
    """The delay of the watermark of streams that have one."""

    def __init__(self, spark: SparkSession, workload: BenchWorkload, folder: Path) -> None:
        self._spark = spark
        self._workload = workload
        self._folder = folder
        self._queries: list[StreamingQuery] = []
        self._see_streams(watermarks=False)
        for name, columns in workload.tables.items():
            table = spark.read.schema(columns).parquet(str(folder / f"{name}.parquet"))
            F.broadcast(table).createOrReplaceTempView(name)

    def settle(self) -> None:
        """Return when everything that is there has been processed and committed."""
        for query in self._queries:
            query.processAllAvailable()

    def _see_streams(self, *, watermarks: bool) -> None:
        """Make views of the streams, with watermarks for window joins; other queries do without that cost."""
        for stream in self._workload.streams:
            frame = self._spark.readStream.schema(stream.columns).parquet(str(self._folder / "in" / stream.name))
            if watermarks and stream.timestamp is not None:
                frame = frame.withWatermark(stream.timestamp, self.watermark)
            frame.createOrReplaceTempView(stream.name)

    def _to_files(self, frame: DataFrame, name: str) -> None:
        writer = frame.writeStream.format("parquet").option("path", str(self._folder / "out" / name))
        self._queries.append(writer.option("checkpointLocation", self._checkpoint(name)).start())

    def _checkpoint(self, name: str) -> str:
        return str(self._folder / "checkpoints" / name)


class OneEach(Stock):
    """A streaming query for every query; with FAIR scheduling, a pool for each."""

    def __init__(self, spark: SparkSession, workload: BenchWorkload, folder: Path, *, fair: bool) -> None:
        super().__init__(spark, workload, folder)
        self._fair = fair

    def start(self) -> None:
        """Start them one after the other."""
        for is_join, queries in groupby(self._workload.queries, key=lambda query: len(query.reads) > 1):
            self._see_streams(watermarks=is_join)
            for query in queries:
                if self._fair:
                    self._spark.sparkContext.setLocalProperty("spark.scheduler.pool", query.name)
                self._to_files(self._spark.sql(query.stock), query.name)


class FanOut(Stock):
    """One streaming query whose foreachBatch keeps the batch and writes every filter's rows to its own folder."""

    def start(self) -> None:
        """Start it."""
        writer = self._spark.table("s").writeStream.foreachBatch(self._write)
        self._queries.append(writer.option("checkpointLocation", self._checkpoint("all")).start())

    def _write(self, batch: DataFrame, number: int) -> None:
        batch.persist()
        filters = _filters(self._workload)

        def write(place: tuple[int, tuple[int, int]]) -> None:
            index, (low, high) = place
            folder = self._folder / "out" / f"q{index}" / f"batch={number}"
            passed = batch.where((F.col("v") >= low) & (F.col("v") < high)).select("k", "v", "sent")
            passed.write.mode("overwrite").parquet(str(folder))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(write, enumerate(filters.constants)))
        batch.unpersist()


class Grouped(Stock):
    """One streaming query that joins the stream with the table of all queries' constants."""

    def start(self) -> None:
        """Start it."""
        rows = [(i, low, high) for i, (low, high) in enumerate(_filters(self._workload).constants)]
        constants = F.broadcast(self._spark.createDataFrame(rows, "q INT, low INT, high INT"))
        joined = self._spark.table("s").join(constants, F.expr("v >= low AND v < high"))
        self._to_files(joined.select("q", "k", "v", "sent"), "all")


def _filters(workload: BenchWorkload) -> Filters:
    assert isinstance(workload, Filters), "only filters that differ in constants can be grouped by hand"
    return workload
