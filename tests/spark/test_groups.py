"""Queries that differ only in constants, on Spark: as one, in trains, several at a time, failing, published."""

import time
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from tests.oracle.generator import with_variants
from tests.oracle.model import Case, FromItem, QuerySpec
from tests.oracle.oracle import difference, expected, read_rows
from tests.oracle.shapes import SHAPES
from tests.spark.test_right import assert_right
from tests.spark.test_running import keyed


def grouped(number: int) -> list[QuerySpec]:
    """Filters, and joins of windows, each with constants of its own."""
    filters = [
        QuerySpec(f"f{n}", [(f"v + {n}", "w"), ("k", None)], [FromItem("a")], f"v >= {n} AND k <> {n % 4}")
        for n in range(number // 2)
    ]
    joins = [
        QuerySpec(
            f"j{n}",
            [("x.v", "left_v"), ("y.v", "right_v")],
            [FromItem("a", "x", ("range", 1_000_000)), FromItem("b", "y", ("rows", 4))],
            f"x.k = y.k AND x.v > {n} AND y.v <= {2 * n}",
        )
        for n in range(number // 2)
    ]
    return filters + joins


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["bsd", "chain"])
def test_a_group_of_200(policy, tmp_path, spark):
    case = Case([keyed("a", 150), keyed("b", 150)], [], grouped(400))
    summary = assert_right(case, tmp_path, spark, policy=policy, chunk_rows=70)
    assert summary.jobs < 30
    assert sum(query.outputs for query in summary.queries.values()) > 10_000


TRAINS_AND_GROUPS, GROUPS, TRAINS = "SET in_flight = 2;", "SET quantum = '0 s';", "SET groups = false;"


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ("filter", GROUPS),
        ("stored_table_join", TRAINS),
        ("mixed_windows", TRAINS_AND_GROUPS),
        pytest.param("expression", TRAINS_AND_GROUPS, marks=pytest.mark.slow),
        pytest.param("stored_table_join", GROUPS, marks=pytest.mark.slow),
        pytest.param("mixed_windows", TRAINS, marks=pytest.mark.slow),
        pytest.param("self_join_rows", TRAINS_AND_GROUPS, marks=pytest.mark.slow),
    ],
)
def test_families_of_queries(shape, settings, tmp_path, spark):
    """With groups and trains, two jobs at a time; with groups alone; with trains alone."""
    case = with_variants(SHAPES[shape](7), Random(shape + settings), most=4)
    script = case.write(tmp_path)
    script.write_text(script.read_text() + settings)
    ps.run(script, out=tmp_path / "out", drain=True, spark=spark, batch_rows=120)
    for query in case.queries:
        assert difference(expected(case, query.name), read_rows(tmp_path / "out", query.name)) == "", query.text()


def test_many_results_of_the_same_rows(tmp_path, spark):
    """Forty projections of one selection, and forty selections, of several types; more than one pass makes."""
    lists = [
        [("v", f"c{n}"), ("k", None)] if n % 3 else [("CAST(v AS STRING)", f"c{n}"), (f"v * 0.5 + {n}", "half")]
        for n in range(40)
    ]
    shared = [QuerySpec(f"p{n}", columns, [FromItem("a")], "v >= 40") for n, columns in enumerate(lists)]
    others = [
        QuerySpec(f"s{n}", columns, [FromItem("a")], f"v % 7 = {n % 7} OR k = {n}" if n % 5 else None)
        for n, columns in enumerate(lists)
    ]
    case = Case([keyed("a", 150)], [], shared + others)
    script = case.write(tmp_path)
    script.write_text(script.read_text() + TRAINS + "SET quantum = '1 h';")
    summary = ps.run(script, out=tmp_path / "out", drain=True, spark=spark, chunk_rows=80).summary
    assert summary.jobs < 12
    for query in case.queries:
        assert difference(expected(case, query.name), read_rows(tmp_path / "out", query.name)) == "", query.text()


DIVIDING = """
    CREATE STREAM a (k INT, v INT) FROM files WITH (path = '{data}', format = 'parquet');
    {members}
    CREATE QUERY other AS SELECT v FROM a WHERE v >= 50;
    CREATE QUERY bad AS SELECT 7 % v AS m, k FROM a WHERE k < 3;
"""


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["bsd", "hnr.level('operator')"])
def test_a_query_that_fails_inside_a_group_inside_a_train(policy, tmp_path, spark):
    """Of 40 members two divide by zero; so does a query beside them. The others lose nothing."""
    data = tmp_path / "a"
    data.mkdir()
    for part in range(3):
        values = list(range(part * 20, part * 20 + 20))
        pq.write_table(ps_table(values), data / f"p{part}.parquet")
    constants = [*range(100, 138), 33, 55]
    members = "\n".join(
        f"CREATE QUERY q{place} AS SELECT k, 1000 / (v - {c}) AS x FROM a WHERE v >= 10;"
        for place, c in enumerate(constants)
    )
    found = ps.run(
        DIVIDING.format(data=data, members=members), spark=spark, drain=True, policy=policy, batch_rows=25
    )
    assert sorted(found.summary.failed) == ["bad", "q38", "q39"]
    assert "DIVIDE_BY_ZERO" in found.summary.queries["q38"].reason
    assert found.results["other"].num_rows == 10
    for place, constant in enumerate(constants[:38]):
        wanted = sorted((v % 5, 1000 / (v - constant)) for v in range(10, 60))
        rows = found.results[f"q{place}"]
        assert sorted(zip(rows["k"].to_pylist(), rows["x"].to_pylist(), strict=True)) == wanted


def ps_table(values):
    return pa.table({"k": pa.array([v % 5 for v in values], pa.int32()), "v": pa.array(values, pa.int32())})


def test_groups_are_published_while_they_run(tmp_path, spark):
    """At any time `read` finds each row once: in the files of the group, or where it was published."""
    data, out = tmp_path / "a", tmp_path / "out"
    data.mkdir()
    script = (
        f"CREATE STREAM a (k INT, v INT) FROM files WITH (path = '{data}', format = 'parquet');"
        "SET publish = '1 s';" + "".join(f"CREATE QUERY q{n} AS SELECT v FROM a WHERE v >= {n};" for n in range(3))
    )
    with ps.started(script, out=out, spark=spark) as running:
        for part in range(4):
            pq.write_table(ps_table(range(part * 10, part * 10 + 10)), data / f".p{part}")
            (data / f".p{part}").rename(data / f"p{part}.parquet")
            running.settle(60)
            assert sorted(ps.read(out, "q2")["v"].to_pylist()) == list(range(2, part * 10 + 10))
            assert ps.read(out, "q0").num_rows == part * 10 + 10
            if part == 2:
                until_published(out)
    assert list((out / "_groups").rglob("*.parquet")) == []
    assert [(v,) for v in range(40)] == read_rows(out, "q0")


def test_a_result_column_named_query(tmp_path, spark):
    """DuckDB reads the data, not the folder's name; such queries run as a group, too, and a later run appends."""
    data, out = tmp_path / "a", tmp_path / "out"
    data.mkdir()
    pq.write_table(ps_table(range(10)), data / "p.parquet")
    script = f"CREATE STREAM a (k INT, v INT) FROM files WITH (path = '{data}', format = 'parquet');" + "".join(
        f"CREATE QUERY n{n} AS SELECT v AS query FROM a WHERE v >= {n};" for n in (3, 5)
    )
    for run in (1, 2):
        with ps.started(script, out=out, append=run == 2, drain=True, spark=spark) as running:
            [group] = running._runtime.engine.plan.groups.values()
            assert set(group.members) == {"n3", "n5"}
            running.wait()
        for n in (3, 5):
            found = duckdb.sql(f"SELECT query FROM '{out}/n{n}/*.parquet' ORDER BY query").fetchall()
            assert found == [(v,) for v in range(n, 10) for _ in range(run)]
            assert sorted(ps.read(out, f"n{n}")["query"].to_pylist()) == [v for (v,) in found]
            assert spark.read.parquet(str(out / f"n{n}")).count() == len(found)
            assert len(list((out / f"n{n}").iterdir())) == 1


def until_published(out):
    for _ in range(200):
        if not list((out / "_groups").rglob("*.parquet")):
            return
        time.sleep(0.05)
    raise AssertionError("nothing is published")
