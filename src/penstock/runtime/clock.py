"""Clocks: time is passed in, so that tests can move it by hand."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now_us(self) -> int:
        """Return microseconds since 1970."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...


class WallClock:
    """The machine's clock; it never goes back."""

    def __init__(self, not_before_us: int = 0) -> None:
        self._epoch_us = max(time.time_ns() // 1000, not_before_us) - time.monotonic_ns() // 1000

    def now_us(self) -> int:
        """Return microseconds since 1970."""
        return self._epoch_us + time.monotonic_ns() // 1000

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


def now_text() -> str:
    """Return the time as files of Penstock have it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


class Stopwatch:
    """Sums the time spent in `with` blocks."""

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self.seconds = 0.0
        self.last = 0.0
        """How long the last block took."""
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = self._timer()

    def __exit__(self, *exception: object) -> None:
        self.last = self._timer() - self._began
        self.seconds += self.last
