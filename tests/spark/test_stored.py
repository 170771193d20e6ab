"""Stored rows: results equal the oracle's wherever rows are, in files that executors read or in the driver."""

import os
import threading
import time
from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.classic.dataframe import DataFrame

import penstock.spark as ps
from penstock.policies import POLICIES
from penstock.runtime import job_rows, write_decision
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.runtime.rows.place_choice import PlaceChoice
from penstock.sinks import publish_batch
from penstock.spark import window_joins
from penstock.spark.backend import SparkBackend
from tests.oracle.generator import with_variants
from tests.oracle.shapes import SHAPES
from tests.spark.test_right import assert_right


def as_parquet(case, rows: str = "stored"):
    """Return the case with all streams in parquet files, and their rows in a place."""
    streams = [replace(stream, format="parquet") for stream in case.streams]
    return replace(case, streams=streams, settings={**case.settings, "rows": rows})


QUICK = ("lateness",)


@pytest.mark.parametrize(
    "shape", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in SHAPES]
)
def test_every_shape_from_files(shape, tmp_path, spark):
    before = TRAFFIC.scans
    assert_right(as_parquet(SHAPES[shape](1)), tmp_path, spark)
    assert TRAFFIC.scans > before


SOME = list(SHAPES)[::4]
"""Enough shapes for what does not depend on joins."""
JOINS = ("mixed_windows", "three_way", "null_keys", "lateness", "self_join")


@pytest.mark.parametrize(
    "shape", [SOME[0], *(pytest.param(each, marks=pytest.mark.slow) for each in ("rows_join", *SOME[1:]))]
)
def test_shapes_from_text(shape, tmp_path, spark):
    """JSON and CSV become segments by jobs on the executors."""
    case = SHAPES[shape](6)
    forms = ["json", "csv"] if shape not in ("star", "null_keys") else ["json"]
    streams = [replace(stream, format=forms[place % len(forms)]) for place, stream in enumerate(case.streams)]
    before = TRAFFIC.scans
    assert_right(replace(case, streams=streams, settings={**case.settings, "rows": "stored"}), tmp_path, spark)
    assert TRAFFIC.scans > before


@pytest.mark.parametrize("rows", [pytest.param("resident", marks=pytest.mark.slow), "auto"])
def test_places_that_are_chosen(rows, tmp_path, spark, monkeypatch):
    """With `auto`, chunks of some rows are stored and others are not, and a window has both."""
    monkeypatch.setattr(PlaceChoice, "stores", lambda choice, count, *_, **__: choice.may_store and count % 2 == 0)
    assert_right(as_parquet(SHAPES["equal_timestamps"](2), rows), tmp_path, spark)


@pytest.mark.parametrize(
    "shape", ["mixed_windows", *(pytest.param(each, marks=pytest.mark.slow) for each in SOME)]
)
def test_results_that_executors_write(shape, tmp_path, spark, monkeypatch):
    """All results are written by executors, published by renaming, and those of groups split by executors."""
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    monkeypatch.setattr(publish_batch, "LARGE_BYTES", 0)
    monkeypatch.setattr(publish_batch, "SPLIT_BYTES", 0)
    assert_right(as_parquet(with_variants(SHAPES[shape](4), Random(5), 3)), tmp_path, spark)


@pytest.mark.parametrize("shape", ["range_join", *(pytest.param(each, marks=pytest.mark.slow) for each in JOINS)])
def test_joins_in_many_parts(shape, tmp_path, spark, monkeypatch):
    """Both sides of a join are shuffled by their keys and by bins of time, as those of large windows are."""
    monkeypatch.setattr(window_joins, "MOST_COMPARED", 0)
    monkeypatch.setattr(window_joins, "BIN_WINDOWS", 1)
    monkeypatch.setattr(window_joins, "LEAST_BINS", 0)
    monkeypatch.setattr(window_joins, "BROADCAST_ROWS", 0)
    monkeypatch.setattr(window_joins, "SHUFFLED_ROWS", 1)
    cut = []
    shuffled = DataFrame.repartition

    def repartition(frame, parts, *keys):
        cut.append(parts)
        return shuffled(frame, min(parts, 5), *keys)  # a task takes a while to start

    monkeypatch.setattr(DataFrame, "repartition", repartition)
    assert_right(as_parquet(SHAPES[shape](4)), tmp_path, spark)
    assert cut


@pytest.mark.parametrize(
    "policy",
    [pytest.param(each, marks=pytest.mark.slow) for each in (*list(POLICIES)[::3], "hnr.level('operator')")],
)
def test_every_policy_in_small_batches(policy, tmp_path, spark):
    """Jobs cut stored chunks by count and by time, and rows wait half-way up."""
    assert_right(as_parquet(SHAPES["out_of_step"](3)), tmp_path, spark, policy=policy, batch_rows=17)


TWO = ("null_keys", "range_join", "self_join", "self_join_rows", "lateness", "equal_timestamps")


@pytest.mark.parametrize("shape", [TWO[0], *(pytest.param(each, marks=pytest.mark.slow) for each in TWO[1:])])
def test_both_streams_of_a_join_in_one_job(shape, tmp_path, spark, monkeypatch):
    """Each stream is read once, as rows and as window; with small batches, windows have other rows, too."""
    others = []
    symmetric = window_joins.WindowJoins._symmetric

    def noted(joins, name, join, inputs, both):
        others.append(sum(each.num_rows for each in both.others))
        return symmetric(joins, name, join, inputs, both)

    monkeypatch.setattr(window_joins.WindowJoins, "_symmetric", noted)
    assert_right(as_parquet(SHAPES[shape](5)), tmp_path / "parts", spark, policy="hnr", batch_rows=40)
    assert any(others)
    if shape == TWO[0]:
        assert_right(as_parquet(SHAPES[shape](5)), tmp_path / "whole", spark, policy="hnr")
        assert 0 in others


def test_a_filter_below_a_join_does_not_keep_its_streams_apart(tmp_path, spark, monkeypatch):
    """Also where a job takes a part of a file: the other stream's watermark is in the middle of it."""
    joined = []
    symmetric = window_joins.WindowJoins._symmetric
    monkeypatch.setattr(
        window_joins.WindowJoins, "_symmetric", lambda *given: (joined.append(given[1]), symmetric(*given))[1]
    )
    for stream, last in (("a", 1000), ("b", 600)):
        times = pa.array([n * 1000 for n in range(last)], pa.timestamp("us", "UTC"))
        (tmp_path / stream).mkdir()
        pq.write_table(table_of(last, at=times), tmp_path / stream / "1.parquet")
    text = "".join(
        f"CREATE STREAM {each} (v INT, at TIMESTAMP) FROM files "
        f"WITH (path = '{each}', format = 'parquet', timestamp = 'at');\n"
        for each in "ab"
    )
    query = (
        "SELECT a.v, b.v AS w FROM a [RANGE 1 SECOND] AS a, b [RANGE 1 SECOND] AS b WHERE a.v = b.v AND a.v > 5"
    )
    script = written(tmp_path, f"{text}CREATE QUERY q AS {query};\nSET rows = 'stored';")
    with ps.started(script, out=tmp_path / "out", spark=spark) as running:
        running.settle()  # rows of `a` after those of `b` wait
        found = sorted(ps.read(tmp_path / "out", "q")["v"].to_pylist())
    assert found == list(range(6, 600))
    assert len(joined) == 1


def table_of(count: int, first: int = 0, **more) -> pa.Table:
    return pa.table({"v": pa.array(range(first, first + count), pa.int32()), **more})


SCRIPT = """
CREATE STREAM s (v INT) FROM files WITH (path = 'in', format = 'parquet');
CREATE QUERY odd AS SELECT v FROM s WHERE v % 2 = 1;
CREATE QUERY big AS SELECT v FROM s WHERE v >= 10;
SET rows = 'stored';
"""


def written(folder, text: str = SCRIPT):
    path = folder / "script.sql"
    path.write_text(text)
    return path


def test_odd_names_of_files(tmp_path, spark):
    """Characters that Spark takes for patterns, encodes in its names, or leaves as they are."""
    place = tmp_path / "in"
    place.mkdir()
    names = [
        "a b",
        "per%cent",
        "x%20y",
        "ha#sh",
        "ü",
        "日本",
        "[1]",
        "{2}",
        "qu?est",
        "st*ar",
        "plus+",
        "eq=1",
        "e\u0301",
        "\u200d",
        "\ue000",
        "co:lon",
        "back\\slash",
        "quo'te",
    ]
    for number, name in enumerate(names):
        pq.write_table(table_of(10, 10 * number), place / f"{name}.parquet")
    windows = "s [RANGE 1 HOUR] AS a, s [ROWS 500] AS b"
    joined = f"{SCRIPT}CREATE QUERY pairs AS SELECT a.v FROM {windows} WHERE a.v = b.v;\n"
    found = ps.run(written(tmp_path, joined), drain=True, spark=spark)
    assert sorted(found.results["odd"].column("v").to_pylist()) == list(range(1, 10 * len(names), 2))
    assert found.summary.streams["s"].rows == 10 * len(names)
    assert found.summary.queries["pairs"].outputs == 10 * len(names)


class Broken:
    """Does something to a file after it was admitted and before its job runs."""

    def __init__(self, path, harm) -> None:
        self.path, self.harm, self.done = path, harm, False

    def __call__(self, backend, work):
        if not self.done:
            self.done = True
            self.harm(self.path)
        return RUN(backend, work)


RUN = SparkBackend.run


def truncated(path):
    path.write_bytes(path.read_bytes()[:-10])


def replaced_with_the_same_size(path):
    """Other rows in a file of the same size and time: Spark reads them without a word."""
    status = path.stat()
    other = path.with_name("_other")
    pq.write_table(table_of(10, 1010), other)
    assert other.stat().st_size == status.st_size
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(path)


@pytest.mark.parametrize(
    "harm",
    [
        *(pytest.param(each, marks=pytest.mark.slow) for each in (os.remove, truncated)),
        replaced_with_the_same_size,
    ],
)
def test_a_file_that_is_lost_after_admission(harm, tmp_path, spark, monkeypatch):
    place = tmp_path / "in"
    place.mkdir()
    for number in range(3):
        pq.write_table(table_of(10, 10 * number), place / f"{number}.parquet")
    broken = Broken(place / "1.parquet", harm)
    monkeypatch.setattr(SparkBackend, "run", lambda backend, work: broken(backend, work))
    said = []
    found = ps.run(written(tmp_path), drain=True, spark=spark, on_event=said.append)
    left = [*range(10), *range(20, 30)]
    assert sorted(found.results["odd"].column("v").to_pylist()) == [v for v in left if v % 2]
    assert sorted(found.results["big"].column("v").to_pylist()) == [v for v in left if v >= 10]
    assert found.summary.failed == ()
    assert found.summary.streams["s"].lost == 10
    assert [text for text in said if "1.parquet" in text and "since it was admitted" in text]


def broken_pages(path, column: int = 0):
    """Overwrite the beginning of a column, not the footer."""
    chunk = pq.read_metadata(path).row_group(0).column(column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    whole = path.read_bytes()
    path.write_bytes(whole[:start] + bytes(30) + whole[start + 30 :])


@pytest.mark.slow
def test_a_file_whose_pages_are_broken_before_admission(tmp_path, spark):
    """Only the executors notice, as the driver reads no rows."""
    place = tmp_path / "in"
    place.mkdir()
    for number in range(2):
        pq.write_table(table_of(10, 10 * number), place / f"{number}.parquet")
    broken_pages(place / "1.parquet")
    found = ps.run(written(tmp_path), drain=True, spark=spark)
    assert sorted(found.results["odd"].column("v").to_pylist()) == [1, 3, 5, 7, 9]
    assert found.summary.failed == ()
    assert found.summary.streams["s"].lost == 10


def test_a_file_whose_times_are_broken_is_rejected(tmp_path, spark):
    place = tmp_path / "in"
    place.mkdir()
    times = pa.array(range(10), pa.timestamp("us"))
    for number in range(2):
        pq.write_table(table_of(10, 10 * number, at=times), place / f"{number}.parquet")
    broken_pages(place / "1.parquet", column=1)
    text = SCRIPT.replace("v INT", "v INT, at TIMESTAMP").replace("'parquet'", "'parquet', timestamp = 'at'")
    found = ps.run(written(tmp_path, text), drain=True, spark=spark)
    assert sorted(found.results["odd"].column("v").to_pylist()) == [1, 3, 5, 7, 9]
    assert found.summary.streams["s"].malformed == 1
    assert "1.parquet" in found.rejected["s"].column("reason")[0].as_py()


def test_nanoseconds_and_missing_columns(tmp_path, spark):
    """Spark reads neither; the first go through the driver, a file without a column is rejected."""
    place = tmp_path / "in"
    place.mkdir()
    pq.write_table(table_of(3, at=pa.array([1_001, 2_001, -1], pa.timestamp("ns"))), place / "0.parquet")
    pq.write_table(table_of(3), place / "1.parquet")
    text = """CREATE STREAM s (v INT, at TIMESTAMP) FROM files WITH (path = 'in', format = 'parquet');
    CREATE QUERY q AS SELECT v, unix_micros(at) AS us FROM s WHERE v >= 0;
    SET rows = 'stored';"""
    found = ps.run(written(tmp_path, text), drain=True, spark=spark)
    assert found.results["q"].sort_by("v").column("us").to_pylist() == [1, 2, -1]
    assert found.summary.streams["s"].malformed == 1


def test_a_failing_query_inside_a_stored_group(tmp_path, spark, monkeypatch):
    """Only the query that divides by zero is stopped, also where executors write the results."""
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    place = tmp_path / "in"
    place.mkdir()
    for number in range(3):
        pq.write_table(table_of(10, 10 * number), place / f"{number}.parquet")
    text = "CREATE STREAM s (v INT) FROM files WITH (path = 'in', format = 'parquet');\nSET rows = 'stored';\n"
    query = "CREATE QUERY q{0} AS SELECT v, 10 div (v - {0}) AS r FROM s WHERE v > 3;\n"
    text += "".join(query.format(n) for n in (1, 2, 7))
    out = tmp_path / "out"
    found = ps.run(written(tmp_path, text), drain=True, spark=spark, out=out)
    assert found.summary.failed == ("q7",)
    for n in (1, 2):
        got = sorted(ps.read(out, f"q{n}").to_pylist(), key=lambda row: row["v"])
        assert got == [{"v": v, "r": int(10 / (v - n))} for v in range(4, 30)]
    assert not list((out / "_writing").glob("*")) if (out / "_writing").exists() else True


@pytest.mark.parametrize("writes", [pytest.param(False, marks=pytest.mark.slow), True])
def test_queries_that_come_and_go_while_stored_chunks_wait(writes, tmp_path, spark, monkeypatch):
    """A query sees the files from its start on, and none from its end on, in whichever place the rows are."""
    if writes:
        monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    place = tmp_path / "in"
    place.mkdir()
    text = SCRIPT + "SET publish = '0 s';\n"
    out = tmp_path / "out"

    def add(number: int) -> None:
        pq.write_table(table_of(10, 10 * number), place / f"_{number}")
        (place / f"_{number}").rename(place / f"{number}.parquet")

    with ps.started(written(tmp_path, text), spark=spark, out=out) as running:
        add(0)
        running.settle(60)
        running.execute("CREATE QUERY late AS SELECT v FROM s WHERE v >= 0")
        running.execute("CREATE QUERY odder AS SELECT v FROM s WHERE v % 4 = 1")
        add(1)
        running.settle(60)
        running.execute("DROP QUERY big")
        add(2)
        running.settle(60)
        running.stop()
    got = {name: sorted(ps.read(out, name).column("v").to_pylist()) for name in ("odd", "big", "late", "odder")}
    assert got == {
        "odd": list(range(1, 30, 2)),
        "big": list(range(10, 20)),
        "late": list(range(10, 30)),
        "odder": [v for v in range(10, 30) if v % 4 == 1],
    }


@pytest.mark.parametrize("writes", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_query_that_is_dropped_while_its_job_runs(writes, tmp_path, spark, monkeypatch):
    """It sees what had arrived, and the other query of its group does, too."""
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0 if writes else 10**9)
    (tmp_path / "in").mkdir()
    pq.write_table(table_of(100), tmp_path / "in" / "0.parquet")
    text = SCRIPT.replace("v % 2 = 1", "v >= 90")
    begun, dropped = threading.Event(), threading.Event()

    def run(backend, work):
        begun.set()
        assert dropped.wait(60)
        return RUN(backend, work)

    monkeypatch.setattr(SparkBackend, "run", run)
    out = tmp_path / "out"
    with ps.started(written(tmp_path, text), spark=spark, out=out) as running:
        assert begun.wait(60)
        asked = threading.Thread(target=running.execute, args=["DROP QUERY odd"])
        asked.start()
        time.sleep(0.5)
        dropped.set()
        asked.join()
        running.settle(60)
        running.stop()
    assert sorted(ps.read(out, "odd").column("v").to_pylist()) == list(range(90, 100))
    assert sorted(ps.read(out, "big").column("v").to_pylist()) == list(range(10, 100))


def test_a_join_that_writes_too_many_results_is_tried_with_fewer_rows(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    monkeypatch.setattr(job_rows, "MOST_WRITTEN", 800)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        pq.write_table(table_of(40, at=pa.array([5] * 40, pa.timestamp("us"))), tmp_path / name / "0.parquet")
    streams = "".join(
        f"CREATE STREAM {name} (v INT, at TIMESTAMP) FROM files WITH "
        f"(path = '{name}', format = 'parquet', timestamp = 'at');\n"
        for name in ("a", "b")
    )
    query = "CREATE QUERY q AS SELECT a.v, b.v AS w FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND] WHERE a.at = b.at;"
    out = tmp_path / "out"
    found = ps.run(written(tmp_path, f"{streams}{query}\nSET rows = 'stored';"), drain=True, spark=spark, out=out)
    assert found.summary.failed == ()
    assert sorted(ps.read(out, "q").to_pylist(), key=str) == sorted(
        ({"v": v, "w": w} for v in range(40) for w in range(40)), key=str
    )
    assert not (out / "_writing").exists()


def test_a_file_that_vanishes_while_its_rows_wait_for_another_stream(tmp_path, spark):
    """The run goes on without it, and says so."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    text = """
    CREATE STREAM a (v INT, at TIMESTAMP) FROM files WITH (path = 'a', format = 'parquet', timestamp = 'at');
    CREATE STREAM b (v INT, at TIMESTAMP) FROM files WITH (path = 'b', format = 'parquet', timestamp = 'at');
    CREATE QUERY q AS SELECT a.v FROM a [RANGE 1 SECOND], b [ROWS 3] WHERE a.v = b.v;
    CREATE QUERY all_b AS SELECT v FROM b WHERE v >= 0;
    SET rows = 'stored';"""
    said = []

    def add(name: str, *times: int) -> None:
        rows = table_of(len(times), at=pa.array(times, pa.timestamp("us")))
        pq.write_table(rows, tmp_path / name / "_x")
        (tmp_path / name / "_x").rename(tmp_path / name / f"{times[0]}.parquet")

    with ps.started(written(tmp_path, text), spark=spark, on_event=said.append) as running:
        add("a", *range(10, 20))
        running.settle(60)
        (tmp_path / "a" / "10.parquet").unlink()
        add("b", *range(11, 15))
        running.settle(60)
        assert running.results["all_b"].num_rows == 4
        assert running.stop().streams["a"].lost == 10
    assert [text for text in said if "10.parquet has vanished" in text]


def test_times_inside_columns_that_executors_write(tmp_path, spark, monkeypatch):
    """Times have no zone, also in structs, and a field may be called timestamp."""
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    (tmp_path / "in").mkdir()
    kind = pa.struct([("timestamp", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    rows = pa.table({"s": pa.array([{"timestamp": 7, "at": 5}], kind), "t": pa.array([3], pa.timestamp("us"))})
    pq.write_table(rows, tmp_path / "in" / "0.parquet")
    text = """CREATE STREAM s (s STRUCT<`timestamp`: BIGINT, at: TIMESTAMP>, t TIMESTAMP)
      FROM files WITH (path = 'in', format = 'parquet');
    CREATE QUERY q AS SELECT s, t FROM s WHERE t IS NOT NULL;
    SET rows = 'stored';"""
    ps.run(written(tmp_path, text), drain=True, spark=spark, out=tmp_path / "out")
    [file] = (tmp_path / "out" / "q").glob("*.parquet")
    found = pq.read_table(file)
    assert found.schema.field("t").type == pa.timestamp("us")
    assert found.column("s").combine_chunks().field("timestamp").to_pylist() == [7]
    assert found.schema.field("s").type.field("at").type == pa.timestamp("us")
