"""Arrival processes: the protocol, and how to take arrivals from one.

A process is a value: it has settings and no state. ``batches(seed)`` starts a run of it. The same seed gives the
same run, so a simulator and a live source can have the same arrivals.

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
"""About how many arrivals a process makes at once: enough to be fast, and few enough for thousands of batches."""


@runtime_checkable
class Arrivals(Protocol):
    """An arrival process: when the tuples of a stream arrive."""

    @property
    def rate(self) -> float | None:
        """Average arrivals per second, or None if unknown."""

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times in order, in batches of bounded size, without end or until a trace ends.

        Each batch ascends and continues the one before. Equal seeds give equal times; a trace ignores the seed.
        """


def check_process(process: object, what: str) -> None:
    """Raise if `process` is not an instance that follows the protocol."""
    if isinstance(process, type) or not isinstance(process, Arrivals):
        raise ArrivalError(f"{what} must be an arrival process such as Poisson(rate=100), not {process!r}")


def take(process: Arrivals, seed: int, count: int) -> Times:
    """Return the first `count` arrival times, or all if there are fewer."""
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
