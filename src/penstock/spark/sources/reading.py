"""Files as rows; a row that does not fit its schema says why instead of failing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import RunError, nearest
from penstock.formats.inference import type_of_arrow
from penstock.formats.layout import Layout, layout_of
from penstock.formats.texts import first_lines, records_of
from penstock.formats.times import number_sql
from penstock.language.names import quoted
from penstock.language.statements import Column, Relation
from penstock.plan.columns import arrow_type
from penstock.runtime.admission import BAD, RAW
from penstock.spark.declared import column_type
from penstock.spark.sources.parsing import parsed

FILE = "__file"
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
BLOCK_BYTES = 16 * 1024 * 1024
"""Text that is parsed by one job at most."""


def read_files(spark: SparkSession, form: str, paths: Sequence[Path], relation: Relation) -> Iterator[pa.Table]:
    """Return the rows of files in order, in tables: of the files as given, of each as it stands there.

    Files have the same `signature`. One that breaks off raises `UnreadableError` after its rows. Beside the
    declared columns there are ``__bad`` (why a row does not fit, or NULL) and ``__raw``.
    """
    if form == "parquet":
        plain = _as_declared(paths, relation.columns)
        yield _parquet(spark, paths, relation.columns, relation.options) if plain is None else plain
        return
    layout = file_layout(paths[0], form, relation)
    unit = relation.options.get("timestamp_unit", "s" if form == "zeek" else None)
    for lines in _gathered(paths, layout):
        yield parsed(spark, lines, relation.columns, layout, unit, relation.time_column)


def read_all(spark: SparkSession, form: str, paths: Sequence[Path], relation: Relation) -> pa.Table:
    """Return the rows of all files as one table; each may have a layout of its own."""
    tables = [table for path in paths for table in read_files(spark, form, [path], relation)]
    columns = [(each.name, arrow_type(each.type.name)) for each in relation.columns]
    schema = pa.schema([*columns, (BAD, pa.string())])
    return pa.concat_tables([schema.empty_table(), *tables], promote_options="permissive")


class UnreadableError(RunError):
    """A file among several that cannot be read to its end; the rows before that were returned."""

    def __init__(self, place: int, error: Exception) -> None:
        super().__init__(str(error))
        self.place = place


def _gathered(paths: Sequence[Path], layout: Layout) -> Iterator[pa.Array]:
    """Return the records of files in blocks; those of small files stand together in one."""
    held: list[str] = []
    size = 0
    broken: UnreadableError | None = None
    for place, path in enumerate(paths):
        try:
            for records in records_of(path, layout):
                held += records
                size += sum(map(len, records))
                if size >= BLOCK_BYTES:
                    yield pa.array(held, pa.string())
                    held, size = [], 0
        except (RunError, OSError) as error:
            broken = UnreadableError(place, error)
            break
    if held:
        yield pa.array(held, pa.string())
    if broken is not None:
        raise broken


def signature(path: Path, form: str, relation: Relation) -> object:
    """Return what files must have in common to be read together: the layout of texts, the columns of parquet."""
    return pq.read_schema(path) if form == "parquet" else file_layout(path, form, relation)


def file_layout(path: Path, form: str, relation: Relation) -> Layout:
    """Return the layout of a file; raise if its header misses a declared column."""
    layout = layout_of(form, relation.options, in_file=True)
    if form == "zeek" or layout.header_lines:
        beginning = first_lines(path)
        if not beginning.strip():
            return layout
        layout = layout.with_header(beginning, path.name)
        here = {name.lower() for name in layout.names or ()}
        for column in relation.columns:
            if (column.path or column.name).lower() not in here:
                _fail_missing(path, column, layout.names or ())
    return layout


def _fail_missing(path: Path, column: Column, names: Sequence[str]) -> NoReturn:
    name = column.path or column.name
    raise RunError(f"{path.name} has no column {name!r}.{nearest(name, names)} It has {', '.join(names)}")


# Parquet ----------------------------------------------------------------------------------------------------


def _as_declared(paths: Sequence[Path], columns: Sequence[Column]) -> pa.Table | None:
    """Return the rows of parquet files whose types fit without a doubt; None if one needs Spark to cast it.

    Rows pass through the driver anyway, and Arrow reads such files without a job: twenty of 10,000 rows in
    a tenth of the time.
    """
    wanted = [((column.path or column.name).lower(), arrow_type(column.type.name)) for column in columns]
    tables = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            here = {field.name.lower(): field for field in file.schema_arrow}
            if len(here) < len(file.schema_arrow) or any(
                name not in here or not _is_safe(here[name].type, kind) for name, kind in wanted
            ):
                return None
            rows = file.read(columns=list({here[name].name: None for name, _ in wanted}))
            arrays = [_made(rows.column(here[name].name), kind) for name, kind in wanted]
            tables.append(pa.table(arrays, names=[column.name for column in columns]))
    whole = pa.concat_tables(tables)
    return whole.append_column(BAD, pa.nulls(whole.num_rows, pa.string()))


def _is_safe(held: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a type become another without loss, but for what is finer than a microsecond."""
    if held == wanted or (pa.types.is_timestamp(held) and pa.types.is_timestamp(wanted)):
        return True
    if pa.types.is_dictionary(held):
        return _is_safe(held.value_type, wanted)
    if pa.types.is_string(wanted):
        return bool(pa.types.is_large_string(held) or pa.types.is_string_view(held))
    whole = pa.types.is_signed_integer(held) and pa.types.is_signed_integer(wanted)
    fraction = pa.types.is_floating(held) and pa.types.is_floating(wanted)
    return bool((whole or fraction) and held.bit_width <= wanted.bit_width)


def _made(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if column.type == wanted:
        return column
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        # A cast would round towards 1970, and a time before it would move to the future
        column = pc.floor_temporal(column, unit="microsecond")
    return column.cast(wanted, safe=False)


def _parquet(
    spark: SparkSession, paths: Sequence[Path], columns: Sequence[Column], options: Mapping[str, Any]
) -> pa.Table:
    frame = _frame(spark, paths)
    values = {column: _found_in(frame, column, paths[0]) for column in columns}
    casts = {column: _cast_in(frame, value, column, options) for column, value in values.items()}
    wrong = [
        F.when(
            F.expr(f"{values[column]} IS NOT NULL AND {casts[column]} IS NULL"),
            F.lit(f"column {column.name} does not fit {column.type.name}"),
        )
        for column in columns
    ]
    bad = F.coalesce(*wrong)
    held = F.struct(*(F.expr(values[column]).alias(column.path or column.name) for column in columns))
    table = frame.select(
        *(F.expr(casts[column]).alias(column.name) for column in columns),
        bad.alias(BAD),
        F.when(bad.isNotNull(), F.to_json(held)).alias(RAW),
        FILE,
    ).toArrow()
    return _in_order(table, paths)


def _frame(spark: SparkSession, paths: Sequence[Path]) -> DataFrame:
    """Return the rows of files of one schema, and where each is from. Spark reads no nanoseconds: Arrow does."""
    schema = pq.read_schema(paths[0])
    if not any("timestamp[ns" in str(field.type) for field in schema):
        frame = spark.read.parquet(*(_uri(path) for path in paths))
        return frame.select("*", F.col("_metadata.file_path").alias(FILE))
    kinds = [arrow_type(type_of_arrow(field.type)) for field in schema]
    tables = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            rows = file.read()
        arrays = [_made(column, kind) for column, kind in zip(rows.columns, kinds, strict=True)]
        files = pa.repeat(path.absolute().as_uri(), rows.num_rows)
        tables.append(pa.table([*arrays, files], names=[*rows.column_names, FILE]))
    return spark.createDataFrame(pa.concat_tables(tables))


def _found_in(frame: DataFrame, column: Column, path: Path) -> str:
    """Return the SQL of a column, whatever its case: by its name or path as written, or inside structs."""
    whole = column.path or column.name
    here = {name.lower(): name for name in frame.columns}
    if whole.lower() in here:
        return quoted(here[whole.lower()])
    root, *inner = whole.split(".")
    if inner and root.lower() in here:
        return ".".join(map(quoted, (here[root.lower()], *inner)))
    _fail_missing(path, column, frame.columns)


def _cast_in(frame: DataFrame, value: str, column: Column, options: Mapping[str, Any]) -> str:
    held = frame.selectExpr(f"{value} AS v").schema[0].dataType
    kind = held.simpleString()
    if column.type.is_nested and column_type(held) != column.type:
        raise RunError(
            f"column {column.name} is {column_type(held).name} in the file, but declared as {column.type.name}"
        )
    if column.type.name == "TIMESTAMP" and kind.split("(")[0] in ("int", "bigint", "float", "double", "decimal"):
        return number_sql(f"try_cast({value} AS DECIMAL(38,9))", options.get("timestamp_unit"))
    cast = f"try_cast({value} AS {column.type.name})"
    if column.type.name in _WHOLE and kind.split("(")[0] in ("float", "double", "decimal"):
        return f"CASE WHEN {cast} = {value} THEN {cast} END"  # a fraction would be cut off
    return cast


def _in_order(table: pa.Table, paths: Sequence[Path]) -> pa.Table:
    """Return the rows in the order of their files, which Spark does not keep."""
    if len(paths) == 1:
        return table
    order = {str(path): place for place, path in enumerate(paths)}
    places = np.array(
        [order[unquote(urlparse(uri).path)] for uri in table.column(FILE).to_pylist()], dtype=np.int64
    )
    return table.take(pa.array(np.argsort(places, kind="stable")))


def _uri(path: Path) -> str:
    """Return the path as Spark reads it, with nothing in it that could be taken for a pattern."""
    text = str(path)
    for char in "\\{}[]*?":
        text = text.replace(char, f"\\{char}")
    return text
