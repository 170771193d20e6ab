"""Spark's check of queries before they run, once for all queries of a form."""

import pyarrow as pa

from penstock.errors import RunError, ScriptError
from penstock.language.statements import QueryDef
from penstock.plan.plan import Plan
from penstock.plan.template import QueryTemplate, template_of
from penstock.spark.frames import Frames
from penstock.spark.prepare import result_schema


class QueryChecks:
    """The columns of queries' results, as Spark says them."""

    def __init__(self, frames: Frames, script: str, *, grouping: bool) -> None:
        self._frames = frames
        self._script = script
        self._grouping = grouping
        self._schemas: dict[str, pa.Schema] = {}
        self._template_schemas: dict[QueryTemplate, pa.Schema | None] = {}

    def schema_of(self, query: QueryDef, plan: Plan) -> pa.Schema:
        """Let Spark check a query, and return the columns of its results; one of a group is checked with it."""
        found = plan.templates.get(query.name) or template_of(query)
        schema = self._template_schemas.get(found[0]) if found else None
        if schema is None:
            schema = self._checked(query)
        if self._schemas.setdefault(query.name, schema) != schema:
            raise RunError(f"an earlier query {query.name} had other columns: give this one another name")
        return schema

    def may_group(self, template: QueryTemplate) -> bool:
        """Whether queries of a form give the same columns with their constants from a table as without.

        They do not where Spark sees in a literal more than its type. Then each of them runs by itself.
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
