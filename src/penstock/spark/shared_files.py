"""Whether executors reach the driver's files: those of streams to read, and the output folder to write."""

import shutil
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession

from penstock.sinks.parts import rows_in
from penstock.spark.job_errors import explained
from penstock.spark.paths import literal_path
from penstock.spark.session import slots_of


def is_local(spark: SparkSession) -> bool:
    """Whether executors run in the driver's own process, and so have its files."""
    try:
        return str(spark.sparkContext.master).startswith("local")
    except Exception:  # Connect has no context: its server may be anywhere
        return False


def why_unreadable(spark: SparkSession, file: Path) -> str | None:
    """Return why executors cannot read a file; None if they can."""
    if is_local(spark):
        return None
    try:
        spark.read.format("binaryFile").load(literal_path(file)).selectExpr("length").limit(1).toArrow()
    except Exception as error:
        return explained(error)
    return None


def can_write(spark: SparkSession, folder: Path) -> bool:
    """Whether what executors write to a folder appears there for the driver.

    There are more tasks than slots, so that every executor takes some: one may share the folder and another not.
    """
    if is_local(spark):
        return True
    place = Path(mkdtemp(prefix="job-", dir=folder))
    try:
        tasks = 2 * slots_of(spark)
        spark.range(0, tasks, 1, tasks).write.parquet(str(place / "rows"))
        return rows_in((place / "rows").glob("part-*.parquet")) == tasks
    except Exception:  # of any kind: then results are sent to the driver
        return False
    finally:
        shutil.rmtree(place, ignore_errors=True)
