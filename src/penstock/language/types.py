"""Column types, and the families of them that the check of expressions tells apart."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["number", "text", "truth", "time", "interval", "binary", "null", "any"]

NAMES: dict[str, str] = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "byte": "TINYINT",
    "smallint": "SMALLINT",
    "short": "SMALLINT",
    "int": "INT",
    "integer": "INT",
    "bigint": "BIGINT",
    "long": "BIGINT",
    "float": "FLOAT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "text": "STRING",
    "varchar": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "binary": "BINARY",
    "decimal": "DECIMAL",
    "numeric": "DECIMAL",
}
"""From the words a script may use to Spark's own."""

_FAMILIES: dict[str, Family] = {
    "BOOLEAN": "truth",
    "STRING": "text",
    "DATE": "time",
    "TIMESTAMP": "time",
    "BINARY": "binary",
}

_SIZES = {"BOOLEAN": 1, "TINYINT": 1, "SMALLINT": 2, "INT": 4, "FLOAT": 4, "DATE": 4, "STRING": 16, "BINARY": 64}


@dataclass(frozen=True)
class ColumnType:
    """A type as Spark writes it: INT, STRING, DECIMAL(10,2).

    >>> ColumnType("DECIMAL(10,2)").family, ColumnType("STRING").family
    ('number', 'text')
    """

    name: str

    @property
    def family(self) -> Family:
        """What may be done with it."""
        return _FAMILIES.get(self.name, "number")

    @property
    def bytes(self) -> int:
        """About how much a value takes."""
        return _SIZES.get(self.name, 8)


def called(family: Family) -> str:
    """Return the family's name as a sentence uses it."""
    return {
        "number": "a number",
        "text": "a string",
        "truth": "a condition",
        "time": "a time",
        "interval": "an interval",
        "binary": "binary data",
        "null": "NULL",
        "any": "a value",
    }[family]
