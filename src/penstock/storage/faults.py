"""Fault points: places where a test can end the process, to see that nothing is lost or doubled.

``PENSTOCK_FAULT=entry.flushed:3`` kills the process when it reaches that point for the third time.
"""

import os
import signal
from collections.abc import Callable

VARIABLE = "PENSTOCK_FAULT"

POINTS = (
    "rows.before",
    "rows.written",
    "rows.flushed",
    "segment.flushed",
    "results.before",
    "results.written",
    "results.flushed",
    "rejected.written",
    "rejected.flushed",
    "entry.before",
    "entry.written",
    "entry.flushed",
    "entry.named",
    "entry.durable",
    "reveal.before",
    "reveal.renamed",
    "reveal.after",
    "publish.before",
    "publish.written",
    "publish.flushed",
    "publish.renamed",
    "publish.removed",
    "checkpoint.before",
    "checkpoint.written",
    "checkpoint.flushed",
    "checkpoint.named",
    "checkpoint.durable",
    "retention.before",
    "retention.removed",
    "recovery.before",
    "recovery.renamed",
    "recovery.after",
)
"""All fault points, in the order in which a run reaches them."""


class Fault:
    """Does something at a point when it is reached for the nth time."""

    def __init__(self, point: str, count: int, action: Callable[[], object]) -> None:
        if point not in POINTS:
            raise ValueError(f"there is no fault point {point!r}")
        self._point, self._left, self._action = point, count, action

    def reached(self, point: str) -> None:
        """Count a point that was reached."""
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                self._action()


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _from_environment() -> Fault | None:
    point, _, count = os.environ.get(VARIABLE, "").partition(":")
    return Fault(point, int(count or 1), _kill) if point else None


armed: list[Fault] = [each for each in [_from_environment()] if each is not None]
"""The faults that wait to happen."""


def reached(point: str) -> None:
    """Say that a point was reached."""
    for fault in armed:
        fault.reached(point)
