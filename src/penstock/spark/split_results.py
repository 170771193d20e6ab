"""Results of a group, split by query on the executors: the driver only renames files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.plan.group import QUERY
from penstock.plan.steps import ARRIVAL
from penstock.spark.session import slots_of
from penstock.spark.sources.paths import for_spark
from penstock.spark.write_results import files_by_query


def split_by_query(spark: SparkSession, files: Sequence[Path], folder: Path) -> Mapping[str, Path]:
    """Split the files of a group by query; return one file for each query that has rows."""
    rows = spark.read.parquet(*map(for_spark, files)).drop(ARRIVAL)
    place = folder / "queries"
    rows.repartition(2 * slots_of(spark), QUERY).write.partitionBy(QUERY).parquet(str(place))
    found = files_by_query(place)
    if any(len(paths) > 1 for paths in found.values()):
        raise RuntimeError("the results of a query are in several files")
    return {name: path for name, (path,) in found.items()}
