"""Ctrl-C and SIGTERM: the first stops a run cleanly, the second ends it at once.

A run with a state can be ended at any moment without losing what it has committed. So it has a time limit: what
takes longer to stop than that is left to the next run.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
STOP_S = 4.0
"""With a state: the longest time from a signal to the end of the process, in seconds."""
_TOGETHER_S = 0.5
"""Signals within this time count as one: `timeout` signals the process and its group."""


class Signals:
    """Handles SIGINT and SIGTERM. Before `arm`, while a run starts, any signal ends the process at once.

    `stopped` is the exit code of a run with a state that a signal ends; without a state it is None.
    """

    def __init__(self, stopped: int | None = None, on_limit: Callable[[], object] = lambda: None) -> None:
        self.asked = False
        """Whether a signal has asked the run to stop."""
        self.by_manager = False
        """Whether that was SIGTERM: a service manager sends it, and waits for the end of all processes."""
        self._stopped = stopped
        self._on_limit = on_limit
        self._on_ask: Callable[[], object] = lambda: None
        self._since = 0.0

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in SIGNALS}
        self.hold()
        return self

    def hold(self) -> None:
        """Let any signal end the process at once. Call it again after Spark has set its own handlers."""
        code = INTERRUPTED if self._stopped is None else self._stopped
        self._handle(lambda number, frame: _leave(code))

    def arm(self, on_ask: Callable[[], object]) -> None:
        """From now on the first signal calls `on_ask`, which must return at once, and sets `asked`."""
        self._on_ask = on_ask
        self._handle(self._take)

    def __exit__(self, *exception: object) -> None:
        if self.asked and self._stopped is not None:
            return  # nothing may hold up the end of the process, and no signal change its exit code
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked and time.monotonic() - self._since > _TOGETHER_S:
            _leave(1)
        if self.asked:
            return
        self._since = time.monotonic()
        self.asked, self.by_manager = True, number == signal.SIGTERM
        if self._stopped is not None:
            threading.Thread(target=self._limit, name="penstock-limit", daemon=True).start()
        self._on_ask()

    def _limit(self) -> None:
        """End the process when the time is over, also while threads of a job or Spark are still at work."""
        time.sleep(STOP_S)
        try:
            self._on_limit()
        finally:
            _leave(self._stopped or 0)

    def leave(self, code: int) -> NoReturn:
        """End the process now: Python's own end can take seconds after a large run."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        _leave(code)

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
