import os
import time

import pytest

from penstock.bench.machine import peak_bytes
from penstock.bench.processes import children, in_a_process
from penstock.errors import RunError

WORKER = """
import json, subprocess, sys, time
from penstock.bench.processes import Reporter
spec = json.load(sys.stdin)
reporter = Reporter()
print("noise of others")
reporter.stage("at work")
if spec["do"] == "fail":
    raise ValueError("a reason")
if spec["do"] == "hang":
    subprocess.Popen(["sleep", "60"])
    time.sleep(60)
reporter.result({"answer": 42})
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    (tmp_path / "some_worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    stages = []

    def run(do, limit_s=30.0):
        return in_a_process("some_worker", {"do": do}, limit_s=limit_s, on_stage=stages.append), stages

    return run


def test_a_result_comes_back_and_noise_does_not(worker):
    assert worker("well") == ({"answer": 42}, ["at work"])


def test_a_failure_says_its_last_words(worker):
    with pytest.raises(RunError, match="a reason"):
        worker("fail")


def test_what_takes_too_long_is_ended_with_its_children(worker):
    began, before = time.monotonic(), children(os.getpid())
    with pytest.raises(RunError, match="longer than 2 s"):
        worker("hang", limit_s=2.0)
    assert time.monotonic() - began < 20
    assert set(children(os.getpid())) <= set(before)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="nobody counts memory here")
def test_memory_is_counted():
    assert peak_bytes(os.getpid()) > 10_000_000
    assert peak_bytes(2**22 + 1) is None
