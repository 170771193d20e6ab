"""Exact types of the columns of derived streams: the language knows some, and Spark is asked for the others."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from penstock.language.resolve import column_at
from penstock.language.script import Script
from penstock.language.statements import Column, FromItem, Output, QueryDef, StreamDef
from penstock.language.types import ColumnType
from penstock.plan.columns import spark_type
from penstock.plan.plan import Plan

ResultSchema = Callable[[QueryDef, Plan], pa.Schema]


class DerivedTypes:
    """Replaces derived streams by ones with exact types, wherever a script or a query has them."""

    def __init__(self, result_schema: ResultSchema) -> None:
        self._result_schema = result_schema
        self._known: dict[str, StreamDef] = {}

    def of_script(self, script: Script) -> Script:
        """Return a script with exact types."""
        streams = {name: self._of_stream(stream) for name, stream in script.streams.items()}
        queries = {name: self.of_query(query) for name, query in script.queries.items()}
        return replace(script, streams=streams, queries=queries)

    def of_query(self, query: QueryDef) -> QueryDef:
        """Return a query with exact types."""
        items = tuple(
            replace(item, relation=self._of_stream(item.relation))
            if isinstance(item.relation, StreamDef)
            else item
            for item in query.items
        )
        return replace(query, items=items)

    def _of_stream(self, stream: StreamDef) -> StreamDef:
        if not stream.is_derived:
            return stream
        if stream.name not in self._known:
            inside = replace(stream, branches=tuple(map(self.of_query, stream.branches)))
            schema = self._result_schema(_every_column(inside), Plan())
            columns = tuple(Column(field.name, ColumnType(spark_type(field.type))) for field in schema)
            self._known[stream.name] = replace(inside, columns=columns)
        return self._known[stream.name]


def _every_column(stream: StreamDef) -> QueryDef:
    """Return the query that selects all columns of a stream."""
    outputs = tuple(Output(column.name, column_at(0, column.name)) for column in stream.columns)
    return QueryDef(f"stream {stream.name}", (FromItem(stream, stream.name),), (), outputs, "")
