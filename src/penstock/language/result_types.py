"""Types of result columns, as far as they follow from declarations; the runtime asks Spark for the others."""

import re
from collections.abc import Sequence

from sqlglot import exp

from penstock.language.functions import FUNCTIONS
from penstock.language.nested import Known, full_type
from penstock.language.select import bare
from penstock.language.types import MOST_DIGITS, NAMES, SOME_NUMBER, SOME_TIME, ColumnType, Family

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_OF_FAMILY: dict[Family, str] = {
    "text": "STRING",
    "truth": "BOOLEAN",
    "binary": "BINARY",
    "number": SOME_NUMBER,
    "time": SOME_TIME,
}
_COUNTS = ("count", "count_distinct", "approx_count_distinct")
_DEVIATIONS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")
_CONDITIONS = ("bool_and", "bool_or")


def result_type(node: exp.Expression, family: Family, known: Known) -> ColumnType:
    """Return the type of a resolved expression, or of its family only."""
    node = bare(node)
    if isinstance(node, exp.Cast):  # TRY_CAST is one, too
        return _cast(node.args["to"])
    if family in ("array", "map", "struct") or _keeps_type(node):
        found = full_type(node, known)
        if found is not None:
            return found
    return ColumnType(_OF_FAMILY[family])


def aggregate_type(function: str, arguments: Sequence[ColumnType]) -> ColumnType:
    """Return the type of an aggregate's result, from the types of its arguments.

    >>> [aggregate_type("sum", [ColumnType(name)]).name for name in ("INT", "DECIMAL(36,2)", "FLOAT")]
    ['BIGINT', 'DECIMAL(38,2)', 'DOUBLE']
    >>> aggregate_type("avg", [ColumnType("DECIMAL(36,36)")]).name, aggregate_type("count", []).name
    ('DECIMAL(38,38)', 'BIGINT')
    """
    if function in _COUNTS:
        return ColumnType("BIGINT")
    if function in _DEVIATIONS:
        return ColumnType("DOUBLE")
    if function in _CONDITIONS:
        return ColumnType("BOOLEAN")
    if function not in ("sum", "avg"):
        return arguments[0]
    name = arguments[0].name
    decimal = _DECIMAL.fullmatch(name)
    if decimal is not None:
        digits, scale = int(decimal[1]), int(decimal[2])
        if function == "sum":
            return ColumnType(f"DECIMAL({min(MOST_DIGITS, digits + 10)},{scale})")
        return ColumnType(f"DECIMAL({min(MOST_DIGITS, digits + 4)},{min(MOST_DIGITS, scale + 4)})")
    if name in _FLOATS or (name in INTEGERS and function == "avg"):
        return ColumnType("DOUBLE")
    return ColumnType("BIGINT" if name in INTEGERS else SOME_NUMBER)


def _keeps_type(node: exp.Expression) -> bool:
    """Return whether the type is that of a column or of a part of it."""
    if isinstance(node, exp.Column | exp.Bracket):
        return True
    function = FUNCTIONS.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    return function is not None and function.gives == "element"


def _cast(to: exp.DataType) -> ColumnType:
    """Return the type that a CAST names; it is known to be one."""
    word = to.sql("spark").split("(")[0].lower()
    digits = [int(each.name) for each in to.expressions]
    name = NAMES.get(word, word.upper())
    if name != "DECIMAL":
        return ColumnType(name)
    precision, scale = (*(digits or [10]), 0)[:2]
    return ColumnType(f"DECIMAL({precision},{scale})")
