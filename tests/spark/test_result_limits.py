"""How many results a job may make: counts by brute force, limits by hand, and Spark at the limit exactly."""

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock.spark as ps
from penstock.language import Script
from penstock.language.statements import WindowDef
from penstock.plan.steps import Condition, Join, Port
from penstock.runtime import loop as runtime
from penstock.runtime.result_limits import (
    FIRST_ROWS,
    GROWTH,
    Limit,
    ResultLimits,
    TooManyResults,
    most_combinations,
)
from penstock.spark.guarded_fetch import fetched

KEYS = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=12)


def equal(one: int, other: int) -> Condition:
    return Condition(
        f"p{one}.k = p{other}.k", frozenset(), frozenset({one, other}), equal=((one, "k"), (other, "k"))
    )


def joined(ports: int, conditions: list[Condition]) -> Join:
    return Join(tuple(Port(f"s{i}", WindowDef("rows", 9), ()) for i in range(ports)), tuple(conditions))


def keys(values: list[int | None]) -> pa.Table:
    return pa.table({"k": pa.chunked_array([pa.array(values, pa.int32())])})


@given(rows=KEYS, window=KEYS)
def test_pairs_of_equal_keys_are_counted(rows, window):
    found = most_combinations(joined(2, [equal(0, 1)]), 0, keys(rows), {1: keys(window)})
    pairs = sum(left == right and left is not None for left in rows for right in window)
    assert found >= pairs - 1e-9
    if None not in rows:
        assert found == pytest.approx(pairs)


@given(rows=KEYS, one=KEYS, other=KEYS, chained=st.booleans())
def test_of_three_streams_there_are_never_more(rows, one, other, chained):
    conditions = [equal(0, 1), equal(1, 2) if chained else equal(0, 2)]
    found = most_combinations(joined(3, conditions), 0, keys(rows), {1: keys(one), 2: keys(other)})
    combinations = sum(
        a == b and a is not None and (b if chained else a) == c for a in rows for b in one for c in other
    )
    assert found >= combinations - 1e-9


def test_without_a_key_it_is_the_product():
    assert most_combinations(joined(2, []), 1, keys([1] * 7), {0: keys([2] * 5)}) == 35


def test_rows_grow_as_they_are_measured():
    limits = ResultLimits(most_bytes=1e9, most_results=1000)
    assert limits.careful_rows("u", safe=3) == FIRST_ROWS
    limits.measured("u", FIRST_ROWS, results=10, taken_bytes=100)
    assert limits.careful_rows("u", safe=3) == GROWTH * FIRST_ROWS
    limits.measured("u", 5000, results=2500, taken_bytes=25_000)
    assert limits.careful_rows("u", safe=3) == 1000  # half a result a row, and half of the limit


def test_what_made_too_many_takes_a_quarter_and_comes_back():
    limits = ResultLimits(most_bytes=1e9, most_results=1000)
    limits.exceeded("u", 800)
    assert limits.most_rows("u", 1.0) == limits.careful_rows("u", safe=3) == 200
    limits.exceeded("u", 200)
    assert limits.careful_rows("u", safe=3) == 50
    assert limits.careful_rows("u", safe=80) == 80
    for _ in range(20):
        limits.measured("u", 40, results=40, taken_bytes=400)
    assert limits.most_rows("u", 1.0) == 500


def test_a_single_row_is_tried_again_by_an_exact_limit():
    limits = ResultLimits(most_bytes=1e9, most_results=1000)
    assert limits.limit(["u", "v"], rows=1, tasks=4) == Limit(1000, 4)
    limits.exceeded("v", 1)
    assert limits.limit(["u", "v"], rows=1, tasks=4) == Limit(1000, 4, exact=True)
    assert limits.limit(["u", "v"], rows=2, tasks=4) == Limit(1000, 4)


def test_wide_results_count_by_their_bytes():
    limits = ResultLimits(most_bytes=1e6, most_results=1_000_000)
    limits.measured("u", 10, results=100, taken_bytes=1_000_000)
    assert limits.results("u") == 100
    limits.keep(["v"])
    assert limits.results("u") == 15_625


@pytest.mark.parametrize("exact", [False, True])
def test_spark_stops_beyond_the_limit_and_not_at_it(spark, exact):
    """One row more than may be is refused; as many as may be come back whole, from a union of four tasks."""
    frame = spark.range(0, 50, 1, 2).union(spark.range(0, 50, 1, 2)).selectExpr("id + 1 AS x")
    whole = Counter([*range(1, 51)] * 2)
    tasks = 1 if exact else 4
    assert Counter(fetched(frame, Limit(100, tasks, exact=exact)).column("x").to_pylist()) == whole
    with pytest.raises(TooManyResults):
        fetched(frame, Limit(99, tasks, exact=exact))
    assert Counter(fetched(frame, None).column("x").to_pylist()) == whole


def files(folder, rows: int, keys_of: int) -> dict[str, list[tuple[int, int]]]:
    random = Random(7)
    made = {name: [(random.randrange(keys_of), i) for i in range(rows)] for name in ("a", "b")}
    for name, pairs in made.items():
        lines = [f'{{"k": {k}, "v": {v}, "ts": "2026-01-01T00:00:{v % 60:02d}Z"}}' for k, v in pairs]
        (folder / f"{name}.json").write_text("\n".join(lines) + "\n")
    return made


def script(folder, queries: str) -> Script:
    streams = [
        f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP) FROM files WITH (path = '{folder / name}.json', "
        "format = 'json', timestamp = 'ts', lateness = '1 HOUR');"
        for name in ("a", "b")
    ]
    return Script.parse("\n".join([*streams, queries]))


@pytest.fixture
def few_results(monkeypatch):
    """A job may make 500 results."""
    monkeypatch.setattr(runtime, "ResultLimits", lambda _bytes: ResultLimits(1e9, most_results=500))


@pytest.mark.slow
def test_a_join_that_makes_too_many_at_once_makes_them_in_several_jobs(tmp_path, spark, few_results):
    made = files(tmp_path, rows=80, keys_of=2)
    text = """
        CREATE QUERY met AS SELECT x.v AS l, y.v AS r FROM a [RANGE 1 HOUR] AS x, b [RANGE 1 HOUR] AS y
          WHERE x.k = y.k;
        CREATE QUERY every AS SELECT x.v AS l, y.v AS r FROM a [RANGE 1 HOUR] AS x, b [RANGE 1 HOUR] AS y
          WHERE x.v <> y.v + 100;
        CREATE QUERY few AS SELECT v FROM a WHERE v < 10;
    """
    found = ps.run(script(tmp_path, text), spark=spark, drain=True)
    assert found.summary.failed == ()
    pairs = [(left, right) for left in made["a"] for right in made["b"]]
    wanted = Counter((left[1], right[1]) for left, right in pairs if left[0] == right[0])
    assert Counter(zip(*(column.to_pylist() for column in found.results["met"].columns), strict=True)) == wanted
    assert found.results["every"].num_rows == 6400 > 10 * 500
    assert found.results["few"].num_rows == 10
    assert found.summary.jobs > 13


def test_a_query_of_which_one_row_makes_too_many_is_stopped_and_the_others_go_on(tmp_path, spark, few_results):
    files(tmp_path, rows=25, keys_of=2)  # one row makes 625
    text = """
        CREATE QUERY cube AS SELECT x.v AS l, y.v AS m, z.v AS r
          FROM a [RANGE 1 HOUR] AS x, b [RANGE 1 HOUR] AS y, b [RANGE 1 HOUR] AS z;
        CREATE QUERY few AS SELECT v FROM a WHERE v < 10;
        CREATE QUERY met AS SELECT x.v AS l, y.v AS r FROM a [RANGE 1 HOUR] AS x, b [RANGE 1 HOUR] AS y;
    """
    events = []
    found = ps.run(script(tmp_path, text), spark=spark, drain=True, on_event=events.append)
    assert found.summary.failed == ("cube",)
    reason = found.summary.queries["cube"].reason
    assert reason.startswith("one row of ")
    assert "makes more results than fit into memory at once, more than 500: give it smaller windows" in reason
    assert f"query cube stopped: {reason}" in events
    assert found.results["few"].num_rows == 10
    assert found.results["met"].num_rows == 625
