"""Column types, and the type families that the check of expressions distinguishes."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Family = Literal["number", "text", "truth", "time", "interval", "binary", "array", "map", "struct", "null", "any"]

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
"""Spark's types, by the names that a script may use."""

MOST_DIGITS = 38
"""Of a DECIMAL, and of a number without an exponent: if too large for a BIGINT, Spark reads it as DECIMAL."""
NO_DECIMAL = f"DECIMAL has 1 to {MOST_DIGITS} digits in all, and no more than those after the point"


def is_decimal(precision: int, scale: int = 0) -> bool:
    """Return whether a DECIMAL can have `precision` digits, `scale` of them after the point.

    >>> is_decimal(38, 38), is_decimal(39), is_decimal(3, 4), is_decimal(0)
    (True, False, False, False)
    """
    return 1 <= precision <= MOST_DIGITS and 0 <= scale <= precision


SOME_NUMBER, SOME_TIME = "NUMBER", "TIME"
"""Types of result columns of which the language knows only the family."""

_FAMILIES: dict[str, Family] = {
    SOME_TIME: "time",
    "BOOLEAN": "truth",
    "STRING": "text",
    "DATE": "time",
    "TIMESTAMP": "time",
    "BINARY": "binary",
    "ARRAY": "array",
    "MAP": "map",
    "STRUCT": "struct",
}

_SIZES = {
    "BOOLEAN": 1,
    "TINYINT": 1,
    "SMALLINT": 2,
    "INT": 4,
    "FLOAT": 4,
    "DATE": 4,
    "STRING": 16,
    "BINARY": 64,
    "ARRAY": 64,
    "MAP": 64,
    "STRUCT": 64,
}


_PART = re.compile(r"`(?:[^`]|``)*`|[<>:,]|DECIMAL\(\d+,\d+\)|\w+")


@dataclass(frozen=True)
class ColumnType:
    """A type as Spark writes it: INT, DECIMAL(10,2), ARRAY<STRING>, STRUCT<`host`:STRING,`port`:INT>.

    >>> ColumnType("DECIMAL(10,2)").family, ColumnType("STRING").family, ColumnType("ARRAY<INT>").family
    ('number', 'text', 'array')
    >>> ColumnType("MAP<STRING,ARRAY<INT>>").element.name
    'ARRAY<INT>'
    >>> ColumnType("STRUCT<`a b`:INT,`c`:MAP<STRING,INT>>").fields["a b"].name
    'INT'
    """

    name: str

    @classmethod
    def array(cls, element: "ColumnType") -> "ColumnType":
        """Return the type of arrays of such elements."""
        return cls(f"ARRAY<{element.name}>")

    @classmethod
    def map(cls, key: "ColumnType", value: "ColumnType") -> "ColumnType":
        """Return the type of maps from such keys to such values."""
        return cls(f"MAP<{key.name},{value.name}>")

    @classmethod
    def struct(cls, fields: "dict[str, ColumnType]") -> "ColumnType":
        """Return the type of structs with such fields."""
        parts = ("`{}`:{}".format(name.replace("`", "``"), kind.name) for name, kind in fields.items())
        return cls(f"STRUCT<{','.join(parts)}>")

    @property
    def family(self) -> Family:
        """The type family, which says what may be done with it."""
        return _FAMILIES.get(self.name.split("<")[0], "number")

    @property
    def is_exact(self) -> bool:
        """Whether it is a type of Spark; only its family is known of some result columns of derived streams."""
        return self.name not in (SOME_NUMBER, SOME_TIME)

    @property
    def is_nested(self) -> bool:
        """Whether it is an array, a map or a struct."""
        return self.family in ("array", "map", "struct")

    @property
    def element(self) -> "ColumnType":
        """The type of an array's elements or of a map's values."""
        return self._parts[1]["value"]

    @property
    def key(self) -> "ColumnType":
        """The type of a map's keys."""
        return self._parts[1]["key"]

    @property
    def fields(self) -> "dict[str, ColumnType]":
        """The types of a struct's fields, by name."""
        return self._parts[1]

    @cached_property
    def _parts(self) -> "tuple[str, dict[str, ColumnType]]":
        words = _PART.findall(self.name)
        return _parts_of(words)

    @property
    def bytes(self) -> int:
        """The estimated size of a value."""
        return _SIZES.get(self.name.split("<")[0], 8)


def _parts_of(words: list[str]) -> tuple[str, dict[str, ColumnType]]:
    """Return the first word of a type, and the types inside: by field, or as `key` and `value`."""
    outer, depth, start, name = words[0], 0, 2, ""
    inner: dict[str, ColumnType] = {}
    for place in range(1, len(words)):
        word = words[place]
        if depth == 1 and outer == "STRUCT" and word == ":":
            name, start = words[place - 1], place + 1
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
        if depth == 1 and word in ",>":
            if outer == "MAP":
                name = "key" if word == "," else "value"
            elif outer == "ARRAY":
                name = "value"
            inner[name] = ColumnType("".join(words[start:place]))
            start = place + 1
        depth += (word == "<") - (word == ">")
    return outer, inner


def called(family: Family) -> str:
    """Return the name of a family with its article, for messages."""
    return {
        "number": "a number",
        "text": "a string",
        "truth": "a condition",
        "time": "a time",
        "interval": "an interval",
        "binary": "binary data",
        "array": "an array",
        "map": "a map",
        "struct": "a struct",
        "null": "NULL",
        "any": "a value",
    }[family]
