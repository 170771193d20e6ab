"""One schema for all results of a query, although its jobs may differ in details."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from penstock.plan.columns import arrow_type, spark_type


def plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema with times in UTC without a zone, and with all columns nullable.

    >>> plain(pa.schema([pa.field("at", pa.timestamp("us", "UTC"), nullable=False)]))
    at: timestamp[us]
    """
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _plain_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in kind])
    return kind


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with exactly this schema: jobs may differ in what is nullable, also inside columns."""
    return rows if rows.schema.equals(schema, check_metadata=True) else rows.cast(schema)


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """Return the types of a schema's columns by name, in the notation of scripts.

    >>> columns_of(pa.schema([("v", pa.int32()), ("at", pa.timestamp("us"))]))
    {'v': 'INT', 'at': 'TIMESTAMP'}
    """
    return {field.name: spark_type(field.type) for field in schema}


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """Return the schema of results with these columns: the inverse of `columns_of`."""
    return plain(pa.schema([pa.field(name, arrow_type(kind)) for name, kind in columns.items()]))


class Schemas:
    """The schema of every opened query of a run."""

    def __init__(self) -> None:
        self._by_query: dict[str, pa.Schema] = {}

    def open(self, query: str, schema: pa.Schema) -> None:
        """Remember the schema of a query's results."""
        self._by_query[query] = plain(schema)

    def fitted(self, query: str, rows: pa.Table) -> pa.Table:
        """Return results of a query with its schema."""
        return fitted(rows, self._by_query[query])

    def __getitem__(self, query: str) -> pa.Schema:
        return self._by_query[query]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._by_query))
