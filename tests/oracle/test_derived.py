"""Derived streams and LEFT JOIN by hand: times, order, numbers, windows over them; and what random cases have."""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from tests.oracle.aggregate_model import AggregateSpec, aggregate_query
from tests.oracle.derived import TIME, Begun, expected_of, resolved
from tests.oracle.derived_generator import derived_cases
from tests.oracle.generator import BASE, with_variants
from tests.oracle.model import Case, DerivedSpec, FromItem, QuerySpec, StreamData, TableData
from tests.oracle.oracle import expected
from tests.oracle.shape_parts import query

COLUMNS = [("k", "INT"), ("v", "STRING"), ("at", "TIMESTAMP")]
SECOND = 1_000_000


def seconds(name, *rows, lateness_s=0):
    """A stream of rows (key, value, seconds)."""
    made = [(k, v, None if t is None else BASE + timedelta(seconds=t)) for k, v, t in rows]
    return StreamData(name, COLUMNS, made, "at", None, lateness_s * SECOND)


def rows_of(streams, *derived, tables=(), begun=None) -> list[str]:
    """The rows of the last derived stream in order, as text: 'a1 b2 @2'."""
    whole = resolved(Case(streams, list(tables), [], derived=derived), begun)
    return [
        " ".join(map(str, values)) + f" @{(time - BASE) / timedelta(seconds=1):g}"
        for *values, time in whole.stream(derived[-1].name).rows
    ]


def derived(name, columns, *branches) -> DerivedSpec:
    return DerivedSpec(name, [(column, "STRING") for column in columns.split()], branches)


A = seconds("a", (1, "a2", 2), (1, "a0", 0), (2, "a1", 1), (2, "x1", 1), lateness_s=5)
B = seconds("b", (1, "b1", 1), (2, "b0", 1), (3, "b3", 3))


def test_a_selection_keeps_times_and_stands_in_order_of_time():
    assert rows_of([A], derived("d", "v", query("d", "v", "a"))) == ["a0 @0", "a1 @1", "x1 @1", "a2 @2"]


def test_equal_times_stand_by_the_place_in_union_then_by_sequence():
    """By sequence, and not by columns: b1 comes before b0."""
    one, two = query("one", "v", "b"), query("two", "v", "a")
    assert rows_of([A, B], derived("d", "v", one, two))[1:5] == ["b1 @1", "b0 @1", "a1 @1", "x1 @1"]
    assert rows_of([A, B], derived("d", "v", two, one))[1:5] == ["a1 @1", "x1 @1", "b1 @1", "b0 @1"]


def test_a_combination_has_the_time_of_its_last_row_and_stands_by_all_sequence_numbers():
    """At 1 s: a1, x1 of a (numbers 2 and 3) with b1, b0 (numbers 0 and 1); a0 (number 1) before them."""
    join = query("d", "a.v AS v, b.v AS w", f"a [RANGE {SECOND}] AS a, b [RANGE 1] AS b")
    at_1 = [f"{a} {b} @1" for a in ("a0", "a1", "x1") for b in ("b1", "b0")]
    assert rows_of([A, B], derived("d", "v w", join)) == [*at_1, "a2 b3 @3"]
    turned = query("d", "a.v AS v, b.v AS w", f"b [RANGE 1] AS b, a [RANGE {SECOND}] AS a")
    assert rows_of([A, B], derived("d", "v w", turned)) == [
        *(f"{a} {b} @1" for b in ("b1", "b0") for a in ("a0", "a1", "x1")),
        "a2 b3 @3",
    ]


def test_rows_of_a_table_stand_by_columns_with_nulls_first():
    table = TableData("t", [("key", "INT"), ("w", "STRING")], [(1, "z"), (1, None), (1, "B"), (1, "a")])
    looked_up = query("d", "b.v, t.w", "b AS b, t AS t", "b.k = t.key")
    found = rows_of([B], derived("d", "v w", looked_up), tables=[table])
    assert found == ["b1 None @1", "b1 B @1", "b1 a @1", "b1 z @1"]


def test_aggregates_have_the_end_of_their_window_and_stand_by_its_beginning():
    """Windows [-1 … 1) with a0; [0 … 2) with a0, a1, x1; [1 … 3) with a1, x1, a2; [2 … 4) with a2."""
    count = aggregate_query("d", "k, count(*) AS n", f"a [RANGE {2 * SECOND} SLIDE {SECOND}]", "", "k")
    found = rows_of([A], derived("d", "k n", count))
    assert found == ["1 1 @1", "1 1 @2", "2 2 @2", "1 1 @3", "2 2 @3", "1 1 @4"]
    last = aggregate_query("d", "last(v) AS v", "a [ROWS 2 SLIDE 1]")
    assert rows_of([A], derived("d", "v", last)) == ["a1 @1", "x1 @1", "a2 @2"]


def test_windows_over_a_derived_stream_count_its_rows():
    """d has a0, a1 (2), x1 (3), a2: of the last two rows before b3, both have a 2 or a 1."""
    spec = derived("d", "v", query("d", "v", "a"))
    over = [
        query("newest", "d.v AS v, b.v AS w", "d [ROWS 2] AS d, b [ROWS 1] AS b", "b.k = 3"),
        aggregate_query("pairs", "first(v) AS v, last(v) AS w", "d [ROWS 2 SLIDE 2]"),
        aggregate_query("counts", "count(*) AS n, window_end", f"d [RANGE {SECOND} SLIDE {SECOND}]"),
    ]
    whole = resolved(Case([A, B], [], over, derived=[spec]))
    assert expected_of(whole, "newest") == [("a2", "b3"), ("x1", "b3")]
    assert expected_of(whole, "pairs") == [("a0", "a1"), ("x1", "a2")]
    ends = [BASE + timedelta(seconds=s) for s in (1, 2, 3)]
    assert expected_of(whole, "counts") == [(1, ends[0]), (1, ends[2]), (2, ends[1])]


def test_a_derived_stream_over_a_derived_stream():
    below = derived("d", "v", query("one", "v", "b"), query("two", "v", "a"))
    above = derived("e", "v w", query("e", "x.v AS v, y.v AS w", "d [ROWS 1] AS x, d [ROWS 1] AS y"))
    pairs = [f"{v} {w}" for v, w in [("a0", "a0"), ("x1", "b1"), ("x1", "b0"), ("x1", "a1"), ("x1", "x1")]]
    found = [each.split(" @")[0] for each in rows_of([A, B], below, above)]
    assert found[0] == pairs[0]
    assert [each for each in found if each.split()[0] == "x1" and each in pairs] == pairs[1:]


def test_queries_do_not_see_the_time():
    spec = derived("d", "v", query("d", "v", "b"))
    whole = resolved(Case([B], [], [query("q", "*", "d")], derived=[spec]))
    assert whole.stream("d").columns[-1] == (TIME, "TIMESTAMP")
    assert expected(whole, "q") == [("b0",), ("b1",), ("b3",)]


def test_a_derived_stream_that_begins_later():
    spec = derived("d", "v", query("d", "v", "b"))
    assert rows_of([B], spec, begun={"d": Begun({"b": 2})}) == ["b3 @3"]
    count = aggregate_query("d", "count(*) AS v", f"b [RANGE {SECOND} SLIDE {SECOND}]")
    at_1 = int((BASE - BASE.replace(year=1970)).total_seconds() + 1) * SECOND
    assert rows_of([B], derived("d", "v", count)) == ["2 @2", "1 @4"]
    assert rows_of([B], derived("d", "v", count), begun={"d": Begun({}, {0: at_1})}) == ["1 @4"]


# --- LEFT JOIN ---

TABLE = TableData("t", [("key", "INT"), ("w", "STRING")], [(1, "one"), (1, "uno"), (2, None), (None, "none")])


def left(made: QuerySpec, on: str) -> QuerySpec:
    *others, table = made.sources
    return type(made)(
        **{**made.__dict__, "sources": [*others, FromItem(table.source_name, table.alias, None, on)]}
    )


def joined(sources: str, where: str, on: str) -> list[tuple]:
    case = Case([B], [TABLE], [left(query("q", "b.v, t.w", sources, where), on)])
    return expected(case, "q")


def test_left_join_keeps_rows_without_a_partner():
    assert joined("b AS b, t AS t", "", "b.k = t.key") == [
        ("b0", None),
        ("b1", "one"),
        ("b1", "uno"),
        ("b3", None),
    ]
    assert joined("b AS b, t AS t", "t.key IS NULL", "b.k = t.key") == [("b3", None)]
    assert joined("b AS b, t AS t", "", "b.k = t.key AND b.v = 'b0'") == [("b0", None), ("b1", None), ("b3", None)]
    assert joined("b AS b, t AS t", "t.w > 'p'", "b.k = t.key") == [("b1", "uno")]


def test_left_join_below_aggregates():
    spec = left(
        aggregate_query(
            "q", "t.w, count(*) AS n, count(t.key) AS m", "b [ROWS 3 SLIDE 1] AS b, t AS t", "", "t.w"
        ),
        "b.k = t.key",
    )
    assert expected_of(Case([B], [TABLE], [spec]), "q") == [(None, 2, 1), ("one", 1, 1), ("uno", 1, 1)]


def test_left_join_as_text():
    spec = left(query("q", "b.v", "a [ROWS 1] AS a, b [ROWS 1] AS b, t AS t", "a.k = b.k"), "b.k = t.key")
    assert spec.text().splitlines()[1:] == [
        "  FROM a [ROWS 1] AS a, b [ROWS 1] AS b",
        "    LEFT JOIN t AS t ON b.k = t.key",
        "  WHERE a.k = b.k",
    ]
    spec = QuerySpec("q", spec.select, spec.sources, "a.k = b.k AND t.key IS NULL", comma_style=False)
    assert spec.text().splitlines()[1:] == [
        "  FROM a [ROWS 1] AS a",
        "    JOIN b [ROWS 1] AS b ON a.k = b.k",
        "    LEFT JOIN t AS t ON b.k = t.key",
        "  WHERE t.key IS NULL",
    ]


def test_variants_change_the_condition_of_left_join():
    spec = left(query("q", "b.v", "b AS b, t AS t"), "b.k = t.key + 1")
    case = with_variants(Case([B], [TABLE], [spec]), Random(1), 20)
    assert len({each.sources[-1].outer for each in case.queries}) > 2


def test_left_join_that_has_no_meaning_is_refused():
    table = FromItem("t", "t", None, "b.k = t.key")
    for sources in ([table, FromItem("b")], [FromItem("b", "b", None, "TRUE")]):
        with pytest.raises(ValueError, match="LEFT JOIN"):
            expected(Case([B], [TABLE], [QuerySpec("q", [("b.v", None)], sources)]), "q")


# --- random cases ---


def test_a_script(tmp_path):
    spec = derived("d", "v", query("one", "v", "b", "k > 1"), query("two", "v", "a"))
    text = Case([A, B], [], [query("q", "v", "d")], derived=[spec]).write(tmp_path).read_text()
    assert text.split("\n", 4)[4] == (
        "CREATE STREAM d AS\n  SELECT v\n  FROM b\n  WHERE k > 1\n  UNION ALL SELECT v\n  FROM a;\n"
        "CREATE QUERY q AS\n  SELECT v\n  FROM d;\n"
    )


@pytest.mark.slow
def test_random_cases_have_everything():
    """The generator is no good if what it never makes is what breaks."""
    seen, with_rows, with_results, queries = set(), 0, 0, 0

    @settings(max_examples=150, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(derived_cases(max_rows=20))
    def look(case):
        nonlocal with_rows, with_results, queries
        whole = resolved(case)
        names = {spec.name for spec in case.derived}
        for spec in case.derived:
            seen.add(f"union {min(len(spec.branches), 2)}")
            with_rows += bool(whole.stream(spec.name).rows)
            for branch in spec.branches:
                seen.update(about(branch, names, "stream"))
        for spec in case.queries:
            seen.update(about(spec, names, "query"))
            queries += 1
            with_results += bool(expected_of(whole, spec.name))

    look()
    kinds = ("selection", "join", "aggregate", "distinct")
    assert {f"{kind} {where}" for kind in kinds for where in ("in a stream", "in a query")} <= seen
    assert {f"{kind} over derived {where}" for kind in kinds for where in ("in a stream", "in a query")} <= seen
    windows = {f"{kind} over derived" for kind in ("rows", "range", "rows slide", "range slide")}
    assert {
        *windows,
        "union 1",
        "union 2",
        "left join of 1",
        "left join of 2",
        "left aggregate",
    } <= seen
    assert with_rows > 100
    assert with_results > queries / 3


def about(spec: QuerySpec, derived: set[str], where: str) -> set[str]:
    aggregate = isinstance(spec, AggregateSpec)
    streams = [item for item in spec.sources if item.source_name != "stock"]
    kind = "join" if len(streams) > 1 else "selection"
    if aggregate:
        kind = "distinct" if spec.distinct else "aggregate"
    found = {f"{kind} in a {where}"}
    over = [item for item in streams if item.source_name in derived]
    if over:
        found.add(f"{kind} over derived in a {where}")
    found |= {f"{item.window[0]}{' slide' * (len(item.window) > 2)} over derived" for item in over if item.window}
    if any(item.outer is not None for item in spec.sources):
        found |= {"left aggregate" if aggregate else f"left join of {min(len(streams), 2)}"}
        found |= {"is null"} if "IS NULL" in spec.where else set()
    return found
