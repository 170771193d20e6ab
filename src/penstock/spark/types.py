"""Spark's types as column types of a script."""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from penstock.language.types import NAMES, ColumnType


def column_type(kind: DataType) -> ColumnType:
    """Return the column type of a Spark type; raise `ValueError` with its name if scripts have none.

    >>> from pyspark.sql.types import IntegerType
    >>> column_type(ArrayType(StructType().add("a b", IntegerType()))).name
    'ARRAY<STRUCT<`a b`:INT>>'
    """
    if isinstance(kind, ArrayType):
        return ColumnType.array(column_type(kind.elementType))
    if isinstance(kind, MapType):
        return ColumnType.map(column_type(kind.keyType), column_type(kind.valueType))
    if isinstance(kind, StructType):
        return ColumnType.struct({field.name: column_type(field.dataType) for field in kind.fields})
    name = kind.simpleString()
    if name.split("(")[0] not in NAMES:
        raise ValueError(name)
    return ColumnType(name.upper())
