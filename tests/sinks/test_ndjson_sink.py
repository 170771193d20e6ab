"""Results as lines of JSON: every type has a value that any reader of JSON understands."""

import io
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa

from penstock.plan.group import QUERY
from penstock.sinks.ndjson_sink import NdjsonSink


def lines(table: pa.Table, query: str = "q") -> list[dict]:
    file = io.StringIO()
    NdjsonSink(file).emit(query, table)

    def refuse(text):
        raise AssertionError(f"{text} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in file.getvalue().splitlines()]


def test_every_type():
    table = pa.table(
        {
            "query": ["a column of this name"],
            "none": pa.array([None], pa.int32()),
            "yes": [True],
            "big": [2**62],
            "x": [0.5],
            "nan": [math.nan],
            "inf": [-math.inf],
            "d": pa.array([Decimal("1.10")], pa.decimal128(9, 2)),
            "t": pa.array([datetime(2026, 1, 31, 12, 0, 0, 250_000, UTC)], pa.timestamp("us", "UTC")),
            "day": [date(2026, 1, 31)],
            "bytes": [b"\x00\xff"],
            "text": ['a "b"\nö'],
            "list": [[1, None, 2]],
            "struct": [{"a": 1, "b": ["x"]}],
            "map": pa.array([[("k", 1), ("l", None)]], pa.map_(pa.string(), pa.int32())),
            "empty": pa.array([[]], pa.map_(pa.string(), pa.int32())),
        }
    )
    [found] = lines(table)
    assert found["query"] == "q"
    assert found["row"] == {
        "query": "a column of this name",
        "none": None,
        "yes": True,
        "big": 2**62,
        "x": 0.5,
        "nan": "NaN",
        "inf": "-Infinity",
        "d": "1.10",
        "t": "2026-01-31T12:00:00.250000Z",
        "day": "2026-01-31",
        "bytes": "AP8=",
        "text": 'a "b"\nö',
        "list": [1, None, 2],
        "struct": {"a": 1, "b": ["x"]},
        "map": {"k": 1, "l": None},
        "empty": {},
    }


def test_rows_of_a_group_go_to_their_queries():
    whose = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int32()), pa.array(["one", "two"]))
    file = io.StringIO()
    NdjsonSink(file).emit_group("g", pa.table({QUERY: whose, "v": [1, 2, 3]}))
    found = [json.loads(line) for line in file.getvalue().splitlines()]
    assert sorted((each["query"], each["row"]["v"]) for each in found) == [("one", 2), ("two", 1), ("two", 3)]


def test_times_that_python_has_no_date_for_are_texts():
    far = pa.array([None, 253_402_300_800_000_000], pa.timestamp("us", "UTC"))  # the year 10000
    assert [each["row"] for each in lines(pa.table({"t": far}))] == [{"t": None}, {"t": "253402300800000000"}]
