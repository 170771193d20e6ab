"""Cases with aggregates: comparison, text and files, refusals; random ones, and the oracle against brute force."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.aggregate_brute import brute_aggregates
from tests.oracle.aggregate_generator import NAMED, aggregate_cases, aggregate_twins, groups_of_50
from tests.oracle.aggregate_model import FUNCTIONS, AggregateSpec, aggregate_query
from tests.oracle.aggregates import difference, expected_aggregates
from tests.oracle.generator import with_variants
from tests.oracle.model import Case, StreamData, TableData
from tests.oracle.oracle import expected, kept_rows, run
from tests.oracle.shape_parts import query
from tests.oracle.test_aggregates import numbered

# --- comparison, text, refusals ---


def test_doubles_may_differ_in_their_last_digits():
    a, b = 0.1 + 0.2, 0.3
    assert difference([(1, a), (1, 5.0), (2, None)], [(2, None), (1, 5.0), (1, b)]) == ""
    assert difference([(1, a, 7.0), (1, b, 2.0)], [(1, b, 7.0), (1, a, 2.0)]) == "", (
        "sorted by the first, they cross"
    )
    assert difference([(a,)] * 3, [(b,), (a,), (b,)]) == ""
    assert difference([(float("nan"), a)], [(float("nan"), b)]) == ""
    assert difference([(1e-17,)], [(0.0,)]) == ""
    assert difference([(1.0,)], [(1.00001,)]).splitlines() == [
        "1 rows expected, 1 got",
        "missing: 1",
        "  1 × (1.0,)",
        "too many: 1",
        "  1 × (1.00001,)",
    ]
    assert difference([(a,), (a,)], [(b,)]).startswith("2 rows expected, 1 got\nmissing: 1")
    assert difference([(1,)], [(1.0,)]) != "", "a BIGINT is no DOUBLE"
    assert difference([(1,)], [(Decimal(1),)]) != ""
    assert difference([(2**60,)], [(2**60 + 1,)]) != ""
    assert difference([(None,)], [(0.0,)]) != ""


def test_a_script(tmp_path):
    spec = aggregate_query(
        "q",
        "r.k, count(*) AS n, sum(v) FILTER (WHERE v > 2) AS s, coalesce(min(k), 'no AS (') AS c, window_start",
        "s [RANGE 3000000 SLIDE 1500000] AS r, t AS t",
        "r.k = t.key",
        "r.k",
        "count(*) > 1",
    )
    distinct = aggregate_query("d", "k, window_end", "s [ROWS 20 SLIDE 5]", "v > 0", distinct=True)
    made = Case([numbered(1)], [TableData("t", [("key", "STRING")], [])], [spec, distinct])
    assert made.write(tmp_path).read_text().split("\n", 3)[3] == (
        "CREATE QUERY q AS\n"
        "  SELECT r.k, count(*) AS n, sum(v) FILTER (WHERE v > 2) AS s, coalesce(min(k), 'no AS (') AS c,"
        " window_start\n"
        "  FROM s [RANGE 3 SECONDS SLIDE 1500 MILLISECONDS] AS r, t AS t\n"
        "  WHERE r.k = t.key\n"
        "  GROUP BY r.k\n"
        "  HAVING count(*) > 1;\n"
        "CREATE QUERY d AS\n"
        "  SELECT DISTINCT k, window_end\n"
        "  FROM s [ROWS 20 SLIDE 5]\n"
        "  WHERE v > 0;\n"
    )
    assert spec.output_names() == ["k", "n", "s", "c", "window_start"]


def test_variants_change_a_key_alike_wherever_it_stands():
    """And the windows; a plain query beside it is varied as before."""
    spec = aggregate_query(
        "q", "(v + 1) AS up, sum(v + 1) AS s", "s [RANGE 4 SLIDE 2]", "v > 1", "(v + 1), k", "(v + 1) > 1"
    )
    made = with_variants(Case([numbered(1, 2)], [], [spec, query("p", "v", "s", "v > 1")]), Random(1), 20)
    variants = [each for each in made.queries if isinstance(each, AggregateSpec)]
    assert len({each.group[0] for each in variants}) > 2
    assert len({each.sources[0].window for each in variants}) > 2
    assert len({each.where for each in variants}) > 2
    for each in variants:
        assert each.select[0][0] == each.group[0]
        assert each.having.startswith(each.group[0])
        expected_aggregates(made, each.name)


def test_files_with_decimals(tmp_path):
    columns = [("k", "INT"), ("d", "DECIMAL(9,2)")]
    rows = [(1, Decimal("1234567.89")), (2, Decimal("-0.10")), (3, None), (4, Decimal("0.00"))]
    for file_format in ("json", "csv", "parquet"):
        TableData(file_format, columns, rows, file_format).write(tmp_path)
    written = (tmp_path / "json.json").read_text().splitlines()
    assert written == [
        '{"k": 1, "d": 1234567.89}',
        '{"k": 2, "d": -0.1}',
        '{"k": 3, "d": null}',
        '{"k": 4, "d": 0.0}',
    ]
    assert (tmp_path / "csv.csv").read_text().splitlines() == ["k,d", "1,1234567.89", "2,-0.10", "3,", "4,0.00"]
    table = pq.read_table(tmp_path / "parquet.parquet")
    assert table.schema.field("d").type == pa.decimal128(9, 2)
    assert table.column("d").to_pylist() == [value for _, value in rows]
    with pytest.raises(ValueError, match="all digits"):
        TableData("t", [("d", "DECIMAL(38,2)")], [(Decimal(10**20 + 1),)], "json").write(tmp_path)


@pytest.mark.parametrize(
    ("select", "sources", "options"),
    [
        ("count(*) AS n", "s", {}),
        ("count(*) AS n", "t", {}),
        ("count(*) AS n", "s [ROWS 0 SLIDE 1]", {}),
        ("count(*) AS n", "s [ROWS 1 SLIDE 1] AS a, s [ROWS 1 SLIDE 1] AS b", {}),
        ("count(*) AS n", "u [ROWS 1 SLIDE 1]", {}),
        ("count(*) AS n", "s [ROWS 1 SLIDE 1]", {"distinct": True}),
        ("v", "s [ROWS 1 SLIDE 1]", {}),
        ("first(t.key) AS n", "s [ROWS 1 SLIDE 1] AS s, t AS t", {}),
        ("min_by(s.v, t.key) AS n", "s [ROWS 1 SLIDE 1] AS s, t AS t", {}),
    ],
)
def test_what_has_no_meaning_is_refused(select, sources, options):
    table, untimed = TableData("t", [("key", "STRING")], []), StreamData("u", [("k", "INT")], [])
    made = Case([numbered(1), untimed], [table], [aggregate_query("q", select, sources, **options)])
    with pytest.raises(ValueError, match=r"^q: "):
        expected_aggregates(made, "q")


def test_each_oracle_has_its_queries():
    made = Case([numbered(1)], [], [aggregate_query("q", "count(*) AS n", "s [ROWS 1 SLIDE 1]")])
    with pytest.raises(ValueError, match="expected_aggregates"):
        expected(made, "q")


# --- random cases ---


def agree(twin, data) -> None:
    case, meanings = twin
    for spec in case.queries:
        if not isinstance(spec, AggregateSpec):
            continue
        since, until = drawn_bounds(data, case, spec) if data.draw(st.booleans()) else (None, None)
        wanted = brute_aggregates(case, spec.name, meanings[spec.name], since, until)
        assert difference(wanted, expected_aggregates(case, spec.name, since, until)) == "", spec.text()


def drawn_bounds(data, case, spec) -> tuple[int | None, int | None]:
    """Among positions, or among the times of rows and the microseconds beside them."""
    item = next(item for item in spec.sources if item.window)
    places = range(20)
    if item.window[0] == "range":
        rows = run(
            case,
            f"WITH {', '.join(kept_rows(case.stream(item.source_name)))} SELECT __t FROM kept_{item.source_name}",
        )
        places = [time + beside for (time,) in rows for beside in (-1, 0, 1)] or [0]
    drawn = st.none() | st.sampled_from(places)
    return data.draw(drawn), data.draw(drawn)


@settings(max_examples=25)
@given(aggregate_twins(max_rows=25), st.data())
def test_duckdb_and_plain_loops_agree(twin, data):
    agree(twin, data)


@pytest.mark.slow
@settings(max_examples=1500)
@given(aggregate_twins(max_rows=40), st.data())
def test_duckdb_and_plain_loops_agree_on_many(twin, data):
    agree(twin, data)


@settings(max_examples=12)
@given(case=aggregate_cases())
def test_random_cases_can_be_written_and_have_results(tmp_path_factory, case):
    path = case.write(tmp_path_factory.mktemp("case"))
    assert path.read_text().count("CREATE QUERY") == len(case.queries)
    for spec in case.queries:
        names = spec.output_names()
        assert None not in names
        assert len(names) == len(set(names)), "parquet has no two columns of one name"
        (expected_aggregates if isinstance(spec, AggregateSpec) else expected)(case, spec.name)


@pytest.mark.slow
def test_random_cases_have_everything():
    """The generator is no good if what it never makes is what breaks."""
    seen = set()

    @settings(max_examples=300, database=None)
    @given(aggregate_cases(max_rows=20))
    def look(case):
        seen.update("plain" for spec in case.queries if not isinstance(spec, AggregateSpec))
        for spec in (spec for spec in case.queries if isinstance(spec, AggregateSpec)):
            kind, size, slide = next(item.window for item in spec.sources if item.window)
            seen.add((kind, "overlap" if slide < size else "tumble" if slide == size else "gaps"))
            seen.update(call.function for call in spec.calls())
            seen.update("filter" for call in spec.calls() if call.condition)
            seen.update(f"distinct {len(call.arguments)}" for call in spec.calls() if call.distinct)
            seen.update(f"keys {len(spec.group)}" for _ in "x")
            seen.update(["having"] * bool(spec.having) + ["distinct"] * spec.distinct)
            seen.add(f"sources {len(spec.sources)}")
        for stream in case.streams:
            seen.update(["late"] * (stream.lateness_us > 0), [kind for _, kind in stream.columns])
            seen.update("no time" for row in stream.rows if not any(isinstance(v, datetime) for v in row))

    look()
    kinds = {"INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "DECIMAL(9,2)", "TIMESTAMP"}
    windows = {(kind, shape) for kind in ("range", "rows") for shape in ("overlap", "tumble", "gaps")}
    parts = {"plain", "filter", "distinct 1", "distinct 2", "keys 0", "keys 1", "keys 2", "having", "distinct"}
    assert {*FUNCTIONS, *kinds, *windows, *parts, "sources 1", "sources 2", "late", "no time"} <= seen


@pytest.mark.parametrize("seed", range(len(NAMED)))
def test_groups_of_50(seed):
    """Queries of one shape: with all numbers gone, the texts are equal; most have results."""
    case = groups_of_50(seed)
    assert case == groups_of_50(seed) != groups_of_50(seed + len(NAMED))
    assert len({spec.text() for spec in case.queries}) > 30
    same = {
        "".join(sign for sign in replace(spec, sources=[]).text() if not sign.isdigit()) for spec in case.queries
    }
    assert len(same) == 1
    with_results = sum(bool(expected_aggregates(case, spec.name)) for spec in case.queries)
    assert len(case.queries) == 50
    assert with_results > 25
