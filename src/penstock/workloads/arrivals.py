"""What an arrival process is, and how to take a piece of one.

A process is a value: it holds its settings, and no state. ``batches(seed)`` starts a run of it, and the same seed
gives the same run, so that a simulator and a live source can be fed alike.

>>> from penstock.workloads.poisson import Poisson
>>> times = take(Poisson(rate=100), seed=7, count=5)
>>> len(times), bool((times[1:] >= times[:-1]).all())
(5, True)
>>> len(until(Poisson(rate=100), seed=7, seconds=60))
6010
"""

from collections.abc import Iterator
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError
from penstock.workloads.checks import number, whole

Times: TypeAlias = npt.NDArray[np.float64]
"""Arrival times in seconds since the start, ascending; several arrivals may share one time."""

BATCH = 8192
"""About how many arrivals a process makes at once: enough to be fast, few enough to be held by the thousand."""


@runtime_checkable
class Arrivals(Protocol):
    """When the tuples of a stream arrive."""

    @property
    def rate(self) -> float | None:
        """Mean arrivals per second, or None where it is not known."""

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times in order, a bounded number at a time, without end or until a trace ends.

        Each batch ascends and continues the one before. Equal seeds give equal times; a trace does not look at it.
        """


def check_process(process: object, what: str) -> None:
    """Raise if `process` does not follow the protocol; a class does not, only a value of it."""
    if isinstance(process, type) or not isinstance(process, Arrivals):
        raise ArrivalError(f"{what} must be an arrival process such as Poisson(rate=100), not {process!r}")


def take(process: Arrivals, seed: int, count: int) -> Times:
    """Return the first `count` arrival times, or all where there are fewer."""
    check_process(process, "what to take from")
    wanted = whole(count, "the number of arrivals to take")
    taken: list[Times] = []
    for batch in process.batches(seed) if wanted else ():
        taken.append(batch[:wanted])
        wanted -= len(taken[-1])
        if not wanted:
            break
    return _joined(taken)


def until(process: Arrivals, seed: int, seconds: float) -> Times:
    """Return every arrival time before `seconds`."""
    check_process(process, "what to take from")
    end = number(seconds, "the time to stop at", at_least=0)
    taken: list[Times] = []
    for batch in process.batches(seed) if end else ():
        taken.append(batch[: np.searchsorted(batch, end)])
        if len(taken[-1]) < len(batch):
            break
    return _joined(taken)


def _joined(batches: list[Times]) -> Times:
    return np.concatenate([np.empty(0), *batches])
