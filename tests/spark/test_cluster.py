"""Scripts on a standalone cluster: executors are other processes, and some of them are killed."""

import subprocess
import sys
import time

import pytest

from penstock.bench.cluster import standalone_cluster
from penstock.bench.scale.check import found_in
from penstock.bench.scale.inputs import ScaleInput, make_input
from penstock.bench.scale.query_set import QuerySet
from tests.spark.test_elsewhere import assert_right_elsewhere

pytestmark = pytest.mark.slow

ROWS = [None, "stored"]
"""The settings `rows` under which all is tried; None: the script has none."""

FILTERS = (QuerySet("filters", 10), ScaleInput(1_000_000, 50_000))
WINDOWS = (QuerySet("window", window_rows=20_000), ScaleInput(600_000, 20_000, window_rows=20_000))


@pytest.fixture(scope="module")
def cluster():
    with standalone_cluster() as made:
        yield made


def where(cluster):
    return ["--master", cluster.master, *(f"--conf={key}={value}" for key, value in cluster.settings.items())]


@pytest.mark.parametrize("rows", ROWS)
def test_results_are_the_oracles(rows, cluster):
    assert_right_elsewhere(*where(cluster), *(["--rows", rows] if rows else []))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("queries", "source"), [FILTERS, WINDOWS], ids=["filters", "windows"])
def test_a_killed_worker_changes_no_result(queries, source, rows, cluster, tmp_path):
    made = make_input(source, tmp_path / "in")
    expected = made.expected(queries)
    script = tmp_path / "script.sql"
    script.write_text(queries.script(tmp_path / "in", source.file_format, {"rows": rows} if rows else {}))
    out = tmp_path / "out"
    # Small jobs, so that there are many
    options = [*where(cluster), "--chunk-rows", str(source.file_rows)]
    command = [sys.executable, "-m", "tests.spark.on_cluster", str(script), str(out), *options]
    with (tmp_path / "said").open("w+") as said:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            results = next((int(line) for line in run.stdout if int(line) > 0), None)
            assert run.poll() is None, "nothing was left to kill"
            cluster.kill_worker(0)
            assert cluster.executor_pids(1), "one executor goes on"
            run.communicate(timeout=600)
        finally:
            run.kill()
            run.wait()
        said.seek(0)
        assert run.returncode == 0, said.read()[-3000:]
    cluster.restart_worker(0)
    assert results < sum(count for count, _ in expected.values()), "the worker was killed after the last result"
    assert found_in(out, "penstock", list(expected), list(queries.hashed)) == expected


def test_the_cluster_knows_its_workers(cluster):
    assert cluster.alive_workers() == 2
    cluster.kill_worker(1)
    until = time.monotonic() + 60
    while cluster.alive_workers() != 1:
        assert time.monotonic() < until
        time.sleep(0.2)
    cluster.restart_worker(1)
    assert cluster.alive_workers() == 2
