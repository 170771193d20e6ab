"""Results of a group, split by query on the executors: the driver only renames files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import SparkSession

from penstock.plan.group import QUERY
from penstock.plan.steps import ARRIVAL
from penstock.spark.paths import literal_path
from penstock.spark.session import slots_of


def split_by_query(spark: SparkSession, files: Sequence[Path], folder: Path) -> Mapping[str, Path]:
    """Split the files of a group by query; return one file for each query that has rows."""
    rows = spark.read.parquet(*map(literal_path, files)).drop(ARRIVAL)
    place = folder / "queries"
    rows.repartition(2 * slots_of(spark), QUERY).write.partitionBy(QUERY).parquet(str(place))
    found: dict[str, Path] = {}
    for path in place.glob(f"{QUERY}=*/part-*"):
        name = unquote(path.parent.name.removeprefix(f"{QUERY}="))
        if name in found:
            raise RuntimeError(f"the results of query {name} are in several files")
        found[name] = path
    return found
