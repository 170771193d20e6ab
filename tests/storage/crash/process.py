"""A `penstock run` in a process of its own, with the ways to kill it and its Java."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

POLL_S = 0.05
ENDS_S = 60.0
"""How long Java may live after Python was killed, and Python after Java was."""
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
"""Java that starts fast: it never lives long here."""


class RunProcess:
    """A run, whose log goes to a file; temporary files of it and its Java go to `temporary`."""

    def __init__(
        self,
        script: Path,
        out: Path,
        log: Path,
        temporary: Path,
        options: Sequence[str],
        fault: str | None = None,
        module: str = "penstock",
    ) -> None:
        command = [sys.executable, "-m", module, "run", str(script), "--out", str(out), *options]
        self.command = [*command, "--log", "json", "--every", "1"]
        self.log = log
        self.fault = fault
        self.began = time.monotonic()
        self._java: dict[int, psutil.Process] = {}
        self._said_up: float | None = None
        temporary.mkdir(exist_ok=True)
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment(temporary, fault),
                start_new_session=True,
            )
        self._self = psutil.Process(self._process.pid)

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        """Send a signal to Python alone."""
        self._process.send_signal(number)

    def watch(self) -> None:
        """Remember the processes that it started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in self._self.children(recursive=True):
                self._java.setdefault(child.pid, child)

    def java(self) -> list[psutil.Process]:
        """Its Java, if it lives."""
        self.watch()
        return [each for each in self._java.values() if is_alive(each) and name_of(each) == "java"]

    def left(self) -> list[psutil.Process]:
        """Processes that it started and that still live."""
        return [each for each in self._java.values() if is_alive(each)]

    @property
    def up_at(self) -> float | None:
        """When the run began to read streams; None if it has not."""
        if self._said_up is None and any(line.get("text", "").startswith("running ") for line in self.lines()):
            self._said_up = time.monotonic()
        return self._said_up

    def lines(self) -> list[dict]:
        """What it has logged so far; text that is no JSON as {"type": "other"}."""
        found = []
        for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"type": "other", "text": line}
            found.append(entry if isinstance(entry, dict) else {"type": "other", "text": line})
        return found

    def last_words(self) -> str:
        """The errors that it logged, else its last lines."""
        lines = [line for line in self.lines() if line.get("text")]
        told = [line["text"] for line in lines if line["type"] == "error"]
        told = told or [line["text"] for line in lines if line["type"] == "other"]
        return " | ".join((told or [line["text"] for line in lines])[-4:])[-1200:]

    def figures(self) -> dict:
        """The last figures that it logged; empty if there are none."""
        return next((line for line in reversed(self.lines()) if line["type"] in ("progress", "summary")), {})

    def wait(self, limit_s: float) -> int | None:
        """Wait until it ends; return its exit code, or None."""
        until = time.monotonic() + limit_s
        while self.exit_code is None and time.monotonic() < until:
            self.watch()
            time.sleep(POLL_S)
        return self.exit_code

    def wait_until(self, moment: float, *, from_up: bool) -> bool:
        """Wait until seconds after its start, or after it was up; return False if it ended before."""
        while self.exit_code is None:
            start = self.up_at if from_up else self.began
            if start is not None and time.monotonic() >= start + moment:
                return True
            if time.monotonic() > self.began + 120 and start is None:
                return True  # it never comes up; whoever asked says so
            self.watch()
            time.sleep(POLL_S)
        return False

    def kill(self) -> None:
        """Kill Python with SIGKILL, so that it has no chance to clean up."""
        self.watch()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def kill_java(self) -> bool:
        """Kill Java; return whether there was one."""
        found = self.java()
        for each in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        return bool(found)

    def abort(self) -> None:
        """End a run that hangs, with the stacks of all threads in its log."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGABRT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait_for_java(self, limit_s: float = ENDS_S) -> bool:
        """Wait until all that it started has ended; return whether it has."""
        until = time.monotonic() + limit_s
        while self.left() and time.monotonic() < until:
            time.sleep(POLL_S)
        return not self.left()

    def clean_up(self) -> None:
        """Kill whatever is left of it."""
        if self.exit_code is None:
            self.kill()
        for each in self.left():
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def environment(temporary: Path, fault: str | None) -> Mapping[str, str]:
    found = {
        **os.environ,
        "PENSTOCK_CLASS_ARCHIVE": "use",
        "PENSTOCK_TRACEBACKS": "1",
        "PYTHONFAULTHANDLER": "1",
        "TMPDIR": str(temporary),
        "SPARK_LOCAL_DIRS": str(temporary),
        "JDK_JAVA_OPTIONS": f"{JAVA_OPTIONS} -Djava.io.tmpdir={temporary}",
    }
    found.pop("PENSTOCK_FAULT", None)
    return {**found, "PENSTOCK_FAULT": fault} if fault else found
