"""`penstock run`: wrong calls without Spark; a run to the end and an interrupted one in a process of their own."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.sinks.parquet_sink import ParquetSink

runner = CliRunner()
TINY = """
CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 5000, rows = 500, seed = 1, a_high = 9);
CREATE QUERY small AS SELECT a, b FROM s WHERE b < 300;
CREATE QUERY ratio AS SELECT b / a AS x FROM s;
"""
ENDLESS = """
CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 200, seed = 1);
CREATE QUERY small AS SELECT a, b FROM s WHERE b < 300;
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "tiny.sql"
    path.write_text(TINY)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--master", "local[1]", "--remote", "sc://localhost"],
        ["--seconds", "-1"],
        ["--seconds", "0"],
        ["--seconds", "nan"],
        ["--seconds", "soon"],
        ["--chunk-rows", "0"],
        ["--batch-rows", "-5"],
        ["--overwrite"],
        ["--append"],
        ["--append", "--overwrite", "--out", "results"],
        ["--policy", "hrn"],
        ["--policy", "hr_oracle"],
        ["--policy", "bsd.evry(3)"],
        ["--drian"],
        ["--conf", "spark.sql.shuffle.partitions"],
        ["--conf", "shuffle.partitions=8"],
        ["--conf", "spark.sql.session.timeZone=Europe/Vienna"],
        ["--driver-memory", "lots"],
        ["--driver-memory", "100m"],
        ["--driver-memory", "4g", "--remote", "sc://localhost"],
        ["--packages", "kafka"],
        ["--format", "ndjson"],
        ["--show", "--format", "yaml"],
        ["--every", "-1"],
        ["--log", "xml"],
    ],
)
def test_wrong_calls_exit_with_2_and_start_nothing(script, arguments):
    result = runner.invoke(app, ["run", str(script), *arguments])
    assert result.exit_code == 2
    assert "Error" in result.output


def test_a_missing_file_is_a_wrong_call(tmp_path):
    assert runner.invoke(app, ["run", str(tmp_path / "none.sql")]).exit_code == 2
    assert runner.invoke(app, ["run"]).exit_code == 2


def test_help_has_examples():
    result = runner.invoke(app, ["run", "--help"])
    assert result.exit_code == 0
    assert "penstock run files.sql --drain --out results" in result.stdout


def test_a_folder_with_results_is_told_before_spark_starts(script, tmp_path):
    sink = ParquetSink(tmp_path / "out")
    sink.open("small", pa.schema([("a", pa.int32())]))
    sink.close()
    command = penstock("run", script, "--out", tmp_path / "out", "--quiet")
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert "already holds results (small): choose another folder" in result.stderr
    assert "--append" in result.stderr
    assert "Traceback" not in result.stderr


def penstock(*arguments):
    return [sys.executable, "-m", "penstock", *map(str, arguments)]


def test_a_script_with_an_error_is_pointed_at_and_exits_with_1(script):
    script.write_text(
        "CREATE STREAM s (a INT) FROM poisson WITH (rate = 1);\nCREATE QUERY q AS SELECT b FROM s;\n"
    )
    result = subprocess.run(penstock("run", script), capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"penstock: {script}:2:26: there is no column 'b'")
    assert result.stderr.rstrip().endswith("^")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("qos = 'minimize avg_response 0.5'", "setting 'qos': the weights of goals must sum to 1, but 0.5 is 0.5"),
        ("selector = 'rulette'", "setting 'selector': there is no selector 'rulette'. Did you mean 'roulette'?"),
        ("candidates = 'hr, bst'", "setting 'candidates': there is no policy 'bst'. Did you mean 'bsd'?"),
    ],
)
def test_goals_that_cannot_be_are_told_before_anything_starts(script, setting, message, monkeypatch):
    monkeypatch.setattr("penstock.spark.api.spark_session", lambda *_, **__: pytest.fail("Spark is started"))
    script.write_text(TINY + f"SET {setting};\n")
    result = runner.invoke(app, ["run", str(script)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert str(result.exception).startswith(f"{script}: {message}")


@pytest.mark.slow
def test_a_run_to_the_end_as_json_names_the_query_that_failed(script):
    result = subprocess.run(
        penstock("run", script, "--drain", "--json"), capture_output=True, text=True, check=False, timeout=180
    )
    assert result.returncode == 1, result.stderr
    summary = json.loads(result.stdout)
    assert summary["queries"]["ratio"]["status"] == "failed"
    assert "DIVIDE_BY_ZERO" in summary["queries"]["ratio"]["reason"]
    assert (summary["rows_in"], summary["abandoned_rows"]) == (500, 0)
    small = summary["queries"]["small"]
    assert (small["status"], small["from"], small["to"]) == ("ended", {"s": 0}, {"s": 500})
    assert 0 < small["outputs"] < 500
    assert "query ratio stopped" in result.stderr
    assert "Traceback" not in result.stderr
    assert "org.apache.spark" not in result.stderr


@pytest.mark.slow
def test_one_interrupt_ends_a_run_with_a_summary(tmp_path):
    path = tmp_path / "endless.sql"
    path.write_text(ENDLESS)
    process = subprocess.Popen(penstock("run", path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert any("until Ctrl-C" in line for line in process.stderr)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert time.monotonic() - start < 15
    assert "endless.sql under bsd" in out
    assert "small" in out
    assert "Traceback" not in err


NDJSON = """
CREATE STREAM s (query INT, t TIMESTAMP) FROM poisson WITH (rate = 500, rows = 3, seed = 1);
CREATE QUERY all_rows AS
  SELECT query, CAST(query AS DECIMAL(9,1)) AS d, TIMESTAMP '2026-01-31 12:00:00' AS t FROM s;
CREATE QUERY broken AS SELECT 1 / (query - query) AS x FROM s;
"""


@pytest.mark.slow
def test_results_and_lines_for_programs(tmp_path):
    """stdout has the results, stderr has stages, events and the summary; every line of both is a JSON object."""
    path = tmp_path / "ndjson.sql"
    path.write_text(NDJSON)
    call = penstock("run", path, "--drain", "--show", "--log", "json", "--driver-memory", "700m")
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    heaps = set()
    while process.poll() is None:
        heaps |= heaps_below(process.pid)
        time.sleep(0.2)
    out, err = process.communicate()
    assert process.returncode == 1, err
    assert "700m" in heaps
    results = [json.loads(line) for line in out.splitlines()]
    assert [set(each) for each in results] == [{"query", "row"}] * 3
    assert all(isinstance(each["row"]["query"], int) for each in results)
    assert {each["row"]["t"] for each in results} == {"2026-01-31T12:00:00Z"}
    assert all(each["row"]["d"] == f"{each['row']['query']}.0" for each in results)
    said = [json.loads(line) for line in err.splitlines()]
    stages = [each["text"] for each in said if each["type"] == "stage"]
    assert stages == ["starting Spark on local[*]", "checking 2 queries"]
    assert any("query broken stopped" in each["text"] for each in said if each["type"] == "event")
    assert said[-1]["type"] == "summary"
    assert (said[-1]["rows_in"], said[-1]["queries"]["broken"]["status"]) == (3, "failed")


def heaps_below(pid: int) -> set[str]:
    """Return the -Xmx of the processes that a process started, and those started."""
    found, pending = set(), [pid]
    while pending:
        below = subprocess.run(["pgrep", "-P", str(pending.pop())], capture_output=True, text=True, check=False)
        for child in below.stdout.split():
            pending.append(int(child))
            with contextlib.suppress(OSError):
                found |= set(re.findall(r"-Xmx(\S+?)\0", Path(f"/proc/{child}/cmdline").read_text()))
    return found


@pytest.mark.slow
def test_when_java_dies_there_is_a_sentence_and_no_traceback(tmp_path):
    path = tmp_path / "endless.sql"
    path.write_text(ENDLESS)
    process = subprocess.Popen(
        penstock("run", path, "--seconds", "60"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert any("for 60 s" in line for line in process.stderr)
        time.sleep(3)
        for java in subprocess.run(
            ["pgrep", "-P", str(process.pid), "java"], capture_output=True, text=True, check=True
        ).stdout.split():
            os.kill(int(java), signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1
    assert err.splitlines()[-1].startswith("penstock: Spark no longer answers")
    assert "Traceback" not in err
    assert "py4j" not in err


def test_the_example_script_reads_the_table_beside_it():
    folder = Path(__file__).parents[2] / "examples"
    rows = (folder / "hosts.csv").read_text().splitlines()
    assert rows[0] == "ip,owner,city,quota"
    assert {row.split(",")[0] for row in rows[1:]} == {f"src{number}" for number in range(50)}
