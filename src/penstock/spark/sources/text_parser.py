"""Parse text records with Spark; a record that does not fit gets a reason that names the column.

JSON is read with the declared types, so that Spark decides what fits. Separated fields, and JSON values found by a
path, are read as text and then cast.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.formats.layout import USER_WITH_SPACES, Layout
from penstock.formats.log_times import number_of, time_sql, unit_sql, within_years
from penstock.formats.texts import LONGEST_RECORD
from penstock.language.names import named, quoted
from penstock.language.statements import Column
from penstock.runtime.admission import BAD, RAW
from penstock.spark.frames import cut
from penstock.spark.session import slots_of

UNIT = "__unit"
"""The column with the unit in which a time was read, if the script does not set one."""
LINE = "__line"
"""The column with the text of a record."""
_ROW, _CORRUPT = "__row", "__corrupt"
_OBJECT = f"{_ROW}.v"
_BRACKETS = r"\\[(\\d{2}/[A-Za-z]{3}/\\d{4}:[^\\]\"]*)\\]"
_PART_BYTES = 512 * 1024
"""Bytes of text per task."""


def parsed(
    spark: SparkSession,
    lines: pa.Array,
    columns: Sequence[Column],
    layout: Layout,
    unit: str | None,
    time_column: str | None,
) -> pa.Table:
    """Return records as rows of the declared columns.

    Two more columns are ``__bad`` (why a record does not fit, or NULL) and ``__raw`` (the text of such a record).
    `unit` is the unit of numbers in TIMESTAMP columns. If it is None, the column ``__unit`` has the unit in which
    the numbers of `time_column` were read.
    """
    table = cut(pa.table({LINE: lines}), min(max(lines.nbytes // _PART_BYTES, 1), slots_of(spark)))
    return parsed_frame(spark.createDataFrame(table), columns, layout, unit, time_column).toArrow()


def parsed_frame(
    frame: DataFrame,
    columns: Sequence[Column],
    layout: Layout,
    unit: str | None,
    time_column: str | None,
    others: Sequence[str] = (),
) -> DataFrame:
    """Return a frame with records in ``__line`` as rows of the declared columns, as `parsed` does.

    `others` are columns of the frame that are passed on.
    """
    reader = (_json if layout.form == "json" else _separated)(columns, layout, unit)
    values = [named(sql, _value(place)) for place, sql in enumerate(reader.values)]
    kept = [_kept(place, column) for place, column in enumerate(columns)]
    passed = [quoted(name) for name in (LINE, *others)]
    # Spark computes what a step defines once, and what is written twice in one step twice
    frame = frame.selectExpr(*passed, named(reader.row, _ROW))
    for early in (reader.early_texts, reader.numbers):
        if early:
            frame = frame.selectExpr("*", *(named(sql, name) for name, sql in early.items()))
    frame = frame.selectExpr("*", *values)
    known = [*passed, _ROW, *reader.early_texts, *reader.numbers]
    frame = frame.selectExpr(*known, *kept).selectExpr(
        *known, *map(_value, range(len(columns))), named(reader.reason, BAD)
    )
    outputs = [named(_value(place), column.name) for place, column in enumerate(columns)]
    raw = f"CASE WHEN {BAD} IS NULL THEN NULL {_is_marked(f'substr({LINE}, 3)')} ELSE {reader.raw} END"
    outputs += [BAD, named(raw, RAW)]
    if unit is None and time_column is not None and time_column in reader.texts:
        place = next(place for place, column in enumerate(columns) if column.name == time_column)
        number = _number(place) if _number(place) in reader.numbers else number_of(reader.texts[time_column])
        outputs.append(named(unit_sql(number), UNIT))
    return frame.selectExpr(*outputs, *passed[1:])


def _kept(place: int, column: Column) -> str:
    value, kind = _value(place), column.type.name
    return named(within_years(value, kind), value) if kind in ("DATE", "TIMESTAMP") else value


def _value(place: int) -> str:
    return f"__v{place}"


def _number(place: int) -> str:
    return f"__n{place}"


class _Reader:
    """The SQL that reads a line: its parsed form, each column's value, why it does not fit, and its raw text."""

    def __init__(
        self,
        row: str,
        values: list[str],
        reason: str,
        raw: str,
        texts: dict[str, str],
        numbers: dict[str, str],
        early_texts: dict[str, str] | None = None,
    ) -> None:
        self.row = row
        self.values = values
        self.reason = reason
        self.raw = raw
        self.texts = texts
        """The columns that are read as text first, with the SQL of the text."""
        self.early_texts = early_texts or {}
        """Texts that are not fields of the parsed form, by the name that they get first."""
        self.numbers = numbers
        """Numbers in the texts of times whose unit is not known, by the name that they get before the values."""


def _json(columns: Sequence[Column], layout: Layout, unit: str | None) -> _Reader:
    """Read JSON. A path, or a name with dots, is looked up first as one key and then as nested keys.

    The object is parsed inside another one: otherwise Spark would ignore whatever follows it in the line.
    """
    schema: dict[str, str] = {}
    values, wrong = [], []
    texts: dict[str, str] = {}
    numbers: dict[str, str] = {}
    early: dict[str, str] = {}
    for place, column in enumerate(columns):
        key = column.path or column.name
        root, *inner = key.split(".")
        is_null = f"{_value(place)} IS NULL"
        read = _wider(column.type.name)
        if not inner and column.type.name not in ("DATE", "TIMESTAMP") and _takes(schema, key, read):
            value = f"{_OBJECT}.{quoted(key)}"
            is_there = f"{_in_line(key)} IS NOT NULL"
            misfits = f"{_ROW}.{_CORRUPT} IS NOT NULL AND {is_null} AND {is_there}"
            if read != column.type.name:
                misfits += f" OR {value} IS NOT NULL AND {is_null}"
                cast = f"try_cast({value} AS {column.type.name})"
                # Inside arrays, maps and structs the cast replaces what does not fit by NULL
                fits = f"to_json({cast}) = to_json({value})" if column.type.is_nested else "true"
                value = f"CASE WHEN {fits} THEN {cast} END"
            wrong.append(f"WHEN {misfits} THEN {_misfit(column)}")
        else:
            # Spark ignores the case of fields: keys that differ only in case are looked up in the line
            text = f"{_OBJECT}.{quoted(key)}" if _takes(schema, key, "STRING") else _in_line(key)
            if inner:
                within = _takes(schema, root, "STRING")
                deep = _inside(f"{_OBJECT}.{quoted(root)}", *inner) if within else _in_line(root, *inner)
                text = f"coalesce({text}, {deep})"
            if not text.startswith(_OBJECT):
                early[f"__t{place}"], text = text, f"__t{place}"
            texts[column.name] = text
            value = _cast(text, place, column, layout, unit, numbers)
            wrong.append(f"WHEN {text} IS NOT NULL AND {is_null} THEN {_misfit(column)}")
        values.append(value)
    fields = ",".join(f"{quoted(name)}:{kind}" for name, kind in schema.items())
    row = _parsed(LINE, f"STRUCT<{fields}>")
    is_corrupt, no_object = f"{_ROW}.{_CORRUPT} IS NOT NULL", "THEN 'this is not a JSON object'"
    no_json = f"WHEN {is_corrupt} AND {_parsed(LINE, 'STRING')}.{_CORRUPT} IS NOT NULL {no_object}"
    other = f"WHEN {is_corrupt} OR {_OBJECT} IS NULL {no_object}"
    return _Reader(
        row, values, f"CASE {' '.join([_unreadable(), no_json, *wrong, other])} END", LINE, texts, numbers, early
    )


def _wider(kind: str) -> str:
    """Return the type as which JSON is read: Spark reads 128 to 255 as negative numbers of TINYINT.

    >>> _wider("STRUCT<`TINYINT`:ARRAY<TINYINT>,`b`:INT>")
    'STRUCT<`TINYINT`:ARRAY<SMALLINT>,`b`:INT>'
    """
    return re.sub("(`(?:[^`]|``)*`)|TINYINT", lambda found: found[1] or "SMALLINT", kind)


def _takes(schema: dict[str, str], key: str, kind: str) -> bool:
    """Add a key to the schema of the object; return whether it is read as this type."""
    if key not in schema and key.lower() in {each.lower() for each in schema}:
        return False
    return schema.setdefault(key, kind) == kind


def _parsed(text: str, kind: str) -> str:
    """Return the SQL that parses JSON text into the field `v` of a struct, or sets ``__corrupt`` if it misfits."""
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT}')"
    schema = f"`v` {kind}, {_CORRUPT} STRING"
    return f"from_json(concat('{{\"v\":', {text}, '}}'), '{escaped(schema)}', {options})"


def _unreadable() -> str:
    reason = f"longer than {LONGEST_RECORD:,} characters, or a quote in it is not closed"
    return _is_marked(f"'this record is {reason}'")


def _is_marked(then: str) -> str:
    """Return the case of a record that is marked as `texts.BROKEN`."""
    return f"WHEN startswith({LINE}, '\\0\\0') THEN {then}"


def _in_line(*keys: str) -> str:
    return _inside(LINE, *keys)


def _inside(text: str, *keys: str) -> str:
    """Return the SQL of a value inside JSON text, as text."""
    if not any("'" in key or "*" in key for key in keys):
        path = "$" + "".join(f"[{chr(39)}{key}{chr(39)}]" for key in keys)
        return f"get_json_object({text}, '{escaped(path)}')"
    for key in keys:  # a path cannot contain such a key
        text = f"try_element_at(from_json({text}, 'MAP<STRING,STRING>'), '{escaped(key)}')"
    return text


def _separated(columns: Sequence[Column], layout: Layout, unit: str | None) -> _Reader:
    """Read separated fields, in the order of `layout.names`."""
    names = layout.names or tuple(column.name for column in columns)
    fields = [f"f{place}" for place in range(len(names))]
    places = {name.lower(): place for place, name in reversed(list(enumerate(names)))}
    schema = ", ".join(f"{field} STRING" for field in [*fields, _CORRUPT])
    options = {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
        "sep": layout.delimiter,
        "escape": layout.escape,
        "quote": '"' if layout.quoted else "",
        "maxCharsPerColumn": "-1",
        "maxColumns": str(max(len(names) + 1, 20480)),
    }
    if layout.null is not None:
        options["nullValue"] = layout.null
    pairs = ", ".join(f"'{key}', '{escaped(value)}'" for key, value in options.items())
    line = LINE
    if layout.brackets:  # a web server's [time zone] and a user with spaces are single fields: quote them
        line = f"regexp_replace({line}, '{escaped(USER_WITH_SPACES)}', '$1 \"$2\" [')"
        line = f"regexp_replace({line}, '{_BRACKETS}', '\"$1\"')"
    row = f"from_csv({line}, '{schema}', map({pairs}))"
    values, wrong = [], []
    texts: dict[str, str] = {}
    numbers: dict[str, str] = {}
    for place, column in enumerate(columns):
        text = f"{_ROW}.f{places[(column.path or column.name).lower()]}"
        value = _cast(text, place, column, layout, unit, numbers)
        texts[column.name] = text
        values.append(value)
        if value != text:
            wrong.append(f"WHEN {text} IS NOT NULL AND {_value(place)} IS NULL THEN {_misfit(column)}")
    count = f"'the number of fields is not {len(names)}' "
    reason = " ".join(
        [_unreadable(), f"WHEN {_ROW} IS NULL OR {_ROW}.{_CORRUPT} IS NOT NULL THEN {count}", *wrong]
    )
    as_json = ", ".join(f"'{escaped(name)}', {_ROW}.{field}" for name, field in zip(names, fields, strict=True))
    raw = f"CASE WHEN {_ROW}.{_CORRUPT} IS NULL THEN to_json(named_struct({as_json})) ELSE {LINE} END"
    return _Reader(row, values, f"CASE {reason} END", raw, texts, numbers)


def _cast(text: str, place: int, column: Column, layout: Layout, unit: str | None, numbers: dict[str, str]) -> str:
    """Return the SQL of a text as the column's type, NULL if it does not fit; add the number that it needs."""
    kind = column.type
    if kind.name == "STRING":
        return text
    if kind.name == "TIMESTAMP":
        if unit is None:
            numbers[_number(place)] = number_of(text)
        return time_sql(text, unit, _number(place))
    if not kind.is_nested:
        return f"try_cast({text} AS {kind.name})"
    if layout.set_separator is None or kind.family != "array":
        whole = _parsed(text, kind.name)
        return f"CASE WHEN {whole}.{_CORRUPT} IS NULL THEN {whole}.v END"
    parts = f"split({text}, '{escaped(_literally(layout.set_separator))}')"
    is_empty = f"{text} = '{escaped(layout.empty_set or '')}'"
    return f"CASE WHEN {is_empty} THEN CAST(array() AS {kind.name}) ELSE try_cast({parts} AS {kind.name}) END"


def _misfit(column: Column) -> str:
    return f"'{escaped(f'column {column.name} does not fit {column.type.name}')}'"


def _literally(pattern: str) -> str:
    return f"\\Q{pattern}\\E"


def escaped(text: str) -> str:
    """Return a text escaped for quotes in SQL."""
    return text.replace("\\", "\\\\").replace("'", "\\'")
