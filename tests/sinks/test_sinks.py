"""Where results go, without Spark and without files."""

import io
from datetime import UTC, datetime

import pyarrow as pa
from rich.console import Console

from penstock.runtime.admission import REJECTED
from penstock.sinks.callback_sink import CallbackSink
from penstock.sinks.memory_sink import MemorySink
from penstock.sinks.screen_sink import ScreenSink

SCHEMA = pa.schema([("v", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
ROWS = pa.table([[1, 2], [datetime(2026, 1, 1, tzinfo=UTC), None]], schema=SCHEMA)
REJECTED_ROWS = pa.table([[7], ["late"], ["older"], ['{"v": 1}']], schema=REJECTED)

INT, TIME = pa.int32(), pa.timestamp("us", "UTC")
NESTED = pa.schema(
    [
        ("list", pa.list_(pa.field("element", INT))),
        ("struct", pa.struct([("a", INT), ("at", TIME)])),
        ("map", pa.map_(pa.string(), INT)),
        ("deep", pa.list_(pa.field("element", pa.struct([("times", pa.list_(pa.field("element", TIME)))])))),
        ("n", INT),
    ]
)
STRICT = pa.schema(
    [
        pa.field("list", pa.list_(pa.field("element", INT, nullable=False))),
        pa.field("struct", pa.struct([pa.field("a", INT, nullable=False), ("at", TIME)]), nullable=False),
        pa.field("map", pa.map_(pa.string(), pa.field("value", INT, nullable=False))),
        pa.field(
            "deep",
            pa.list_(pa.field("element", pa.struct([("times", pa.list_(pa.field("x", TIME)))]), nullable=False)),
        ),
        pa.field("n", INT, nullable=False),
    ]
)
"""The same columns, as a job returns them that knows that some of it is never NULL."""
NAIVE = datetime(2026, 1, 1)
ZONED = NAIVE.replace(tzinfo=UTC)


def nested(schema, time=ZONED):
    row = {"list": [1], "struct": {"a": 2, "at": time}, "map": [("k", 3)], "deep": [{"times": [time]}], "n": 4}
    return pa.Table.from_pylist([row], schema=schema)


def both_kinds():
    """The schema, two parts that differ in what may be NULL, and the rows as they should come back."""
    return NESTED, [nested(NESTED), nested(STRICT)], nested(NESTED, NAIVE).to_pylist() * 2


def test_parts_may_differ_in_what_may_be_null():
    schema, parts, rows = both_kinds()
    memory, seen = MemorySink(), []
    for sink in (memory, CallbackSink(lambda query, rows: seen.append(rows))):
        sink.open("q", schema)
        sink.open("none", schema)
        for part in parts:
            sink.emit("q", part)
    found = memory.results
    naive = [{**row, "struct": {"a": 2, "at": NAIVE}, "deep": [{"times": [NAIVE]}]} for row in rows]
    assert found["q"].to_pylist() == naive
    assert found["none"].schema == found["q"].schema == seen[0].schema == seen[1].schema
    assert not any(each.type.tz for each in [found["q"].schema.field("struct").type.field("at")])


def test_the_screen_shows_a_few_rows_and_says_how_many_more():
    written = io.StringIO()
    screen = ScreenSink(Console(file=written, width=100), most=1)
    screen.open("q", SCHEMA)
    screen.emit("q", pa.table({"v": ["[red]x", "y", "z"]}))
    screen.reject("s", REJECTED_ROWS)
    screen.close()
    assert written.getvalue().splitlines() == ["q  v=[red]x", "q  and 2 more", "s: 1 row rejected: older"]


def test_memory_goes_on_where_a_query_of_the_name_ended():
    memory = MemorySink()
    memory.open("q", SCHEMA)
    assert memory.results["q"].num_rows == 0
    memory.emit("q", ROWS)
    memory.open("q", SCHEMA)
    assert memory.results["q"].column("v").to_pylist() == [1, 2]


def test_a_function_is_called_with_times_in_utc():
    seen = []
    called = CallbackSink(lambda query, rows: seen.append((query, rows.to_pylist())))
    called.open("q", SCHEMA)
    called.emit("q", ROWS.slice(0, 1))
    assert seen == [("q", [{"v": 1, "at": datetime(2026, 1, 1)}])]


def of_two(*rows):
    """Results of queries a and b, as a group hands them over."""
    names = pa.DictionaryArray.from_arrays(
        pa.array(["ab".index(name) for name, _ in rows], pa.int32()), ["a", "b"]
    )
    return pa.table({"__query": names, "n": pa.array([n for _, n in rows], pa.int32())})


def test_memory_and_functions_tell_the_queries_of_a_group_apart():
    memory, seen = MemorySink(), []
    called = CallbackSink(lambda query, rows: seen.append((query, rows["n"].to_pylist())))
    for sink in (memory, called):
        for query in "ab":
            sink.open(query, pa.schema([pa.field("n", pa.int32())]))
        sink.emit_group("group 1", of_two(("b", 2), ("a", 1), ("b", 4)))
    assert {query: rows["n"].to_pylist() for query, rows in memory.results.items()} == {"a": [1], "b": [2, 4]}
    assert seen == [("a", [1]), ("b", [2, 4])]


def test_the_screen_shows_times_that_python_has_no_date_for():
    written = io.StringIO()
    far = pa.array([253_402_300_800_000_000], pa.timestamp("us", "UTC"))  # the year 10000
    ScreenSink(Console(file=written, width=100)).emit("q", pa.table({"t": far}))
    assert written.getvalue() == "q  t=253402300800000000\n"
