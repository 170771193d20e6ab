"""Files of any format as rows: text in `text_files`, parquet in `parquet_files`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.language.statements import Relation
from penstock.plan.columns import arrow_type
from penstock.runtime.admission import BAD
from penstock.spark.sources.parquet_files import read_parquet
from penstock.spark.sources.text_files import file_layout, read_text


def read_files(
    spark: SparkSession, format_name: str, paths: Sequence[Path], relation: Relation
) -> Iterator[pa.Table]:
    """Return the rows of files as tables, in the order of the paths and of the rows in each file.

    All files must have the same `signature`. A file that cannot be read to its end raises `UnreadableError` after
    its rows. Beside the declared columns there are ``__bad`` (why a row does not fit, or NULL) and ``__raw``.
    """
    if format_name == "parquet":
        yield read_parquet(spark, paths, relation)
    else:
        yield from read_text(spark, format_name, paths, relation)


def read_all(spark: SparkSession, format_name: str, paths: Sequence[Path], relation: Relation) -> pa.Table:
    """Return the rows of all files as one table; the files may have different layouts."""
    tables = [table for path in paths for table in read_files(spark, format_name, [path], relation)]
    columns = [(each.name, arrow_type(each.type.name)) for each in relation.columns]
    schema = pa.schema([*columns, (BAD, pa.string())])
    return pa.concat_tables([schema.empty_table(), *tables], promote_options="permissive")


def signature(path: Path, format_name: str, relation: Relation) -> object:
    """Return what files must have in common to be read together: the layout of text, the schema of parquet."""
    return pq.read_schema(path) if format_name == "parquet" else file_layout(path, format_name, relation)
