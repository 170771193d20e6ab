"""Before the first row: stored tables are read, and Spark itself checks every query."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import RunError, ScriptError
from penstock.language.statements import Column, QueryDef, TableDef
from penstock.plan.columns import arrow_type, is_hidden, typed
from penstock.plan.plan import Plan, never
from penstock.plan.steps import Join
from penstock.runtime.admission import BAD, RAW
from penstock.runtime.stream_log import StreamLog
from penstock.runtime.work import Work
from penstock.spark.declared import column_type
from penstock.spark.frames import Frames, arrow_frame
from penstock.spark.job import BROADCAST_ROWS, JobBuilder
from penstock.spark.session import explained
from penstock.spark.sources.reading import read_all
from penstock.spark.sources.source import SourceContext


def loaded_tables(context: SourceContext, tables: Mapping[str, TableDef]) -> Frames:
    """Read every stored table. A row that does not fit is an error: a table is small, and somebody's own."""
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
    except Exception as error:  # Spark's own, Java's, Arrow's: whatever is wrong with a file
        raise RunError(f"{what}: {path} cannot be read: {explained(error)}") from error
    wrong = rows.filter(pc.is_valid(rows.column(BAD)))
    if wrong.num_rows:
        text = wrong.column(RAW)[0].as_py() if RAW in wrong.column_names else None
        reason = wrong.column(BAD)[0].as_py()
        shown = f": {text[:200]}" if text else ""
        raise RunError(f"{what}: {wrong.num_rows:,} rows of {path} do not fit: {reason}{shown}")
    frame = arrow_frame(context.spark, typed(rows, table.columns))
    return F.broadcast(frame) if rows.num_rows <= BROADCAST_ROWS else frame.persist()


def result_schema(frames: Frames, query: QueryDef, script: str) -> pa.Schema:
    """Let Spark check the query on no rows at all, and return the columns of its result."""
    plan = Plan().with_query(query, may_group=never)
    network = plan.network
    wanted = plan.wanted()
    logs = {item.relation.name: StreamLog(item.relation) for item in query.streams}  # type: ignore[arg-type]
    entries = [edge for edge in network.edges if edge.source in logs]
    takes = {edge: logs[edge.source].empty(sorted(wanted[edge])) for edge in entries}
    probes = {}
    for name, step in plan.steps.items():
        if isinstance(step, Join):
            for port in range(len(step.ports)):
                for other, each in enumerate(step.ports):
                    if other != port:
                        names = [column.name for column in logs[each.stream].definition.columns]
                        probes[name, port, other] = logs[each.stream].window(each.window, 0, 0, names)
    constants = {
        item.relation.name: _none(item.relation.columns)
        for item in query.items
        if isinstance(item.relation, TableDef) and item.relation.is_constants
    }
    work = Work(plan, takes, frozenset(network.edges), probes, wanted, constants)
    try:
        frame = JobBuilder(frames, work).result(network.query(query.name).root)
        fields = frame.schema.fields
    except PySparkException as error:
        raise ScriptError(f"{script}: query {query.name} cannot run: {explained(error)}") from error
    found = []
    for column in fields:
        if is_hidden(column.name):
            continue
        try:
            kind = column_type(column.dataType)
        except ValueError as error:
            what = f"query {query.name}: column {column.name!r}"
            raise ScriptError(f"{script}: {what} is of type {error}; CAST it") from error
        found.append(pa.field(column.name, arrow_type(kind.name)))
    return pa.schema(found)


def _none(columns: Iterable[Column]) -> pa.Table:
    return pa.schema([pa.field(each.name, arrow_type(each.type.name)) for each in columns]).empty_table()
