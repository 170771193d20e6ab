"""Ctrl-C and SIGTERM: the first stops a run cleanly, the second ends it at once."""

import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
_TOGETHER_S = 0.5
"""Signals within this time count as one: `timeout` signals the process and its group."""


class Signals:
    """Handles SIGINT and SIGTERM. Before `arm`, while Spark starts, any signal ends the process at once."""

    def __init__(self) -> None:
        self.asked = False
        """Whether a signal has asked the run to stop."""
        self._since = 0.0

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self._handle(lambda number, frame: _leave(INTERRUPTED))
        return self

    def arm(self) -> None:
        """From now on the first signal only sets `asked`. Call it after Spark has started and set its handlers."""
        self._handle(self._take)

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked and time.monotonic() - self._since > _TOGETHER_S:
            _leave(1)
        if not self.asked:
            self._since = time.monotonic()
        self.asked = True

    def _handle(self, handler: "signal._HANDLER") -> None:
        for number in SIGNALS:
            signal.signal(number, handler)


def _leave(code: int) -> NoReturn:
    """End without cleaning up: an exception in PySpark's start would leave a Java process that never ends.

    After `os._exit` that process finds its pipe closed, and ends.
    """
    for file in (sys.stdout, sys.stderr):
        if file.isatty():
            os.write(file.fileno(), b"\x1b[?25h\n")  # live views hide the cursor
            break
    os._exit(code)
