"""Windows in FROM, and SQL that is none."""

import pytest

from penstock.language.statements import WindowDef
from tests.language.asking import query, refused


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("[ROWS 1]", WindowDef("rows", 1)),
        ("[rows 1000000000]", WindowDef("rows", 10**9)),
        ("[RANGE 5 SECONDS]", WindowDef("range", 5_000_000)),
        ("[range 5 second]", WindowDef("range", 5_000_000)),
        ("[RANGE 0.5 S]", WindowDef("range", 500_000)),
        ("[RANGE 0.25 ms]", WindowDef("range", 250)),
        ("[RANGE 1e3 MICROSECONDS]", WindowDef("range", 1_000)),
        ("[RANGE 1.5 MINUTES]", WindowDef("range", 90_000_000)),
        ("[RANGE 2 HOURS]", WindowDef("range", 7_200_000_000)),
        ("[RANGE 1 DAY]", WindowDef("range", 86_400_000_000)),
        ("[RANGE 0 SECONDS]", WindowDef("range", 0)),
        ("[\n  ROWS -- as many\n 7\n]", WindowDef("rows", 7)),
    ],
)
def test_windows(written, window):
    [item] = query(f"SELECT bytes FROM packets {written} AS p").items
    assert item.window == window
    assert item.alias == "p"


def test_windows_are_written_out():
    assert [str(WindowDef("rows", 3)), str(WindowDef("range", 5))] == ["[ROWS 3]", "[RANGE 5 MICROSECONDS]"]


@pytest.mark.parametrize(
    ("items", "says", "marked"),
    [
        (
            "packets [ROWS 0]",
            "ROWS needs a whole number between 1 and 1,000,000,000, not 0",
            "0",
        ),
        ("packets [ROWS 1.5]", "ROWS needs a whole number", "1.5"),
        ("packets [ROWS 1000000001]", "ROWS needs a whole number", "1000000001"),
        (f"packets [ROWS {'9' * 30}]", "not " + "9" * 20, "9" * 30),
        ("packets [ROWS ²]", "expected a number after ROWS, not '²'", "²"),
        ("packets [ROWS -1]", "expected a number after ROWS, not '-'", "-"),
        ("packets [ROWS]", "expected a number after ROWS, not ']'", "]"),
        ("packets [ROWS n]", "expected a number after ROWS, not 'n'", "n"),
        ("packets [ROWS '5']", "expected a number after ROWS, not '5'", "'5'"),
        ("packets [ROWS 5 ROWS]", "expected ] after the window, not 'ROWS'", "ROWS"),
        ("packets [ROWS 5 AS p", "expected ] after the window, not 'AS'", "AS"),
        ("packets [ROWS 5", "expected ] after the window, not the end of the statement", ";"),
        (
            "packets [RANGE 5]",
            "expected a unit of time after the number, as in [RANGE 5 S",
            "]",
        ),
        (
            "packets [RANGE 5 PARSECS]",
            "'PARSECS' is not a unit of time; use us",
            "5 PARSECS",
        ),
        (
            "packets [RANGE 5s]",
            "write a space between the number and its unit: [RANGE 5 s]",
            "5s",
        ),
        ("packets [RANGE 5ms]", "not '5ms': write a space between it and the unit", "5ms"),
        ("packets [RANGE 0.1 us]", "0.1 us is not a whole number of microseconds", "0.1 us"),
        ("packets [RANGE 1e999999999 s]", "'1e999999999' is not a number", "1e999999999 s"),
        ("packets [RANGE 1e15 d]", "1e15 d is out of range", "1e15 d"),
        ("packets [RANGE 5 SECONDS STEP 1]", "expected ] after the window, not 'STEP'", "STEP"),
        ("packets p [ROWS 5]", "a window must follow the name of a stream", "[ROWS 5]"),
        ("packets WHERE bytes [ROWS 5] > 1", "a window must follow the name", "[ROWS 5]"),
        ("[ROWS 5] packets", "a window must follow the name of a stream", "[ROWS 5]"),
        ("packets [ROWS 5] [ROWS 6]", "a window must follow the name of a stream", "["),
        ("packets, hosts [ROWS 5]", "hosts is a stored table and cannot have a window", "[ROWS 5]"),
        ("packets [NOW]", "expected the name of a stream or a table", "packets [NOW]"),
        ("packets [5]", "expected the name of a stream or a table", "packets [5]"),
        (
            "packets p, replies [ROWS 5] r",
            "stream packets is joined with another stream",
            "packets",
        ),
        (
            "packets [ROWS 5] p, replies",
            "needs a window: replies [RANGE 5 SECONDS] or",
            "replies",
        ),
    ],
)
def test_windows_that_cannot_be(items, says, marked):
    found = refused(f"SELECT 1 AS a FROM {items}")
    assert says in found.message
    assert found.marked == marked


@pytest.mark.parametrize(
    ("select", "says", "marked"),
    [
        ("SELECT", "a query needs FROM and the name of a stream", "SELECT"),
        ("SELECT src", "a query needs FROM and the name of a stream", "SELECT src"),
        ("SELECT src FROM", "expected the name of a stream or a table after this", "FROM"),
        ("SELECT FROM packets", "a query needs a column between SELECT and FROM", "SELECT FROM packets"),
        ("SELECT src FROM packets WHERE", "something is missing after this", "WHERE"),
        ("SELECT src FROM packets WHERE bytes >", "something is missing after this", ">"),
        ("SELECT src FROM packets JOIN", "expected the name of a stream or a table after this", "JOIN"),
        ("SELECT src FROM packets JOIN hosts ON", "something is missing after this", "ON"),
        ("SELECT src, FROM packets", "something is missing after this comma", ","),
        ("SELECT src,, dst FROM packets", "something is missing after this comma", ","),
        ("SELECT src FROM packets, WHERE bytes > 1", "something is missing after this comma", ","),
        ("SELECT src FROM packets WHERE bytes IN (1, )", "something is missing after this comma", ","),
        ("SELECT src a dst FROM packets", "this is not valid SQL here", "dst"),
        ("SELECT (src FROM packets", "expected ) here", "FROM"),
        ("SELECT src) FROM packets", "this is not valid SQL here", ")"),
        ("SELECT src FROM packets WHERE (bytes > 3", "expected ) here", "3"),
        ("SELECT src FROM packets WHERE bytes > 3)", "this is not valid SQL here", ")"),
        ("SELECT src FROM packets WHERE bytes ** 2 > 3", "this is not valid SQL here", "2"),
        ("SELECT abs(bytes, 1) AS a FROM packets", "ABS takes 1 argument, not 2", "abs(bytes, 1)"),
        ("SELECT mod(bytes, 1, 2) AS a FROM packets", "MOD takes 2 arguments", "mod(bytes, 1, 2)"),
        ("SELECT upper(mod(bytes)) AS a FROM packets", "MOD takes 2 arguments", "mod(bytes)"),
        ("SELECT int(src, 1) AS a FROM packets", "INT takes 1 argument: it is a cast", "int(src, 1)"),
        ("SELECT left(src) AS a FROM packets", "LEFT takes 2 arguments, not 1", "left(src)"),
        ("SELECT trunc(at) AS a FROM packets", "TRUNC takes 2 arguments: a date and a unit", "trunc(at)"),
        ("SELECT nullif(src) AS a FROM packets", "NULLIF takes 2 arguments, not 1", "nullif(src)"),
        ("SELECT coalesce() AS a FROM packets", "COALESCE takes 1 or more arguments, not 0", "coalesce()"),
        ("SELECT abs(bytes >) AS a FROM packets", "something is missing after this", ")"),
        ("SELECT inet_aton(src) AS a FROM packets", "no functions for IP addresses", "inet_aton(src)"),
        ("SELECT unix_timestamp() AS a FROM packets", "the time of the call", "unix_timestamp()"),
        ("SELECT date_format(at, 'YYYY') AS a FROM packets", "'Y' is not a letter", "'YYYY'"),
        ("SELECT js:a FROM logs", "js:a is not supported: write get_json_object(js, '$.a')", "js:a"),
        ("SELECT id FROM logs WHERE js:a.b = 'x'", "write get_json_object(js, '$.a')", "js:a"),
        ("SELECT (js):a[0] FROM logs", "write get_json_object(…, '$.a')", "):a"),
        (
            "SELECT 7L AS a FROM packets",
            "a letter after a number is not supported: write CAST(7 AS BIGINT)",
            "7L",
        ),
        ("SELECT 1.5BD AS a FROM packets", "a letter after a number is not supported", "1.5BD"),
        ("SELECT src FROM packets |> WHERE bytes > 1", "|> is not supported", "|>"),
        ("SELECT AS src FROM packets", "expected a column between SELECT and AS", "AS"),
        ("SELECT map(src) FROM packets", "unknown function or expression 'map'", "map(src)"),
        ("SELECT date_trunc() FROM packets", "DATE_TRUNC takes 2 arguments: a unit", "date_trunc()"),
        ("(packets)", "expected a SELECT in this query", "("),
        ("FROM packets", "expected SELECT after AS, not 'FROM'", "FROM"),
        ("INSERT INTO x SELECT 1", "expected SELECT after AS, not 'INSERT'", "INSERT"),
    ],
)
def test_sql_that_is_none(select, says, marked):
    found = refused(select)
    assert says in found.message
    assert found.marked == marked
