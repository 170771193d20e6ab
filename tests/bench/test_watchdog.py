import os
import signal
import subprocess
import sys
import time

import psutil

STARTER = """
import subprocess, sys, time
from penstock.bench.watchdog import Watchdog
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         stdout=subprocess.DEVNULL, start_new_session=True)
dog = Watchdog()
dog.watch(child.pid)
print(child.pid, flush=True)
if "dismiss" in sys.argv:
    dog.dismiss()
time.sleep(600)
"""


def alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def started(*arguments):
    starter = subprocess.Popen([sys.executable, "-c", STARTER, *arguments], stdout=subprocess.PIPE, text=True)
    return starter, int(starter.stdout.readline())


def test_groups_end_when_their_starter_is_killed():
    starter, child = started()
    assert alive(child)
    starter.kill()
    starter.communicate()
    until = time.monotonic() + 20
    while alive(child):
        assert time.monotonic() < until, "the watchdog did nothing"
        time.sleep(0.05)


def test_a_dismissed_watchdog_ends_nothing():
    starter, child = started("dismiss")
    time.sleep(0.5)
    starter.kill()
    starter.communicate()
    time.sleep(0.5)
    assert alive(child)
    os.kill(child, signal.SIGKILL)
