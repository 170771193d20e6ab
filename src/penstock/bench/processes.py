"""Runs a part of a benchmark in a process of its own: a JSON spec goes in, stages and a result come out."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

import psutil

from penstock.errors import RunError


def children(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they started; none if it has ended."""
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def in_a_process(
    module: str, spec: Mapping[str, Any], *, limit_s: float, on_stage: Callable[[str], object]
) -> dict[str, Any]:
    """Run ``python -m module`` on a spec and return its result; raise if it fails or takes longer than `limit_s`.

    The process and whatever it started are gone afterwards, also when the wait is interrupted.
    """
    with tempfile.TemporaryFile("w+b") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,
        )
        overdue = threading.Event()

        def give_up() -> None:
            overdue.set()
            _end(process)

        timer = threading.Timer(limit_s, give_up)
        timer.daemon = True
        timer.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(spec))
                process.stdin.close()
            result = _followed(process.stdout, on_stage)
        finally:
            timer.cancel()
            _end(process)
            process.stdout.close()
        if overdue.is_set():
            raise RunError(f"it took longer than {limit_s:.0f} s")
        if result is None:
            raise RunError(f"the process failed{_last_words(said)}")
        return result


def _followed(lines: IO[str], on_stage: Callable[[str], object]) -> dict[str, Any] | None:
    """Read a worker's lines until its result."""
    for line in lines:
        message = json.loads(line)
        if "result" in message:
            found: dict[str, Any] = message["result"]
            return found
        on_stage(message["stage"])
    return None


def _end(process: "subprocess.Popen[str]") -> None:
    """End a process and its group, which holds its Java."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read()[-8000:].decode(errors="replace").strip().splitlines()
    return ": " + "\n  ".join(lines[-12:]) if lines else ""


class Reporter:
    """Sends a worker's messages to its starter. All other output to stdout, as of Spark's Java, goes to stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._out = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)

    def stage(self, text: str) -> None:
        """Report the stage."""
        self._say({"stage": text})

    def result(self, found: Mapping[str, Any]) -> None:
        """Report the result; the starter then ends the process."""
        self._say({"result": found})

    def _say(self, message: Mapping[str, Any]) -> None:
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()
