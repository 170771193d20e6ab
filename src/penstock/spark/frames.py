"""What jobs are joined with beside the streams: stored tables, and the constants of groups."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.language.names import named
from penstock.plan.columns import spark_type
from penstock.plan.range_bins import binned
from penstock.plan.steps import Lookup


def arrow_frame(spark: SparkSession, table: pa.Table, partitions: int = 1) -> DataFrame:
    """Return an Arrow table as Spark's, in so many partitions.

    One without rows is written as a query that finds none: Connect takes no empty table, classic Spark would start
    Python workers for it, and from this Spark sees that nothing can come of it.
    """
    if table.num_rows:
        return spark.createDataFrame(cut(table, partitions))
    columns = [named(f"CAST(NULL AS {spark_type(field.type)})", field.name) for field in table.schema]
    return spark.sql(f"SELECT {', '.join(columns)} WHERE false")


def cut(table: pa.Table, parts: int) -> pa.Table:
    """Return the table in chunks of equal size, so many if there are rows enough: each becomes a partition."""
    whole = table.combine_chunks()
    size = max(-(-whole.num_rows // parts), 1)
    return pa.concat_tables([whole.slice(start, size) for start in range(0, whole.num_rows, size)])


class Frames:
    """Stored tables by name, and constants as frames that are made anew only when a group has changed."""

    def __init__(self, spark: SparkSession, stored: Mapping[str, DataFrame]) -> None:
        self.spark = spark
        self.stored = stored
        self._constants: dict[str, tuple[pa.Table, tuple[DataFrame, str]]] = {}
        self._empty: dict[tuple[tuple[str, pa.DataType], ...], DataFrame] = {}

    def of(self, table: pa.Table, partitions: int = 1) -> DataFrame:
        """Return a table as a frame; without rows, the one that was made of such a table before."""
        if table.num_rows:
            return arrow_frame(self.spark, table, partitions)
        schema = tuple((field.name, field.type) for field in table.schema)
        if schema not in self._empty:
            self._empty[schema] = arrow_frame(self.spark, table)
        return self._empty[schema]

    def constants(self, step: Lookup, table: pa.Table) -> tuple[DataFrame, str]:
        """Return the constants of a group, and the condition by which they are joined."""
        known = self._constants.get(step.table.name)
        if known is not None and known[0] is table:
            return known[1]
        by_bin, condition = binned(step, table)
        made = (F.broadcast(arrow_frame(self.spark, by_bin)), condition)
        self._constants[step.table.name] = (table, made)
        return made
