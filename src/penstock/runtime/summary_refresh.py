"""When the summary of a run is shown: several times per second, less often where making it takes long."""

import time
from collections.abc import Callable

from penstock.runtime.clock import Stopwatch

EVERY_US = 250_000
SHARE = 1 / 50
"""The share of the time for summaries: those of thousands of queries take a while."""


class Refresh:
    """Calls `show` when it is due."""

    def __init__(self, show: Callable[[], object], timer: Callable[[], float] = time.perf_counter) -> None:
        self._show = show
        self._looking = Stopwatch(timer)
        self._due_us = 0

    def begin(self, now_us: int) -> None:
        """Show it first an interval from now."""
        self._due_us = now_us + EVERY_US

    def at(self, now_us: int) -> None:
        """Show it if that is due."""
        if now_us >= self._due_us:
            with self._looking:
                self._show()
            self._due_us = now_us + max(EVERY_US, int(self._looking.last * 1e6 / SHARE))
