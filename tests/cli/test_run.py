"""`penstock run`: wrong calls without Spark; a run to the end and an interrupted one in a process of their own."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.spark.parquet import Parquet

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
    sink = Parquet(tmp_path / "out")
    sink.open("small", pa.schema([("a", pa.int32())]))
    sink.close()
    command = penstock("run", script, "--out", tmp_path / "out", "--quiet")
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert "holds results already (small): choose another folder" in result.stderr
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
        ("qos = 'minimize avg_response 0.5'", "setting 'qos': the weights of goals must sum to 1, and 0.5 is 0.5"),
        ("selector = 'rulette'", "setting 'selector': there is no selector 'rulette'. Did you mean 'roulette'?"),
        ("candidates = 'hr, bst'", "setting 'candidates': there is no policy 'bst'. Did you mean 'bsd'?"),
    ],
)
def test_goals_that_cannot_be_are_told_before_anything_starts(script, setting, message):
    script.write_text(TINY + f"SET {setting};\n")
    result = subprocess.run(penstock("run", script), capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1].startswith(f"penstock: {script}: {message}")


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
        assert "until Ctrl-C" in process.stderr.readline()
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


def test_the_example_script_reads_the_table_beside_it():
    folder = Path(__file__).parents[2] / "examples"
    rows = (folder / "hosts.csv").read_text().splitlines()
    assert rows[0] == "ip,owner,city,quota"
    assert {row.split(",")[0] for row in rows[1:]} == {f"src{number}" for number in range(50)}
