"""Arrow tables as Spark frames: input rows, stored tables, and the constants of groups."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.language.names import named
from penstock.plan.columns import spark_type
from penstock.plan.range_bins import binned
from penstock.plan.steps import Lookup
from penstock.runtime.rows.driver_traffic import TRAFFIC

T = TypeVar("T")


def arrow_frame(spark: SparkSession, table: pa.Table, partitions: int = 1) -> DataFrame:
    """Return an Arrow table as a Spark frame with this number of partitions.

    A table without rows becomes a query without results: Connect accepts no empty table, classic Spark would start
    Python workers for it, and from the query Spark sees that nothing can follow.
    """
    if table.num_rows:
        TRAFFIC.add(handed_over=table.nbytes)
        return spark.createDataFrame(cut(table, partitions))
    columns = [named(f"CAST(NULL AS {spark_type(field.type)})", field.name) for field in table.schema]
    return spark.sql(f"SELECT {', '.join(columns)} WHERE false")


def cut(table: pa.Table, parts: int) -> pa.Table:
    """Return the table in at most this number of Arrow chunks of equal size: each becomes a partition."""
    whole = table.combine_chunks()
    size = max(-(-whole.num_rows // parts), 1)
    return pa.concat_tables([whole.slice(start, size) for start in range(0, whole.num_rows, size)])


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of frames with the same columns; by halves, because each union analyzes its whole plan."""
    if len(frames) <= 2:
        return reduce(DataFrame.union, frames)
    middle = len(frames) // 2
    return union(frames[:middle]).union(union(frames[middle:]))


class Frames:
    """Stored tables by name, and constants of groups as frames, which are rebuilt only when a group changes."""

    def __init__(self, spark: SparkSession, stored: Mapping[str, DataFrame]) -> None:
        self.spark = spark
        self.stored = stored
        self._constants: dict[tuple[str, str], tuple[pa.Table, tuple[DataFrame, str]]] = {}
        self._cached: dict[Hashable, Any] = {}
        self._empty: dict[tuple[tuple[str, pa.DataType], ...], DataFrame] = {}

    def cached(self, key: Hashable, made: Callable[[], T]) -> T:
        """Return what a function returned for a key the first time."""
        if key not in self._cached:
            self._cached[key] = made()
        found: T = self._cached[key]
        return found

    def of(self, table: pa.Table, partitions: int = 1) -> DataFrame:
        """Return a table as a frame; tables without rows and with the same columns share one frame."""
        if table.num_rows:
            return arrow_frame(self.spark, table, partitions)
        schema = tuple((field.name, field.type) for field in table.schema)
        if schema not in self._empty:
            self._empty[schema] = arrow_frame(self.spark, table)
        return self._empty[schema]

    def constants(self, step: Lookup, table: pa.Table) -> tuple[DataFrame, str]:
        """Return the constants of a group, and the condition on which they are joined."""
        key = (step.table.name, step.condition)
        known = self._constants.get(key)
        if known is not None and known[0] is table:
            return known[1]
        by_bin, condition = binned(step, table)
        made = (F.broadcast(arrow_frame(self.spark, by_bin)), condition)
        self._constants[key] = (table, made)
        return made
