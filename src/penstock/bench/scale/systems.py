"""The systems: each drains the files of a folder into another folder, in a warm session."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.bench.scale.case import OURS
from penstock.bench.scale.query_set import TABLE, TABLE_COLUMNS, QuerySet
from penstock.bench.stock.stock_systems import stock_session
from penstock.errors import RunError
from penstock.spark import started
from penstock.spark.session import spark_session

UI: Mapping[str, str] = {
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.sql.ui.retainedExecutions": "5000",
}
"""All systems have Spark's status page, which says how many files jobs read."""


@dataclass(frozen=True)
class DrainTask:
    """What is drained: queries over the files of a folder. `settings` are Penstock's."""

    queries: QuerySet
    folder: Path
    file_format: str
    settings: Mapping[str, str]
    has_state: bool = False


@contextmanager
def opened_session(
    system: str, heap: str, master: str | None, settings: Mapping[str, str]
) -> Iterator[SparkSession]:
    """Open the session of a system: Penstock's own way, or Spark's defaults."""
    if system in OURS:
        with spark_session(master, settings={"spark.driver.memory": heap, **UI, **settings}) as spark:
            yield spark
    else:
        with stock_session(heap, master=master or "local[*]", settings={**UI, **settings}) as spark:
            yield spark


def penstock(spark: SparkSession, task: DrainTask, out: Path) -> float:
    """Run a script to its end; return when all results were committed. They are published after that."""
    script = task.queries.script(task.folder, task.file_format, {"publish": "0 s", **task.settings})
    state = out.with_name(f"{out.name}-state") if task.has_state else None
    with started(script, drain=True, out=out, state=state, spark=spark) as running:
        with suppress(RunError):  # the run may have ended before it was asked
            running.settle()
        committed = time.perf_counter()
        summary = running.wait()
    if summary.failed:
        raise RunError(f"{summary.failed[0]}: {summary.queries[summary.failed[0]].reason}")
    if state is not None:
        shutil.rmtree(state)
    return committed


def batch(spark: SparkSession, task: DrainTask, out: Path) -> None:
    """Run one batch job over all files; many filters are a join with the table of their constants."""
    for stream in task.queries.streams:
        _reader(spark.read.schema(stream.columns), task, stream.name).createOrReplaceTempView(stream.name)
    _see_table(spark, task)
    _in_one_pass(spark, task.queries).write.parquet(str(out / "all"))


def each(spark: SparkSession, task: DrainTask, out: Path) -> None:
    """Run a streaming query for every query; each takes all files in one micro-batch."""
    _see_streams(spark, task)
    started = []
    for name, select in task.queries.spark().items():
        writer = spark.sql(select).writeStream.format("parquet").option("path", str(out / name))
        writer = writer.option("checkpointLocation", str(out / "_checkpoints" / name))
        started.append(writer.trigger(availableNow=True).start())
    for query in started:
        query.awaitTermination()


def grouped(spark: SparkSession, task: DrainTask, out: Path) -> None:
    """Run one streaming query whose foreachBatch joins all files with the constants, and writes once."""
    _see_streams(spark, task)

    def write(rows: DataFrame, number: int) -> None:
        rows.createOrReplaceTempView("s")
        joined = _in_one_pass(rows.sparkSession, task.queries)
        joined.write.mode("overwrite").parquet(str(out / f"batch={number}"))

    writer = (
        spark.table("s").writeStream.foreachBatch(write).option("checkpointLocation", str(out / "_checkpoint"))
    )
    writer.trigger(availableNow=True).start().awaitTermination()


DRAINS: Mapping[str, Callable[[SparkSession, DrainTask, Path], float | None]] = {
    "penstock": penstock,
    "penstock-state": penstock,
    "batch": batch,
    "each": each,
    "grouped": grouped,
}
"""How each system drains; it returns when all results were there, if that was before its end."""


def _in_one_pass(spark: SparkSession, queries: QuerySet) -> DataFrame:
    """Return the results of all queries; those of several have the query's number in a column."""
    if len(queries.spark()) == 1:
        return spark.sql(queries.spark()["q0"])
    rows = [(number, low, high) for number, (low, high) in enumerate(queries.constants)]
    constants = F.broadcast(spark.createDataFrame(rows, "query INT, low INT, high INT"))
    joined = spark.table("s").join(constants, F.expr("v >= low AND v < high"))
    return joined.select("query", "k", "v", "word", "amount")


def _see_streams(spark: SparkSession, task: DrainTask) -> None:
    for stream in task.queries.streams:
        rows = _reader(spark.readStream.schema(stream.columns), task, stream.name)
        rows.createOrReplaceTempView(stream.name)
    _see_table(spark, task)


def _see_table(spark: SparkSession, task: DrainTask) -> None:
    table = spark.read.schema(TABLE_COLUMNS).parquet(str(task.folder / f"{TABLE}.parquet"))
    F.broadcast(table).createOrReplaceTempView(TABLE)


def _reader(reader: DataFrameReader | DataStreamReader, task: DrainTask, stream: str) -> DataFrame:
    if task.file_format == "csv":
        reader = reader.option("header", "true")
    return reader.format(task.file_format).load(str(task.folder / stream))
