"""The oracle of aggregates by hand: windows, groups, orders, exact numbers."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from tests.oracle.aggregate_model import FUNCTIONS, aggregate_query
from tests.oracle.aggregates import difference, expected_aggregates, first_window
from tests.oracle.generator import BASE
from tests.oracle.model import Case, StreamData, TableData

SECOND = 1_000_000
COLUMNS = [("k", "STRING"), ("v", "INT"), ("at", "TIMESTAMP")]
COUNTED = "count(*) AS n, min(v) AS low, max(v) AS high"
BASE_US = int(BASE.replace(tzinfo=UTC).timestamp()) * SECOND  # a multiple of 2, 3 and 5 seconds


def seconds(*rows, lateness_s=0, columns=COLUMNS):
    """The stream s of rows (…, seconds), times of 2026-01-01T00:00:00 on."""
    made = [(*row, None if at is None else BASE + timedelta(seconds=at)) for *row, at in rows]
    return StreamData("s", columns, made, "at", None, lateness_s * SECOND)


def in_seconds(kind: str, size: int, slide: int) -> str:
    scale = SECOND if kind == "RANGE" else 1
    return f"s [{kind} {size * scale} SLIDE {slide * scale}]"


def result(stream, select, sources, where="", group="", having="", distinct=False, tables=(), **bounds):
    """The rows as the oracle has them, times as seconds."""
    made = Case([stream], tables, [aggregate_query("q", select, sources, where, group, having, distinct)])
    return [tuple(map(plain, row)) for row in expected_aggregates(made, "q", **bounds)]


def plain(value):
    return (value - BASE).total_seconds() if isinstance(value, datetime) else value


def counted(stream, window, where="", **bounds):
    """(window_start, window_end, rows, least v, greatest v) of each window."""
    return result(stream, f"window_start, window_end, {COUNTED}", in_seconds(*window), where, **bounds)


def numbered(*times, **options):
    """A row at each time; v counts them from 0 as they come."""
    return seconds(*(("a", v, at) for v, at in enumerate(times)), **options)


# --- windows of time ---


def test_tumbling_windows_exclude_their_end():
    """
    s        0 . 1   3 . .     v = 0 at 0 s, 1 at 2 s, 2 at 3 s
    [0, 3)   0 . 1             the row at 3 s is in the next window
    [3, 6)           2
    """
    assert counted(numbered(0, 2, 3), ("RANGE", 3, 3)) == [(0, 3, 2, 0, 1), (3, 6, 1, 2, 2)]


def test_a_row_is_in_every_window_that_overlaps_it():
    """
    s         .  .  0  .  1        v = 0 at 2 s, 1 at 4 s
    [-1, 2)   no row
    [0, 3) [1, 4)   0
    [2, 5)          0  .  1
    [3, 6) [4, 7)         1
    """
    windows = [(0, 3, 1, 0, 0), (1, 4, 1, 0, 0), (2, 5, 2, 0, 1), (3, 6, 1, 1, 1), (4, 7, 1, 1, 1)]
    assert counted(numbered(2, 4), ("RANGE", 3, 1)) == windows


def test_a_range_that_is_no_multiple_of_the_slide():
    """
    s         0  1  2  3  4        RANGE 3 SLIDE 2: rows 0, 2, 4 are in two windows, 1 and 3 in one
    [-2, 1)   0
    [0, 3)    0  1  2
    [2, 5)          2  3  4
    [4, 7)                4
    """
    windows = [(-2, 1, 1, 0, 0), (0, 3, 3, 0, 2), (2, 5, 3, 2, 4), (4, 7, 1, 4, 4)]
    assert counted(numbered(0, 1, 2, 3, 4), ("RANGE", 3, 2)) == windows


def test_rows_in_the_gap_between_windows_are_in_none():
    """RANGE 2 SLIDE 5: [0, 2) and [5, 7); the rows at 2, 3, 4 s are in no window."""
    assert counted(numbered(1, 2, 3, 4, 5), ("RANGE", 2, 5)) == [(0, 2, 1, 0, 0), (5, 7, 1, 4, 4)]


def test_windows_of_a_silence_have_no_result():
    """Nothing between 1 s and 1000 s, and windows longer than all data hold all of it."""
    assert counted(numbered(1, 1000), ("RANGE", 2, 2)) == [(0, 2, 1, 0, 0), (1000, 1002, 1, 1, 1)]
    day = 86_400
    assert counted(numbered(1, 1000), ("RANGE", day, day)) == [(0, day, 2, 0, 1)]
    assert counted(numbered(), ("RANGE", 2, 2)) == []


def test_windows_are_aligned_to_1970():
    """Windows of 11 µs: 2026-01-01 is 1 767 225 600 000 000 µs, which is 8 more than a multiple of 11."""
    assert BASE_US == 1_767_225_600_000_000
    begin = BASE_US - 8
    found = result(numbered(0), "window_start, window_end", "s [RANGE 11 SLIDE 11]", distinct=True)
    assert found == [((begin - BASE_US) / SECOND, (begin + 11 - BASE_US) / SECOND)]


# --- windows of rows ---


def test_windows_of_rows_are_full_or_have_no_result():
    """
    s           0  1  2  3  4  5   at 0, 1, 1, 4, 6, 9 s
    [ROWS 3 SLIDE 2]
    0 to 2      0  1  2            from 0 s to 1 s, both included
    2 to 4            2  3  4      from 1 s to 6 s
    4 to 6                  4  5   not full
    """
    stream = numbered(0, 1, 1, 4, 6, 9)
    assert counted(stream, ("ROWS", 3, 2)) == [(0, 1, 3, 0, 2), (1, 6, 3, 2, 4)]
    assert counted(stream, ("ROWS", 6, 1)) == [(0, 9, 6, 0, 5)]
    assert counted(stream, ("ROWS", 7, 1)) == []
    assert counted(stream, ("ROWS", 1, 4)) == [(0, 0, 1, 0, 0), (6, 6, 1, 4, 4)], "with gaps"


def test_rows_are_counted_before_where():
    """ROWS 2 SLIDE 2 of v = 0 1 | 2 3 | 4 5: WHERE leaves 1, 2, 5, and the windows and their times stay."""
    found = counted(numbered(0, 1, 2, 3, 4, 5), ("ROWS", 2, 2), "v IN (1, 2, 5)")
    assert found == [(0, 1, 1, 1, 1), (2, 3, 1, 2, 2), (4, 5, 1, 5, 5)]


def test_rows_stand_in_order_of_time_and_late_and_malformed_ones_are_not_counted():
    """As they come: 0 s, 5 s, 4 s (in time), none, 2 s (late), 6 s; so 0 | 4 5 | 6 of v 0, 2, 1, 5."""
    stream = numbered(0, 5, 4, None, 2, 6, lateness_s=2)
    assert counted(stream, ("ROWS", 2, 1)) == [(0, 4, 2, 0, 2), (4, 5, 2, 1, 2), (5, 6, 2, 1, 5)]


def test_a_late_row_is_in_no_window_of_time():
    """The row at 2 s comes after 5 s and is 3 s late; with a lateness of 3 s it is in its window."""
    window = ("RANGE", 3, 3)
    assert counted(numbered(0, 5, 2), window) == [(0, 3, 1, 0, 0), (3, 6, 1, 1, 1)]
    assert counted(numbered(0, 5, 2, lateness_s=3), window) == [(0, 3, 2, 0, 2), (3, 6, 1, 1, 1)]


# --- queries that come and go ---


def test_since_and_until_of_time():
    """Windows [0, 2) [1, 3) … of rows at 1, 2, 3, 4 s: begin after `since`, and last µs at most `until`."""
    stream, window = numbered(1, 2, 3, 4), ("RANGE", 2, 1)
    starts = [start for start, *_ in counted(stream, window)]
    assert starts == [0, 1, 2, 3, 4]
    assert [w[0] for w in counted(stream, window, since=BASE_US + 2 * SECOND)] == [3, 4]
    assert [w[0] for w in counted(stream, window, since=BASE_US + 2 * SECOND - 1)] == [2, 3, 4]
    assert [w[0] for w in counted(stream, window, until=BASE_US + 4 * SECOND - 1)] == [0, 1, 2]
    assert [w[0] for w in counted(stream, window, until=BASE_US + 4 * SECOND - 2)] == [0, 1]
    assert counted(stream, window, since=BASE_US + SECOND, until=BASE_US + 4 * SECOND) == [(2, 4, 2, 1, 2)]


def test_since_and_until_of_rows():
    """Windows at positions 0, 2, 4, 6 of eight rows, which are counted from the stream's first in any case."""
    stream, window = numbered(*range(8)), ("ROWS", 2, 2)
    assert [w[0] for w in counted(stream, window, since=2)] == [2, 4, 6]
    assert [w[0] for w in counted(stream, window, since=3)] == [4, 6]
    assert [w[0] for w in counted(stream, window, until=6)] == [0, 2, 4]
    assert [w[0] for w in counted(stream, window, until=5)] == [0, 2]


def test_the_first_window_of_a_query_that_is_created_late():
    """Sequence numbers 0 … 3 at 5, 7, 3 (late), 8 s; the row without a time has none."""
    stream = numbered(5, 7, None, 3, 8)
    of_time = aggregate_query("t", "count(*) AS n", "s [RANGE 2 SLIDE 2]")
    of_rows = aggregate_query("r", "count(*) AS n", "s [ROWS 2 SLIDE 2]")
    made = Case([stream], [], [of_time, of_rows])
    assert [first_window(made, "r", first) for first in range(5)] == [0, 1, 2, 2, 3]
    assert first_window(made, "t", 0) is None
    newest = [(first_window(made, "t", first) - BASE_US) / SECOND for first in range(1, 5)]
    assert newest == [5, 7, 7, 8]


# --- groups ---


def test_null_keys_form_a_group():
    """In [0, 3) keys a, NULL, a, NULL; in [3, 6) only NULL: no group from before is left."""
    stream = seconds(("a", 1, 0), (None, 2, 1), ("a", 4, 1), (None, 8, 2), (None, 16, 3))
    found = result(stream, "k, sum(v) AS s, window_end", in_seconds("RANGE", 3, 3), group="k")
    assert found == [(None, 10, 3), (None, 16, 6), ("a", 5, 3)]


def test_what_where_leaves_empty_has_no_result_and_what_filter_leaves_empty_has():
    """WHERE v > 1 empties [0, 3); FILTER (WHERE v > 9) empties no group, count is 0 and sum NULL."""
    stream = seconds(("a", 1, 0), ("a", 2, 3), ("b", 3, 4))
    assert counted(stream, ("RANGE", 3, 3), "v > 1") == [(3, 6, 2, 2, 3)]
    where = "FILTER (WHERE v > 9)"
    select = f"k, count(*) {where} AS n, sum(v) {where} AS s, first(v) {where} AS f"
    assert result(stream, select, in_seconds("RANGE", 6, 6), "v > 1", "k") == [
        ("a", 0, None, None),
        ("b", 0, None, None),
    ]


def test_keys_that_are_expressions_and_having():
    """v + 1 is 2 2 3 4; HAVING looks at each window's groups: 2 has two rows, and sum > 3 keeps 3 + 1."""
    stream = seconds(("a", 1, 0), ("b", 1, 1), ("a", 2, 1), ("a", 3, 2))
    window = in_seconds("RANGE", 3, 3)
    assert result(stream, "(v + 1) AS up, count(*) AS n", window, "", "(v + 1)", "count(*) > 1") == [(2, 2)]
    assert result(stream, "(v + 1) AS up", window, "", "(v + 1)", "sum(v) + 1 > 3 AND (v + 1) < 4") == []
    assert result(stream, "(v + 1) AS up", window, "", "(v + 1)", "sum(v) + 1 > 2 AND (v + 1) < 4") == [(2,), (3,)]


def test_distinct_is_of_each_window():
    """Keys a a b in [0, 3), a in [3, 6): a appears once for each window, also where nothing shows which."""
    stream = seconds(("a", 1, 0), ("a", 2, 1), ("b", 3, 2), ("a", 4, 3))
    window = in_seconds("RANGE", 3, 3)
    assert result(stream, "k, window_end", window, distinct=True) == [("a", 3), ("a", 6), ("b", 3)]
    assert result(stream, "k", window, distinct=True) == [("a",), ("a",), ("b",)]


def test_a_row_counts_once_for_each_row_of_the_table_that_it_meets():
    """a meets two table rows, b one, c none; windows of rows are counted before that."""
    stream = seconds(("a", 1, 0), ("b", 2, 1), ("c", 4, 2), ("a", 8, 3))
    table = TableData("t", [("key", "STRING"), ("w", "INT")], [("a", 10), ("a", 20), ("b", 30), (None, 40)])
    select = "count(*) AS n, sum(r.v) AS v, sum(t.w) AS w, last(r.v) AS last, window_start, window_end"
    for sources in ("s [ROWS 2 SLIDE 2] AS r, t AS t", "t AS t, s [ROWS 2 SLIDE 2] AS r"):
        found = result(stream, select, sources, "r.k = t.key", tables=[table])
        assert found == [(2, 16, 30, 8, 2, 3), (3, 4, 60, 2, 0, 1)]


# --- aggregates ---


def aggregates(select: str, *rows, **options) -> list[tuple]:
    """Of rows (k, v, seconds) in one window."""
    return result(seconds(*rows, **options), select, in_seconds("RANGE", 60, 60))


def test_of_equal_keys_the_earliest_row_wins_in_min_by_and_max_by():
    """As they come NULL at 1 s, a and c at 2 s, e at 3 s, and d at 0 s: it is in time but has no key."""
    rows = [(None, 1, 1), ("a", 5, 2), ("c", 5, 2), ("e", 1, 3), ("d", None, 0)]
    assert aggregates("min_by(k, v) AS low, max_by(k, v) AS high", *rows, lateness_s=3) == [(None, "a")]
    found = aggregates(
        "max_by(k, v) FILTER (WHERE k <> 'a') AS high, min_by(k, v) FILTER (WHERE v > 9) AS no", *rows
    )
    assert found == [("c", None)]
    assert aggregates("max_by(k, v) AS high", ("d", None, 0)) == [(None,)]


def test_first_and_last_go_by_time_then_sequence_and_take_null():
    """As they come: a at 2 s, b at 1 s, c at 2 s, NULL at 1 s; in order b, NULL, a, c."""
    rows = [("a", 1, 2), ("b", 2, 1), ("c", 3, 2), (None, 4, 1)]
    assert aggregates("first(k) AS f, last(k) AS l", *rows, lateness_s=1) == [("b", "c")]
    assert aggregates("first(k) AS f, last(k) AS l", *rows) == [("a", "c")], "b and NULL are late"
    filtered = "first(k) FILTER (WHERE v > 2) AS f, last(k) FILTER (WHERE v IN (2, 4)) AS l"
    assert aggregates(filtered, *rows, lateness_s=1) == [(None, None)]


def test_counts():
    """Of (a, 1) (a, 1) (a, 2) (NULL, 2) (b, NULL): pairs with a NULL are none."""
    rows = [("a", 1, 0), ("a", 1, 1), ("a", 2, 2), (None, 2, 3), ("b", None, 4)]
    select = "count(*) AS n, count(k) AS k, count(DISTINCT k) AS dk, count(DISTINCT k, v) AS dkv, count(v) AS v"
    assert aggregates(select, *rows) == [(5, 4, 2, 2, 4)]


def test_aggregates_ignore_null_and_are_null_of_nothing():
    names = [
        name
        for name in FUNCTIONS
        if name not in ("count", "first", "last", "min_by", "max_by", "bool_and", "bool_or")
    ]
    select = ", ".join(f"{name}(v) AS {name}" for name in names)
    assert aggregates(select, ("a", None, 0), ("a", None, 1)) == [(None,) * len(names)]
    # sum, avg, min, max, stddev_samp, stddev_pop, var_samp, var_pop
    assert aggregates(select, ("a", None, 0), ("a", 7, 1)) == [(7, 7.0, 7, 7, None, 0.0, None, 0.0)]
    wanted = [(8, 4.0, 2, 6, 8**0.5, 2.0, 8.0, 4.0)]
    assert difference(wanted, aggregates(select, ("a", 2, 0), ("a", None, 1), ("a", 6, 2))) == ""


def test_booleans():
    """v > 2 is true, NULL, false; NULLs are left out."""
    rows = [("a", 3, 0), ("a", None, 1), ("a", 1, 2)]
    select = "bool_and(v > 2) AS a, bool_or(v > 2) AS o, bool_and(v > 2) FILTER (WHERE v IS NULL OR v > 1) AS t"
    assert aggregates(select, *rows) == [(False, True, True)]
    assert aggregates("bool_and(v > 2) AS a, bool_or(v > 2) AS o", rows[1]) == [(None, None)]


def test_decimals_are_exact_and_averages_round_half_up():
    """Of DECIMAL(9,2), avg is a DECIMAL(13,6): 1.00 ÷ 3 = 0.333333, 0.01 ÷ 32 = 0.0003125, which is 0.000313."""
    columns = [("k", "STRING"), ("v", "DECIMAL(9,2)"), ("at", "TIMESTAMP")]

    def of(*values):
        rows = [("a", None if value is None else Decimal(value), 0) for value in values]
        ((total, mean),) = aggregates("sum(v) AS s, avg(v) AS m", *rows, columns=columns)
        return str(total), str(mean)

    assert of("1.00", "0.00", "0.00", None) == ("1.00", "0.333333")
    assert of("-1.00", "-0.00", "-1.00") == ("-2.00", "-0.666667")
    zeros = ["0.00"] * 31
    assert of("0.01", *zeros) == ("0.01", "0.000313")
    assert of("-0.01", *zeros) == ("-0.01", "-0.000313"), "halves away from zero"
    assert of("9999999.99", "9999999.99") == ("19999999.98", "9999999.990000")
    assert aggregates("sum(v) AS s, avg(v) AS m", ("a", None, 0), columns=columns) == [(None, None)]


def test_sums_of_whole_numbers_are_exact():
    columns = [("k", "STRING"), ("v", "BIGINT"), ("at", "TIMESTAMP")]
    found = aggregates("sum(v) AS s", ("a", 2**53 + 1, 0), ("a", 2**53, 1), columns=columns)
    assert found == [(2**54 + 1,)]
    assert type(found[0][0]) is int
