"""Column types of Arrow, Spark and scripts, and Penstock's hidden columns."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.language.statements import Column
from penstock.language.types import ColumnType
from penstock.plan.steps import ARRIVAL, MEMBER, TIME, seq

Micros = NDArray[np.int64]

_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "BINARY": pa.binary(),
}


def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type of a declared type.

    >>> arrow_type("DECIMAL(10,2)")
    Decimal128Type(decimal128(10, 2))
    >>> arrow_type("STRUCT<`a`:INT,`b`:ARRAY<STRING>>")
    StructType(struct<a: int32, b: list<element: string>>)
    """
    if "<" in name:
        kind = ColumnType(name)
        if kind.family == "array":
            return pa.list_(pa.field("element", arrow_type(kind.element.name)))
        if kind.family == "map":
            return pa.map_(arrow_type(kind.key.name), arrow_type(kind.element.name))
        return pa.struct([pa.field(each, arrow_type(inner.name)) for each, inner in kind.fields.items()])
    if name.startswith("DECIMAL("):
        precision, scale = name[8:-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return _ARROW[name]


def spark_type(kind: pa.DataType) -> str:
    """Return the Spark type of an Arrow type, the reverse of `arrow_type`."""
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if pa.types.is_list(kind):
        return ColumnType.array(ColumnType(spark_type(kind.value_type))).name
    if pa.types.is_map(kind):
        return ColumnType.map(ColumnType(spark_type(kind.key_type)), ColumnType(spark_type(kind.item_type))).name
    if pa.types.is_struct(kind):
        return ColumnType.struct({each.name: ColumnType(spark_type(each.type)) for each in kind}).name
    return next(name for name, each in _ARROW.items() if each == kind)


def typed(table: pa.Table, columns: Iterable[Column]) -> pa.Table:
    """Return the declared columns of a table, in their order and types."""
    schema = pa.schema([pa.field(column.name, arrow_type(column.type.name)) for column in columns])
    return table.select(schema.names).cast(schema)


def is_hidden(name: str) -> bool:
    """Whether a column is one of Penstock's hidden columns."""
    return name in (TIME, ARRIVAL, MEMBER) or is_sequence(name)


def is_sequence(name: str) -> bool:
    """Whether a column has the sequence numbers of a stream."""
    return name.startswith("__seq") and name[5:].isdigit()


def hidden_in(table: pa.Table) -> list[str]:
    """Return the hidden columns of a table."""
    return [name for name in table.column_names if is_hidden(name)]


def numbers(table: pa.Table, name: str) -> Micros:
    """Return a column of whole numbers as an array."""
    return np.asarray(table.column(name).to_numpy(), dtype=np.int64)


def stamped(table: pa.Table, sequence: Micros, times: Micros, arrivals: Micros) -> pa.Table:
    """Return the rows with hidden columns for sequence numbers, times and arrivals."""
    for name, values in ((seq(0), sequence), (TIME, times), (ARRIVAL, arrivals)):
        table = table.append_column(name, pa.array(values, pa.int64()))
    return table


def counted_from(firsts: Micros, counts: Micros) -> Micros:
    """Return the numbers that follow each of some numbers, as many as its count, one after the other.

    >>> counted_from(np.array([10, 20]), np.array([3, 2])).tolist()
    [10, 11, 12, 20, 21]
    """
    before = np.repeat(np.cumsum(counts) - counts, counts)
    found: Micros = np.repeat(firsts, counts) + np.arange(len(before)) - before
    return found
