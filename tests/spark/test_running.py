"""A script while it runs: queries come and go, fail, end; rows late and malformed; every kind of source."""

import gzip
import json
import socket
import threading
import time
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from penstock.errors import RunError, ScriptError
from penstock.language import Script
from penstock.runtime.options import RunOptions
from penstock.sinks.memory_sink import MemorySink
from penstock.spark.backend import spark_runtime
from tests.oracle.datafiles import write_rows
from tests.oracle.model import Case, FromItem, QuerySpec, StreamData
from tests.oracle.oracle import difference, expected
from tests.oracle.results import sorted_rows
from tests.oracle.shape_parts import BASE
from tests.oracle.shapes import SHAPES

FIVE_ROWS = """
    CREATE STREAM s (v INT) FROM poisson WITH (rate = 1000, rows = 5);
    CREATE QUERY values AS SELECT v FROM s;
"""


def rows_of(table: pa.Table) -> list[tuple]:
    return sorted_rows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def until(condition, seconds: float = 30.0):
    """Wait for something to come true in a running system."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come true in time")


def keyed(name: str, count: int, keys: int = 5) -> StreamData:
    rows = [(i % keys, i * 7 % 100, BASE + timedelta(milliseconds=100 * i)) for i in range(count)]
    return StreamData(name, [("k", "INT"), ("v", "INT"), ("ts", "TIMESTAMP")], rows, "ts")


QUERIES = [
    QuerySpec("big", [("k", None), ("v", None)], [FromItem("a")], "v > 50"),
    QuerySpec("small", [("v", None)], [FromItem("a")], "v > 50"),
    QuerySpec(
        "met",
        [("x.v", "left_v"), ("y.v", "right_v")],
        [FromItem("a", "x", ("range", 1_000_000)), FromItem("b", "y", ("rows", 4))],
        "x.k = y.k AND x.v > 50",
    ),
]
CASE = Case([keyed("a", 300), keyed("b", 300)], [], QUERIES)


@pytest.mark.parametrize("policy", ["bsd", pytest.param("chain", marks=pytest.mark.slow)])
def test_queries_created_and_dropped_in_mid_run(policy, tmp_path, spark):
    """Each equals the oracle over the sequence range that was printed."""
    folders = {}
    for stream in CASE.streams:
        folders[stream.name] = tmp_path / stream.name
        folders[stream.name].mkdir()

    def feed(first: int, end: int) -> None:
        for stream in CASE.streams:
            part = folders[stream.name] / f".part-{first:05d}"
            write_rows(part, stream.columns, stream.rows[first:end], "json")
            part.rename(folders[stream.name] / f"part-{first:05d}.json")

    definitions = [
        f"CREATE STREAM {s.name} (k INT, v INT, ts TIMESTAMP) FROM files WITH (path = '{folders[s.name]}', "
        "format = 'json', timestamp = 'ts');"
        for s in CASE.streams
    ]
    texts = {query.name: f"CREATE QUERY {query.name} AS {query.text()};" for query in QUERIES}
    script = Script.parse("\n".join([*definitions, texts["big"]]))
    feed(0, 60)
    with ps.started(script, spark=spark, policy=policy) as running:
        until(lambda: running.summary().queries["big"].outputs)
        said = running.execute(texts["met"] + texts["small"])
        assert said == ["query met begins at a 60, b 60", "query small begins at a 60"]
        feed(60, 140)
        until(lambda: running.summary().queries["met"].outputs)
        feed(140, 200)
        until(lambda: running.summary().streams["b"].rows == 200)
        assert running.execute("DROP QUERY met; DROP QUERY big;") == [
            "query met ends before a 200, b 200",
            "query big ends before a 200",
        ]
        feed(200, 300)
        until(lambda: running.summary().streams["a"].rows == 300)
        until(lambda: {q.status for q in running.summary().queries.values()} == {"ended", "running"})
        until(lambda: not running.summary().waiting_rows and not running.summary().streams["a"].waiting_rows)
        time.sleep(0.5)
        summary = running.stop()
        results = running.results
    ranges = {"big": (0, 200), "met": (60, 200), "small": (60, 300)}
    for name, (first, end) in ranges.items():
        assert set(summary.queries[name].first.values()) == {first}
        assert set(summary.queries[name].end.values()) == {end}
        wanted = expected(CASE, name, {"a": (first, end), "b": (first, end)})
        assert wanted
        assert difference(wanted, rows_of(results[name])) == "", name


@pytest.mark.parametrize(
    "policy",
    ["bsd", "chain", *(pytest.param(each, marks=pytest.mark.slow) for each in ("hnr.shared('sum')", "segment"))],
)
def test_a_query_that_fails_is_stopped_and_named_and_the_others_lose_nothing(policy, tmp_path, spark):
    data = tmp_path / "a"
    data.mkdir()
    for part in range(3):
        lines = [json.dumps({"k": i % 3, "v": (i - 35)}) for i in range(part * 20, part * 20 + 20)]
        (data / f"p{part}.json").write_text("\n".join(lines))
    script = f"""
        CREATE STREAM a (k INT, v INT) FROM files WITH (path = '{data}', format = 'json');
        CREATE QUERY fine AS SELECT k, v FROM a WHERE v <> 1000;
        CREATE QUERY broken AS SELECT k, 100 / v AS x FROM a WHERE v <> 1000;
        CREATE QUERY other AS SELECT v FROM a WHERE v > 0;
        CREATE QUERY shared AS SELECT v + 1 AS w FROM a WHERE v <> 1000;
    """
    events = []
    found = ps.run(script, spark=spark, drain=True, policy=policy, batch_rows=25, on_event=events.append)
    assert found.summary.failed == ("broken",)
    assert "DIVIDE_BY_ZERO" in found.summary.queries["broken"].reason
    assert any(event.startswith("query broken stopped: ") for event in events)
    assert found.results["fine"].num_rows == 60
    assert found.results["shared"].num_rows == 60
    assert found.results["other"].num_rows == 24


def test_late_and_malformed_rows_are_rejected_with_count_and_reason(tmp_path, spark):
    lines = [
        '{"v": 1, "at": "2026-01-01T00:00:05Z"}',
        "rubbish",
        '{"v": "no number", "at": "2026-01-01T00:00:06Z"}',
        '{"v": 2, "at": "2026-01-01T00:00:04Z"}',
        '{"v": 3}',
        '{"v": 4, "at": "2026-01-01T00:00:07Z", "more": [1, 2]}',
        '{"v": 5, "at": "yesterday"}',
    ]
    (tmp_path / "a.json").write_text("\n".join(lines) + "\n")
    script = f"""
        CREATE STREAM a (v INT, at TIMESTAMP) FROM files
          WITH (path = '{tmp_path / "a.json"}', format = 'json', timestamp = 'at');
        CREATE QUERY q AS SELECT v FROM a;
    """
    found = ps.run(script, spark=spark, drain=True, out=tmp_path / "out")
    stream = found.summary.streams["a"]
    assert (stream.rows, stream.late, stream.malformed) == (7, 1, 4)
    assert sorted(ps.read(tmp_path / "out", "q").column("v").to_pylist()) == [1, 4]
    [file] = (tmp_path / "out" / "_rejected" / "a").iterdir()
    rejected = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["_seq"], row["_kind"]) for row in rejected] == [
        (1, "malformed"),
        (2, "malformed"),
        (3, "late"),
        (4, "malformed"),
        (6, "malformed"),
    ]
    assert rejected[0]["_raw"] == "rubbish"
    assert rejected[0]["_reason"] == "this is not a JSON object"
    assert (rejected[1]["v"], rejected[1]["_reason"]) == ("no number", "column v does not fit INT")
    assert "no time" in rejected[3]["_reason"]
    again = script.replace(str(tmp_path / "a.json"), str(file.parent)).replace(
        "'at')", "'at', lateness = '1 min')"
    )
    fed_back = ps.run(again, spark=spark, drain=True)
    assert fed_back.results["q"].column("v").to_pylist() == [2]


def test_files_that_cannot_be_read_are_rejected_whole(tmp_path, spark):
    data = tmp_path / "p"
    data.mkdir()
    pq.write_table(pa.table({"v": pa.array([1, 2, None], pa.int64())}), data / "a.parquet")
    (data / "b.parquet").write_bytes(b"no parquet at all")
    pq.write_table(pa.table({"w": [1]}), data / "c.parquet")
    pq.write_table(pa.table({"v": pa.array([3, 2**40], pa.int64())}), data / "d.parquet")
    script = f"""
        CREATE STREAM s (v INT) FROM files WITH (path = '{data}', format = 'parquet');
        CREATE QUERY q AS SELECT v FROM s;
    """
    found = ps.run(script, spark=spark, drain=True)
    assert sorted(found.results["q"].column("v").to_pylist(), key=str) == [1, 2, 3, None]
    assert found.summary.queries["q"].status == "ended"
    reasons = [row["reason"] for row in found.rejected["s"].to_pylist()]
    assert len(reasons) == 3
    assert "b.parquet cannot be read" in reasons[0]
    assert "no column 'v'" in reasons[1]
    assert "column v does not fit INT" in reasons[2]


def test_csv_columns_are_found_by_the_header(tmp_path, spark):
    data = tmp_path / "c"
    data.mkdir()
    (data / "a.csv").write_text("extra,V,name\nx,1,one\ny,2,two\nz,3\n")
    (data / "b.csv").write_text("name,v\nthree,3\nfour,four\n")
    (data / "c.csv").write_text("name\nfive\n")
    with gzip.open(data / "d.csv.gz", "wt") as file:
        file.write('name,v\n"say ""six"", please",6\n"se\nven",7\n')
    (data / "e.csv").write_text("x\n" * 1000 + "y" * 200_000)
    script = f"""
        CREATE STREAM s (v INT, name STRING) FROM files WITH (path = '{data}', format = 'csv');
        CREATE QUERY q AS SELECT * FROM s;
    """
    found = ps.run(script, spark=spark, drain=True)
    assert rows_of(found.results["q"]) == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
        (6, 'say "six", please'),
        (7, "se\nven"),
    ]
    reasons = [row["reason"] for row in found.rejected["s"].to_pylist()]
    assert len(reasons) == 4  # a short row, one that does not fit, two files without the columns
    assert "c.csv cannot be read: c.csv has no column 'v'" in reasons[2]


def test_a_stored_table_of_several_files_in_a_folder_further_up(tmp_path, spark):
    (tmp_path / "table").mkdir()
    (tmp_path / "deep").mkdir()
    (tmp_path / "table" / "a.csv").write_text("k,name\n1,one\n")
    (tmp_path / "table" / "b.csv").write_text("k,name\n2,two\n2,zwei\n")
    (tmp_path / "deep" / "script.sql").write_text("""
        CREATE STREAM s (k INT) FROM poisson WITH (rate = 1000, rows = 40, k_high = 3);
        CREATE TABLE t (k INT, name STRING) FROM csv WITH (path = '../table');
        CREATE QUERY q AS SELECT s.k, name FROM s, t WHERE s.k = t.k;
        CREATE QUERY every AS SELECT k FROM s;
    """)
    found = ps.run(tmp_path / "deep" / "script.sql", spark=spark, drain=True)
    keys = found.results["every"].column("k").to_pylist()
    assert found.results["q"].num_rows == keys.count(1) + 2 * keys.count(2)


@pytest.mark.parametrize(
    "kind", ["poisson WITH (rate = 2000, rows = 900)", "bursty WITH (rate = 2000, seconds = 0.5)"]
)
def test_generated_streams_repeat_themselves(kind, spark):
    """The rows do not depend on the clock; those of a run are those of the next, and all come."""
    script = f"CREATE STREAM s (k STRING, v INT) FROM {kind}; CREATE QUERY q AS SELECT k, v FROM s WHERE v > 700;"
    first, second = (ps.run(script, spark=spark, drain=True) for _ in range(2))
    assert rows_of(first.results["q"]) == rows_of(second.results["q"])
    assert first.summary.streams["s"].rows == second.summary.streams["s"].rows > 400
    share = first.results["q"].num_rows / first.summary.streams["s"].rows
    assert 0.4 < share < 0.65


def test_generated_streams_join_by_their_own_times(spark):
    """What a brute-force join of the rows themselves gives, whatever the chunks."""
    text = """
        CREATE STREAM a (k INT, v INT) FROM poisson WITH (rate = 400, rows = 200, k_high = 9, speed = 2);
        CREATE STREAM b (k INT, w INT) FROM poisson WITH (rate = 300, rows = 150, k_high = 9, seed = 5);
        CREATE QUERY met AS SELECT a.k, v, w FROM a [ROWS 20], b [ROWS 30] WHERE a.k = b.k;
        CREATE QUERY every_a AS SELECT k, v FROM a;
    """
    found = ps.run(text, spark=spark, drain=True)
    assert found.results["every_a"].num_rows == 200
    assert found.summary.streams["a"].ended
    assert found.results["met"].num_rows > 100
    assert {row["k"] for row in found.results["met"].to_pylist()} <= set(range(10))


def test_a_trace_is_replayed(tmp_path, spark):
    pq.write_table(pa.table({"arrival_us": [0, 1000, 250_000, 400_000]}), tmp_path / "t.parquet")
    script = f"""
        CREATE STREAM s (v INT) FROM trace WITH (path = '{tmp_path / "t.parquet"}');
        CREATE QUERY q AS SELECT v FROM s;
    """
    found = ps.run(script, spark=spark, drain=True)
    assert found.results["q"].num_rows == 4


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_socket_is_listened_to(spark):
    port = free_port()
    script = f"""
        CREATE STREAM s (v INT, name STRING) FROM socket WITH (port = {port});
        CREATE QUERY q AS SELECT v, name FROM s WHERE v > 1;
    """
    with ps.started(script, spark=spark, drain=True) as running:
        until(lambda: _sent(port, b'{"v": 1, "name": "a"}\n{"v": 2, "name": "b"}\r\nrubb'))
        until(lambda: _sent(port, b'{"v": 3, "name": "c"}'))
        summary = running.wait(60)
        assert rows_of(running.results["q"]) == [(2, "b"), (3, "c")]
    assert (summary.streams["s"].rows, summary.streams["s"].malformed) == (4, 1)


def _sent(port: int, data: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(data)
    except OSError:
        return False
    return True


def test_a_socket_that_sends_csv(spark):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"1,a\n2,b\nx,c\n")

        threading.Thread(target=serve, daemon=True).start()
        script = f"""
            CREATE STREAM s (v INT, name STRING) FROM socket WITH (port = {port}, listen = false, format = 'csv');
            CREATE QUERY q AS SELECT * FROM s;
        """
        found = ps.run(script, spark=spark, drain=True)
    assert rows_of(found.results["q"]) == [(1, "a"), (2, "b")]
    assert found.summary.streams["s"].malformed == 1


def test_a_port_in_use_is_named(spark):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"CREATE STREAM s (v INT) FROM socket WITH (port = {port}); CREATE QUERY q AS SELECT v FROM s;"
        with pytest.raises(RunError, match=f"stream s: cannot listen on 127.0.0.1:{port}: Address already in use"):
            ps.run(script, spark=spark, drain=True)


def test_any_source_of_structured_streaming(tmp_path, spark):
    data = tmp_path / "in"
    data.mkdir()
    (data / "a.json").write_text('{"v": 1}\n{"v": 2}\n')
    (data / "b.json").write_text('{"v": 3}\n')
    spark.conf.set("spark.sql.streaming.schemaInference", "true")
    script = f"""
        CREATE STREAM s (v INT) FROM structured WITH (format = 'json', path = '{data}', maxFilesPerTrigger = 1);
        CREATE QUERY q AS SELECT v * 10 AS w FROM s;
    """
    found = ps.run(script, spark=spark, drain=True)
    assert rows_of(found.results["q"]) == [(10,), (20,), (30,)]


def test_results_go_to_a_function(spark):
    seen = []
    found = ps.run(FIVE_ROWS, spark=spark, drain=True, on_rows=lambda query, rows: seen.append((query, rows)))
    assert {query for query, _ in seen} == {"values"}
    assert sum(rows.num_rows for _, rows in seen) == 5
    assert found.results == {}


def test_a_stream_is_not_read_ahead_for_a_partner_that_is_silent(tmp_path, spark):
    """Rows wait for a stream that may come any time: the memory they may take is kept all the same."""
    script = f"""
        CREATE STREAM a (k INT, v INT) FROM poisson WITH (rate = 20000);
        CREATE STREAM b (k INT, at TIMESTAMP) FROM files
          WITH (path = '{tmp_path}', format = 'json', timestamp = 'at');
        CREATE QUERY q AS SELECT a.v FROM a [RANGE 1 SECONDS], b [ROWS 5] WHERE a.k = b.k;
        SET memory = '200KB';
        SET shed = false;
    """
    summary = ps.run(script, spark=spark, seconds=2).summary
    assert summary.streams["a"].held
    assert summary.peak_bytes <= 200_000
    assert summary.waiting_bytes <= 200_000
    assert summary.queries["q"].status == "stopped"


def test_backpressure_holds_sources_and_loses_nothing(tmp_path, spark):
    """Far more rows than may wait: they are read as room comes, and all are drained."""
    pq.write_table(pa.table({"v": list(range(20_000))}), tmp_path / "a.parquet")
    for part in range(1, 6):
        (tmp_path / f"a{part}.parquet").write_bytes((tmp_path / "a.parquet").read_bytes())
    script = f"""
        CREATE STREAM s (v BIGINT) FROM files WITH (path = '{tmp_path / "*.parquet"}', format = 'parquet');
        CREATE QUERY q AS SELECT v FROM s WHERE v % 100 = 7;
        SET memory = '200KB';
    """
    found = ps.run(script, spark=spark, drain=True, batch_rows=10_000)
    assert found.summary.streams["s"].rows == 120_000
    assert found.results["q"].num_rows == 1200


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("SET policy = 'bsd';", RunError, "needs a stream"),
        ("CREATE STREAM s (v INT) FROM poisson WITH (rate = 5);", RunError, "never ends"),
        (
            "CREATE STREAM s (v INT) FROM files WITH (path = 'nowhere/', format = 'csv');",
            RunError,
            "stream s: there is no file or folder 'nowhere/'",
        ),
        (
            "CREATE STREAM s (v INT) FROM poisson WITH (rate = 5, rows = 3); SET policy = 'bst';",
            ValueError,
            "there is no policy 'bst'. Did you mean 'bsd'",
        ),
        (
            "CREATE STREAM s (v INT) FROM poisson WITH (rate = 5, rows = 3);"
            "CREATE TABLE t (v INT) FROM csv WITH (path = 'nowhere.csv');",
            RunError,
            "table t: there is no file or folder 'nowhere.csv'",
        ),
        (
            "CREATE STREAM s (v TIMESTAMP) FROM poisson WITH (rate = 5, rows = 3);"
            "CREATE QUERY q AS SELECT v - v AS d FROM s;",
            ScriptError,
            "a result column cannot be an interval",
        ),
    ],
)
def test_what_cannot_run_is_refused_before_anything_runs(script, error, message, spark):
    with pytest.raises(error) as refused:
        ps.run(script + "\n", spark=spark, drain=True)
    assert message in str(refused.value)


def test_a_policy_that_knows_the_future_does_with_what_was_measured(spark):
    events = []
    found = ps.run(FIVE_ROWS, spark=spark, drain=True, policy="hnr_oracle", on_event=events.append)
    assert found.results["values"].num_rows == 5
    assert events[-1] == "policy hnr_oracle knows the future; a run uses measured values instead"


def test_results_are_not_mixed_with_older_ones(tmp_path, spark):
    script = FIVE_ROWS
    ps.run(script, spark=spark, drain=True, out=tmp_path)
    with pytest.raises(RunError, match="already holds results"):
        ps.run(script, spark=spark, drain=True, out=tmp_path)
    ps.run(script, spark=spark, drain=True, out=tmp_path, overwrite=True)
    assert ps.read(tmp_path, "values").num_rows == 5
    with pytest.raises(RunError, match=r"no results of a query 'value' in .*\. Did you mean 'values'\?"):
        ps.read(tmp_path, "value")


def test_a_name_is_free_again_when_its_query_has_ended(spark):
    text = "CREATE STREAM s (v INT) FROM poisson WITH (rate = 500);\nCREATE QUERY q AS SELECT v FROM s;"
    with ps.started(text, spark=spark) as running:
        until(lambda: running.summary().queries["q"].outputs)
        ended, begun = running.execute("DROP QUERY q; CREATE QUERY q AS SELECT v FROM s WHERE v < 0;")
        assert int(ended.split()[-1]) == int(begun.split()[-1])
        before = running.results["q"].num_rows
        assert before == int(ended.split()[-1])
        with pytest.raises(RunError, match="an earlier query q had other columns"):
            running.execute("DROP QUERY q; CREATE QUERY q AS SELECT v + 1.5 AS w FROM s;")
        with pytest.raises(ScriptError, match="there is no query 'p' to drop"):
            running.execute("DROP QUERY p;")
        with pytest.raises(RunError, match="streams and tables cannot"):
            running.execute("CREATE TABLE t (v INT) FROM csv WITH (path = 'x');")
        assert running.execute("SET policy = 'hnr';") == ["policy hnr"]
        summary = running.stop()
    assert summary.policy == "hnr"
    assert running.results["q"].num_rows == before
    with pytest.raises(RunError, match="the run has ended"):
        running.execute("SET policy = 'bsd';")


def test_two_units_in_flight(tmp_path, spark):
    """Not the default yet, and right already."""

    case = SHAPES["shared_prefix"](6)
    memory = MemorySink()
    script = Script.read(case.write(tmp_path))
    options = RunOptions.of(script, drain=True, in_flight=2, batch_rows=150)
    spark_runtime(script, spark, [memory], tmp_path, options).run()
    for query in case.queries:
        assert difference(expected(case, query.name), rows_of(memory.results[query.name])) == ""
