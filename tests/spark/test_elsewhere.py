"""The same scripts on a cluster of processes and over Spark Connect."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("where", [("--master", "local-cluster[2,1,1024]"), ("--remote", "local[2]")])
def test_results_are_the_same(where):
    assert_right_elsewhere(*where)


def assert_right_elsewhere(*where):
    """Run a few shapes on the Spark that these options name, and compare with the oracle."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.elsewhere", *where], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert len(found) >= 10
    assert {name: told for name, told in found.items() if told} == {}
