"""Derived streams and LEFT JOIN on Spark equal the oracles: random scripts, and one with everything, by hand."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock.spark as ps
from penstock.policies import POLICIES
from tests.oracle.aggregate_model import aggregate_query
from tests.oracle.aggregates import difference
from tests.oracle.derived import expected_of, resolved
from tests.oracle.derived_generator import derived_cases
from tests.oracle.model import Case, DerivedSpec, QuerySpec
from tests.oracle.results import read_rows
from tests.oracle.shape_parts import host_table, packet_stream, query, reply_stream
from tests.spark.test_right import ON_SPARK


def assert_right(case: Case, folder, spark, **options):
    """Run a case to its end and compare the rows of every query, and the number of rows of derived streams."""
    script = case.write(folder)
    out = folder / "out"
    summary = ps.run(script, out=out, drain=True, spark=spark, **options).summary
    assert summary.failed == (), {name: summary.queries[name].reason for name in summary.failed}
    assert (summary.abandoned_rows, summary.waiting_rows) == (0, 0)
    whole = resolved(case)
    for each in case.queries:
        got = read_rows(out, each.name)
        assert difference(expected_of(whole, each.name), got) == "", (each.name, each.text())
        assert summary.queries[each.name].outputs == len(got)
    return summary


RANDOM = {
    "case": derived_cases(max_rows=30),
    "policy": st.sampled_from(list(POLICIES)),
    "chunk_rows": st.sampled_from([1, 5, 50]),
    "rows": st.sampled_from(["resident", "stored", "auto"]),
    "in_flight": st.sampled_from([1, 2]),
}
FEW = settings(ON_SPARK, suppress_health_check=[*ON_SPARK.suppress_health_check, HealthCheck.too_slow])


@FEW
@given(**RANDOM)
def test_random_scripts(case, policy, chunk_rows, rows, in_flight, tmp_path_factory, spark):
    check_random(case, policy, chunk_rows, rows, in_flight, tmp_path_factory.mktemp("random"), spark)


@pytest.mark.slow
@settings(FEW, max_examples=20)
@given(**RANDOM)
def test_more_random_scripts(case, policy, chunk_rows, rows, in_flight, tmp_path_factory, spark):
    check_random(case, policy, chunk_rows, rows, in_flight, tmp_path_factory.mktemp("random"), spark)


def check_random(case, policy, chunk_rows, rows, in_flight, folder, spark):
    case = replace(case, settings={**case.settings, "rows": rows, "in_flight": in_flight})
    assert_right(case, folder, spark, policy=policy, chunk_rows=chunk_rows)


# --- by hand ---

BY_HAND = """
CREATE STREAM suspicious AS
  SELECT p.src, p.bytes, r.code FROM packets [RANGE 2 SECONDS] AS p, replies [ROWS 20] AS r
  WHERE p.src = r.host AND r.code >= 400;
CREATE STREAM addresses AS
  SELECT src AS address, bytes AS size FROM packets
  UNION ALL SELECT dst, bytes FROM packets WHERE bytes > 300
  UNION ALL SELECT host, CAST(NULL AS INT) FROM replies;
CREATE QUERY errors AS
  SELECT code, count(*) AS n, sum(bytes) AS total, window_end
  FROM suspicious [RANGE 3 SECONDS SLIDE 1 SECOND] GROUP BY code;
CREATE QUERY errors_inside AS
  SELECT code, count(*) AS n, sum(bytes) AS total, window_end
  FROM (SELECT p.bytes, r.code FROM packets [RANGE 2 SECONDS] AS p, replies [ROWS 20] AS r
        WHERE p.src = r.host AND r.code >= 400) [RANGE 3 SECONDS SLIDE 1 SECOND] AS found
  GROUP BY code;
CREATE QUERY peaks AS
  WITH big AS (SELECT src, bytes FROM packets WHERE bytes > 900),
       counted AS (SELECT src, count(*) AS n FROM big [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY src)
  SELECT src, max(n) AS most, count(*) AS windows, window_start FROM counted [ROWS 8 SLIDE 3] GROUP BY src;
CREATE QUERY either AS
  SELECT src AS host, bytes AS size FROM packets WHERE bytes > 1400
  UNION ALL SELECT host, code FROM replies WHERE code >= 500;
CREATE QUERY middle AS
  SELECT x.src, x.bytes FROM (SELECT y.src, y.bytes FROM (SELECT src, bytes FROM packets WHERE bytes > 300) AS y
                              WHERE y.bytes < 500) AS x;
CREATE QUERY unknown AS
  SELECT p.src, p.bytes, h.owner FROM packets AS p LEFT JOIN hosts AS h ON p.dst = h.ip AND h.owner LIKE 'o%'
  WHERE h.ip IS NULL OR p.bytes > 700;
CREATE QUERY owners AS
  SELECT h.owner, count(*) AS n, count(h.ip) AS known, window_end
  FROM addresses [RANGE 2 SECONDS SLIDE 1 SECOND] AS a
    LEFT JOIN hosts AS h ON a.address = h.ip AND h.owner <> 'ops'
  GROUP BY h.owner;
CREATE QUERY together AS
  SELECT s.src, s.code, a.size FROM suspicious [ROWS 5] AS s, addresses [RANGE 1 SECOND] AS a
  WHERE s.src = a.address AND (a.size IS NULL OR a.size > 1000);
"""


def by_hand() -> Case:
    """The same by the oracle's means: every subquery is a derived stream."""
    random = Random(1)
    packets = packet_stream(random, 200, files=4, file_format="parquet")
    replies = reply_stream(random, 150, files=3, jitter_us=300_000, lateness_us=200_000)
    second = 1_000_000
    join = f"packets [RANGE {2 * second}] AS p, replies [ROWS 20] AS r", "p.src = r.host AND r.code >= 400"
    derived = [
        DerivedSpec(
            "suspicious",
            [("src", "STRING"), ("bytes", "INT"), ("code", "INT")],
            [query("suspicious", "p.src, p.bytes, r.code", *join)],
        ),
        DerivedSpec(
            "addresses",
            [("address", "STRING"), ("size", "INT")],
            [
                query("one", "src AS address, bytes AS size", "packets"),
                query("two", "dst, bytes", "packets", "bytes > 300"),
                query("three", "host, NULL AS size", "replies"),
            ],
        ),
        DerivedSpec(
            "big",
            [("src", "STRING"), ("bytes", "INT")],
            [query("big", "src, bytes", "packets", "bytes > 900")],
        ),
        DerivedSpec(
            "counted",
            [("src", "STRING"), ("n", "BIGINT")],
            [aggregate_query("counted", "src, count(*) AS n", f"big [RANGE {second} SLIDE {second}]", "", "src")],
        ),
        DerivedSpec(
            "both",
            [("host", "STRING"), ("size", "INT")],
            [
                query("one", "src, bytes", "packets", "bytes > 1400"),
                query("two", "host, code", "replies", "code >= 500"),
            ],
        ),
    ]
    errors = aggregate_query(
        "errors",
        "code, count(*) AS n, sum(bytes) AS total, window_end",
        f"suspicious [RANGE {3 * second} SLIDE {second}]",
        "",
        "code",
    )
    owners = aggregate_query(
        "owners",
        "h.owner, count(*) AS n, count(h.ip) AS known, window_end",
        f"addresses [RANGE {2 * second} SLIDE {second}] AS a, hosts AS h",
        "",
        "h.owner",
    )
    unknown = query(
        "unknown", "p.src, p.bytes, h.owner", "packets AS p, hosts AS h", "h.ip IS NULL OR p.bytes > 700"
    )
    peaks = "src, max(n) AS most, count(*) AS windows, window_start"
    queries = [
        errors,
        replace(errors, name="errors_inside"),
        aggregate_query("peaks", peaks, "counted [ROWS 8 SLIDE 3]", "", "src"),
        query("either", "host, size", "both"),
        query("middle", "src, bytes", "packets", "bytes > 300 AND bytes < 500"),
        left(unknown, "p.dst = h.ip AND h.owner LIKE 'o%'"),
        left(owners, "a.address = h.ip AND h.owner <> 'ops'"),
        query(
            "together",
            "s.src, s.code, a.size",
            f"suspicious [ROWS 5] AS s, addresses [RANGE {second}] AS a",
            "s.src = a.address AND (a.size IS NULL OR a.size > 1000)",
        ),
    ]
    return Case([packets, replies], [host_table()], queries, derived=derived)


def left(query: QuerySpec, on: str) -> QuerySpec:
    """The query with LEFT JOIN of its stored table, which is the last in FROM."""
    *others, table = query.sources
    return replace(query, sources=[*others, replace(table, outer=on)])


@pytest.mark.parametrize("rows", ["auto", pytest.param("stored", marks=pytest.mark.slow)])
def test_a_script_by_hand(rows, tmp_path, spark):
    """A join below an aggregate through a derived stream and through a subquery, WITH, UNION ALL, LEFT JOIN."""
    case = by_hand()
    definitions = [source.write(tmp_path) for source in (*case.streams, *case.tables)]
    script = tmp_path / "script.sql"
    script.write_text("\n".join([*definitions, BY_HAND, f"SET rows = '{rows}';"]))
    summary = ps.run(script, out=tmp_path / "out", drain=True, spark=spark, chunk_rows=40).summary
    assert summary.failed == ()
    assert (summary.abandoned_rows, summary.waiting_rows) == (0, 0)
    whole = resolved(case)
    for each in case.queries:
        wanted = expected_of(whole, each.name)
        assert len(wanted) > 5, each.name
        assert difference(wanted, read_rows(tmp_path / "out", each.name)) == "", each.name
