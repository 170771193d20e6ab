"""What a signal does to a run with a state, in a process of its own without Spark."""

import os
import signal
import subprocess
import sys
import time

import pytest

RUN = """
import sys, time
from penstock.cli import signals
signals.STOP_S = {limit}
with signals.Signals({stopped}, lambda: print("limit", flush=True)) as held:
    if {arms}:
        held.arm(lambda: print("asked", flush=True))
    print("ready", flush=True)
    while not (held.asked and {ends}):
        time.sleep(0.01)
print("ended", held.by_manager, flush=True)
held.leave(0)
"""


def run(number=signal.SIGTERM, *, stopped=0, arms=True, ends=True, limit=0.5, times=1):
    text = RUN.format(stopped=stopped, arms=arms, ends=ends, limit=limit)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for _ in range(times):
            os.kill(process.pid, number)
            time.sleep(0.7 if times > 1 else 0)
        said = process.stdout.read().splitlines()
        return process.wait(10), said


@pytest.mark.parametrize(("number", "is_manager"), [(signal.SIGTERM, "True"), (signal.SIGINT, "False")])
def test_a_run_with_a_state_is_asked_to_stop_and_ends_with_0(number, is_manager):
    assert run(number) == (0, ["asked", f"ended {is_manager}"])


def test_what_takes_longer_than_the_limit_is_left_to_the_next_run():
    assert run(ends=False) == (0, ["asked", "limit"])
    assert run(ends=False, stopped=1) == (1, ["asked", "limit"])


def test_without_a_state_there_is_no_limit():
    assert run(ends="held.asked and time.monotonic() - held._since > 1", stopped=None)[1][-1] == "ended True"


def test_before_a_run_is_up_it_ends_at_once():
    assert run(arms=False) == (0, [])
    assert run(arms=False, stopped=None) == (130, [])


def test_a_second_signal_ends_a_run_at_once():
    assert run(ends=False, limit=30, times=2) == (1, ["asked"])
