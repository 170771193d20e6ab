"""Ends process groups when this process ends without doing so itself, as by SIGTERM or SIGKILL.

The watchdog is a process that reads the numbers of groups from a pipe; the pipe closes with its starter.
"""

import contextlib
import os
import signal
import subprocess
import sys


class Watchdog:
    """A process that outlives this one, and then ends the groups that it was told."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def watch(self, group: int) -> None:
        """Add a process group."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{group}\n")
        self._process.stdin.flush()

    def dismiss(self) -> None:
        """End the watchdog: all groups have ended."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()


def main() -> None:
    """Wait for the end of stdin, then kill the groups that it named."""
    for group in [int(line) for line in sys.stdin]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
