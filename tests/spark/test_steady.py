"""Constant load leaves nothing behind, overload drains: shorter than `tests/spark/steady.py` runs them alone."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def figures(*arguments: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.steady", *arguments], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_memory_does_not_grow_under_constant_load():
    found = figures("--seconds", "36")
    assert found["rows_in"] > 40_000
    assert found["cached"]["last_pause_least_mb"] <= 1, ("broadcasts of past jobs are kept", found)
    bounds = (("log", "load_mean", 1), ("python", "load_mean", 5), ("heap", "pause_least", 10))
    for what, figure, slack_mb in bounds:
        middle, last = found[what][f"middle_{figure}_mb"], found[what][f"last_{figure}_mb"]
        assert last <= 1.1 * middle + slack_mb, (what, found)


def test_four_times_overload_drains_and_loses_nothing():
    found = figures("--overload", "--seconds", "4")
    assert found["peak_waiting_rows"] > 0.5 * found["rows_in"], "there was no overload"
    assert found["every"] == found["rows_in"] > 5_000
    assert found["big"] == found["big_by_hand"]
    assert found["abandoned"] == 0
