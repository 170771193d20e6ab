"""Spark's check of queries before they run, once for all queries of a template."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import StructField

from penstock.errors import RunError, ScriptError
from penstock.language.statements import Column, QueryDef
from penstock.plan.columns import arrow_type, is_hidden
from penstock.plan.derived import queries_below
from penstock.plan.plan import Plan, never
from penstock.plan.steps import Join, Lookup
from penstock.plan.template import QueryTemplate, template_of
from penstock.runtime.rows.job_input import InputRows
from penstock.runtime.stream_log import StreamLog
from penstock.runtime.work import Work
from penstock.spark.frames import Frames
from penstock.spark.job_builder import JobBuilder
from penstock.spark.job_errors import explained
from penstock.spark.types import column_type


class QueryChecks:
    """Checks queries with Spark, and remembers the columns of their results."""

    def __init__(self, frames: Frames, script: str, *, grouping: bool) -> None:
        self._frames = frames
        self._script = script
        self._grouping = grouping
        self._schemas: dict[str, pa.Schema] = {}
        self._template_schemas: dict[QueryTemplate, pa.Schema | None] = {}

    def schema_of(self, query: QueryDef, plan: Plan) -> pa.Schema:
        """Check a query and return the columns of its results; queries of a group are checked once."""
        found = plan.templates.get(query.name) or template_of(query)
        schema = self._template_schemas.get(found[0]) if found else None
        if schema is None:
            schema = self._checked(query)
        if self._schemas.setdefault(query.name, schema) != schema:
            raise RunError(f"an earlier query {query.name} had other columns: give this one another name")
        return schema

    def may_group(self, template: QueryTemplate) -> bool:
        """Whether the queries of a template have the same columns if their constants come from a table.

        They have not if Spark derives more than a type from a literal. Then each query runs by itself.
        """
        if not self._grouping:
            return False
        if template not in self._template_schemas:
            try:
                schema = self._checked(template.example)
                self._template_schemas[template] = schema if schema == self._checked(template.query) else None
            except ScriptError:
                self._template_schemas[template] = None
        return self._template_schemas[template] is not None

    def _checked(self, query: QueryDef) -> pa.Schema:
        return result_schema(self._frames, query, self._script)


def result_schema(frames: Frames, query: QueryDef, script: str) -> pa.Schema:
    """Let Spark check a query on empty tables, and return the columns of its results."""
    work = _work_without_rows(query)
    try:
        frame = JobBuilder(frames, work).result(work.plan.network.query(query.name).root)
        fields = frame.schema.fields
    except PySparkException as error:
        raise ScriptError(f"{script}: query {query.name} cannot run: {explained(error)}") from error
    return _arrow_schema(fields, query, script)


def _work_without_rows(query: QueryDef) -> Work:
    """Return the work of a query with empty inputs, windows and constants."""
    plan = Plan().with_query(query, may_group=never)
    wanted = plan.wanted()
    items = [item for each in queries_below([query]) for item in each.streams]
    logs = {item.relation.name: StreamLog(item.relation) for item in items}  # type: ignore[arg-type]
    entries = [edge for edge in plan.network.edges if edge.source in plan.network.stream_by_name]
    takes = {edge: InputRows(logs[edge.source].empty(sorted(wanted[edge]))) for edge in entries}
    probes = {}
    for name, step in plan.steps.items():
        if isinstance(step, Join):
            for port in range(len(step.ports)):
                for other, each in enumerate(step.ports):
                    if other != port:
                        names = [column.name for column in logs[each.stream].definition.columns]
                        probes[name, port, other] = logs[each.stream].window(each.window, 0, 0, names)
    constants = {
        step.table.name: _empty_table(step.table.columns)
        for step in plan.steps.values()
        if isinstance(step, Lookup) and step.table.is_constants
    }
    return Work(plan, takes, frozenset(plan.network.edges), probes, wanted, constants)


def _arrow_schema(fields: Sequence[StructField], query: QueryDef, script: str) -> pa.Schema:
    """Return the columns of a query's results; raise an error that names one of a type that no script has."""
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


def _empty_table(columns: Iterable[Column]) -> pa.Table:
    return pa.schema([pa.field(each.name, arrow_type(each.type.name)) for each in columns]).empty_table()
