"""The oracle by hand: ties, edges, counting, self-joins, late rows, ranges; and against brute force."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.brute import brute, on_time
from tests.oracle.generator import BASE, twins
from tests.oracle.model import Case, StreamData, TableData
from tests.oracle.oracle import difference, expected, expected_late
from tests.oracle.shape_parts import query
from tests.oracle.shapes import EMPTY, SHAPES

COLUMNS = [("k", "INT"), ("v", "STRING"), ("at", "TIMESTAMP")]


def seconds(name, *rows, lateness_s=0):
    """A stream of rows (key, value, seconds)."""
    made = [(k, v, None if t is None else BASE + timedelta(seconds=t)) for k, v, t in rows]
    return StreamData(name, COLUMNS, made, "at", None, lateness_s * 1_000_000)


def pairs(streams, sources, where="", ranges=None):
    """The result's values side by side: 'a1 b2' for each row of SELECT a.v, b.v."""
    names = [source.split()[-1] for source in sources.split(", ")]
    case = Case(streams, [], [query("q", ", ".join(f"{name}.v AS {name}v" for name in names), sources, where)])
    return [" ".join(row) for row in expected(case, "q", ranges)]


def test_a_range_includes_what_is_exactly_as_old():
    """
    a   a0 .. .. .. .. .. a6
    b   .. .. .. b3 .. b5 ..      a0 is 3 s old at b3, 5 s at b5; b3 is 3 s old at a6, b5 1 s
    """
    a, b = seconds("a", (1, "a0", 0), (1, "a6", 6)), seconds("b", (1, "b3", 3), (1, "b5", 5))
    assert pairs([a, b], "a [RANGE 3000000] AS a, b [RANGE 1000000] AS b") == ["a0 b3", "a6 b5"]
    assert pairs([a, b], "a [RANGE 2999999] AS a, b [RANGE 3000000] AS b") == ["a6 b3", "a6 b5"]
    assert pairs([a, b], "a [RANGE 1] AS a, b [RANGE 999999] AS b") == []


def test_the_window_is_measured_at_the_last_row_of_all():
    """a0 and b2 are 2 s apart, yet at c5, the last, a0 is 5 s old."""
    streams = [seconds(name, (1, f"{name}{t}", t)) for name, t in (("a", 0), ("b", 2), ("c", 5))]
    assert pairs(streams, "a [RANGE 4000000] AS a, b [RANGE 4000000] AS b, c [RANGE 1] AS c") == []
    assert pairs(streams, "a [RANGE 5000000] AS a, b [RANGE 3000000] AS b, c [RANGE 1] AS c") == ["a0 b2 c5"]


def test_rows_are_counted_up_to_the_last_row():
    """
    a   a0 a1 .. .. a4
    b   .. .. b2 b3 ..      before b2: a0 a1; before a4: b2 b3
    """
    a = seconds("a", (1, "a0", 0), (1, "a1", 1), (1, "a4", 4))
    b = seconds("b", (1, "b2", 2), (1, "b3", 3))
    assert pairs([a, b], "a [ROWS 1] AS a, b [ROWS 1] AS b") == ["a1 b2", "a1 b3", "a4 b3"]
    assert pairs([a, b], "a [ROWS 2] AS a, b [ROWS 1] AS b") == ["a0 b2", "a0 b3", "a1 b2", "a1 b3", "a4 b3"]


def test_rows_are_counted_before_where():
    """The newest a before b2 is a1, which WHERE rejects: a0 does not move up."""
    a, b = seconds("a", (1, "a0", 0), (2, "a1", 1)), seconds("b", (1, "b2", 2))
    assert pairs([a, b], "a [ROWS 1] AS a, b [ROWS 1] AS b", "a.k = b.k") == []
    assert pairs([a, b], "a [ROWS 2] AS a, b [ROWS 1] AS b", "a.k = b.k") == ["a0 b2"]


def test_equal_times_stand_in_the_order_of_from():
    """All at 0 s. With a first, both a precede both b, and b1, b2 each see the newest a; nothing sees a b."""
    a, b = seconds("a", (1, "a1", 0), (1, "a2", 0)), seconds("b", (1, "b1", 0), (1, "b2", 0))
    assert pairs([a, b], "a [ROWS 1] AS a, b [ROWS 1] AS b") == ["a2 b1", "a2 b2"]
    assert pairs([a, b], "b [ROWS 1] AS b, a [ROWS 1] AS a") == ["b2 a1", "b2 a2"]
    assert pairs([a, b], "a [RANGE 1] AS a, b [RANGE 1] AS b") == ["a1 b1", "a1 b2", "a2 b1", "a2 b2"]


def test_a_stored_table_in_from_does_not_change_places():
    a, b = seconds("a", (1, "a1", 0), (1, "a2", 0)), seconds("b", (1, "b1", 0))
    names = TableData("names", [("k", "INT"), ("name", "STRING")], [(1, "one"), (1, "uno"), (2, "two")])
    for sources in (
        "names AS n, a [ROWS 1] AS a, b [ROWS 1] AS b",
        "a [ROWS 1] AS a, names AS n, b [ROWS 1] AS b",
    ):
        case = Case([a, b], [names], [query("q", "a.v, b.v AS w, n.name", sources, "a.k = n.k")])
        assert expected(case, "q") == [("a2", "b1", "one"), ("a2", "b1", "uno")]


def test_a_self_join_has_two_places():
    """Every row meets itself; of two others, the later one sees the earlier one from either place."""
    s = seconds("s", (1, "r0", 0), (1, "r1", 1), (1, "r5", 5))
    together = ["r0 r0", "r0 r1", "r1 r0", "r1 r1", "r5 r5"]
    assert pairs([s], "s [RANGE 1000000] AS x, s [RANGE 1000000] AS y") == together
    # At r1 as y the newest x is r1 itself; at r1 as x the newest y is r0.
    assert pairs([s], "s [ROWS 1] AS x, s [ROWS 1] AS y") == ["r0 r0", "r1 r0", "r1 r1", "r5 r1", "r5 r5"]


def test_a_self_join_with_equal_times():
    """r1 and r2 at one time: as x both precede both as y, so y always sees x = r2, and no x sees a y."""
    s = seconds("s", (1, "r1", 0), (1, "r2", 0))
    assert pairs([s], "s [ROWS 1] AS x, s [ROWS 1] AS y") == ["r2 r1", "r2 r2"]
    assert pairs([s], "s [ROWS 2] AS x, s [ROWS 1] AS y") == ["r1 r1", "r1 r2", "r2 r1", "r2 r2"]


def test_late_rows_are_left_out_by_sequence():
    """Newest so far 0 5 5 5 7: with a lateness of 2 s the row at 3 is on time and the one at 2 late."""
    rows = [(1, "r0", 0), (1, "r5", 5), (1, "r3", 3), (1, "r2", 2), (1, "r7", 7), (1, "s5", 5)]
    for lateness, kept, late in (
        (2, "r0 r3 r5 r7 s5", ["r2"]),
        (0, "r0 r5 r7", ["r2", "r3", "s5"]),
        (3, "r0 r2 r3 r5 r7 s5", []),
    ):
        case = Case([seconds("s", *rows, lateness_s=lateness)], [], [query("q", "v", "s")])
        assert [v for (v,) in expected(case, "q")] == kept.split()
        assert [v for _, v, _ in expected_late(case, "s")] == late


def test_a_late_row_counts_for_nothing():
    """a1 is late, so the newest a at b3 is a2; rows that come late but in time are counted by time."""
    b = seconds("b", (1, "b3", 3))
    rows = [(1, "a0", 0), (1, "a2", 2), (1, "a1", 1)]
    assert pairs([seconds("a", *rows), b], "a [ROWS 2] AS a, b [ROWS 1] AS b") == ["a0 b3", "a2 b3"]
    assert pairs([seconds("a", *rows, lateness_s=1), b], "a [ROWS 2] AS a, b [ROWS 1] AS b") == ["a1 b3", "a2 b3"]
    assert pairs([seconds("a", *rows, lateness_s=1), b], "a [ROWS 1] AS a, b [ROWS 1] AS b") == ["a2 b3"]


def test_a_row_without_time_is_malformed():
    s = seconds("s", (1, "r0", 0), (1, "none", None), (1, "r1", 1))
    case = Case([s], [], [query("q", "v", "s")])
    assert expected(case, "q") == [("r0",), ("r1",)]
    assert expected_late(case, "s") == []
    assert expected(case, "q", {"s": (1, 2)}) == [("r1",)], "it has no sequence number"


def test_null_keys_meet_nothing():
    a, b = seconds("a", (None, "a0", 0), (1, "a1", 0)), seconds("b", (None, "b0", 0), (1, "b1", 0))
    assert pairs([a, b], "a [ROWS 9] AS a, b [ROWS 9] AS b", "a.k = b.k") == ["a1 b1"]


def test_a_query_sees_its_range_and_windows_are_empty_before():
    a = seconds("a", *((1, f"a{t}", t) for t in range(4)))
    b = seconds("b", (1, "b4", 4), (1, "b5", 5))
    sources = "a [ROWS 3] AS a, b [ROWS 3] AS b"
    assert pairs([a, b], sources, ranges={"a": (2, 4)}) == ["a2 b4", "a2 b5", "a3 b4", "a3 b5"]
    assert pairs([a, b], sources, ranges={"a": (0, 2), "b": (1, 2)}) == ["a0 b5", "a1 b5"]
    assert pairs([a, b], sources, ranges={"a": (2, 2)}) == []


def test_lateness_is_the_streams_and_not_the_querys():
    """r1 is late because of r5, which this query does not see."""
    case = Case([seconds("s", (1, "r5", 5), (1, "r1", 1), (1, "r6", 6))], [], [query("q", "v", "s")])
    assert expected(case, "q", {"s": (1, 3)}) == [("r6",)]


def test_what_has_no_meaning_is_refused():
    a, b = seconds("a", (1, "a", 0)), seconds("b", (1, "b", 0))
    untimed = StreamData("u", [("k", "INT")], [(1,)])
    table = TableData("t", [("k", "INT")], [(1,)])
    for sources in (
        "a AS a, b [ROWS 1] AS b",
        "a [ROWS 1] AS a, u [ROWS 1] AS u",
        "t AS t",
        "a AS a, t [ROWS 1] AS t",
    ):
        case = Case([a, b, untimed], [table], [query("q", "1 AS one", sources)])
        with pytest.raises(ValueError, match=r"^q: "):
            expected(case, "q")


@pytest.mark.slow
@settings(max_examples=200)
@given(twins(max_rows=10, combined=1000), st.data())
def test_duckdb_and_plain_loops_agree(twin, data):
    case, meanings = twin
    ranges = None
    if data.draw(st.booleans()):
        first, size = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 9))
        ranges = {case.streams[0].name: (first, first + size)}
    for spec in case.queries:
        meaning = meanings[spec.name]
        wanted = brute(case, spec.name, meaning.where, meaning.select, ranges)
        assert difference(wanted, expected(case, spec.name, ranges)) == "", spec.text()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_every_query_of_every_shape_has_results(name, seed):
    case = SHAPES[name](seed)
    sizes = {query.name: len(expected(case, query.name)) for query in case.queries}
    if name in EMPTY:
        assert set(sizes.values()) == {0}
    else:
        assert min(sizes.values()) > 5
        assert max(sizes.values()) < 20_000
        assert all(50 <= len(stream.rows) <= 400 for stream in case.streams)


def test_shapes_repeat_themselves_and_differ_by_seed():
    for make in SHAPES.values():
        assert make(1) == make(1) != make(2)


def test_the_shapes_use_every_format_and_have_late_rows():
    cases = [make(0) for make in SHAPES.values()]
    assert {stream.format for case in cases for stream in case.streams} == {"json", "csv", "parquet"}
    assert {table.format for case in cases for table in case.tables} == {"json", "csv", "parquet"}
    late = SHAPES["lateness"](0)
    for stream in late.streams:
        assert (len(on_time(stream)) < len(stream.rows)) == bool(expected_late(late, stream.name))
    assert expected_late(late, "packets")
