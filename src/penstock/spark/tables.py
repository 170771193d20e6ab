"""Stored tables of a script, read before the first row of a stream."""

from collections.abc import Mapping

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import RunError
from penstock.language.statements import TableDef
from penstock.plan.columns import typed
from penstock.runtime.admission import BAD, RAW
from penstock.spark.frames import Frames, arrow_frame
from penstock.spark.job_errors import explained
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.read_files import read_all
from penstock.spark.window_joins import BROADCAST_ROWS


def loaded_tables(context: SourceContext, tables: Mapping[str, TableDef]) -> Frames:
    """Read all stored tables. A row that does not fit is an error: a table is small and can be corrected."""
    return Frames(context.spark, {name: _loaded(context, table) for name, table in tables.items()})


def _loaded(context: SourceContext, table: TableDef) -> DataFrame:
    what = f"table {table.name}"
    path = context.path(table.options["path"], what)
    paths = [path]
    if path.is_dir():
        paths = sorted(each for each in path.iterdir() if each.is_file() and each.name[0] not in "._")
        if not paths:
            raise RunError(f"{what}: the folder {path} contains no files")
    try:
        rows = read_all(context.spark, table.source, paths, table)
    except Exception as error:  # of Spark, Java or Arrow: anything may be wrong with a file
        raise RunError(f"{what}: {path} cannot be read: {explained(error)}") from error
    wrong = rows.filter(pc.is_valid(rows.column(BAD)))
    if wrong.num_rows:
        text = wrong.column(RAW)[0].as_py() if RAW in wrong.column_names else None
        reason = wrong.column(BAD)[0].as_py()
        shown = f": {text[:200]}" if text else ""
        raise RunError(f"{what}: {wrong.num_rows:,} rows of {path} do not fit: {reason}{shown}")
    frame = arrow_frame(context.spark, typed(rows, table.columns))
    return F.broadcast(frame) if rows.num_rows <= BROADCAST_ROWS else frame.persist()
