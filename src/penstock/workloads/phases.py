"""Phases: one arrival process after another, such as normal load, then overload.

    phase i covers [start of i, start of i + seconds of i)

JC03 §5.2 raises the rates of its streams phase by phase; P04 §6.1 redraws the mean every 5 s.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.errors import ArrivalError
from penstock.workloads.arrivals import Arrivals, Times, check_process
from penstock.workloads.checks import number, whole

FEWEST = 0.001
"""The minimum expected arrivals in a round of phases that repeat; below, nearly all rounds would be empty."""


@dataclass(frozen=True)
class Phases:
    """Each process for its seconds, in order; with `repeat`, again from the first.

    A phase restarts its process, with a seed derived from the seed of the run and the number of the phase:
    rounds differ from each other, and a trace starts at its beginning. If a process ends before its phase,
    nothing arrives for the rest of the phase.

    >>> from penstock.workloads import Poisson, until
    >>> load = Phases(((Poisson(rate=100), 30), (Poisson(rate=400), 10)))
    >>> load.rate
    175.0
    >>> times = until(load, seed=1, seconds=40)
    >>> len(times[times < 30]), len(times[times >= 30])
    (2995, 4186)
    """

    phases: tuple[tuple[Arrivals, float], ...]
    repeat: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.phases, tuple | list) or not self.phases:
            raise ArrivalError(f"phases must be a list of (process, seconds), at least one, not {self.phases!r}")
        checked = tuple(_checked(index, phase) for index, phase in enumerate(self.phases, start=1))
        object.__setattr__(self, "phases", checked)
        if self.repeat and self.rate is not None and self.rate * self.seconds < FEWEST:
            raise ArrivalError(
                f"a round of {self.seconds:g} seconds at {self.rate:g} arrivals per second is too short to "
                "repeat: hardly any round would have an arrival"
            )

    @property
    def seconds(self) -> float:
        """The duration of one round of all phases."""
        return sum(seconds for _, seconds in self.phases)

    @property
    def rate(self) -> float | None:
        """Average arrivals per second over a round, if each process lasts as long as its phase."""
        expected = 0.0
        for process, seconds in self.phases:
            if process.rate is None:
                return None
            expected += process.rate * seconds
        return expected / self.seconds

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times of one phase after the other; no batch spans two phases."""
        base = whole(seed, "a seed", most=2**64 - 1)
        rounds = 0
        while rounds == 0 or self.repeat:
            start = rounds * self.seconds
            for index, (process, seconds) in enumerate(self.phases):
                for times in _before(process.batches(_seed(base, rounds, index)), seconds):
                    yield start + times
                start += seconds
            rounds += 1


def _before(batches: Iterator[Times], seconds: float) -> Iterator[Times]:
    """Yield the arrivals before `seconds`, and read no further batch."""
    for batch in batches:
        inside = batch[: np.searchsorted(batch, seconds)]
        if len(inside):
            yield inside
        if len(inside) < len(batch):
            return


def _seed(base: int, rounds: int, index: int) -> int:
    return int(np.random.SeedSequence((base, rounds, index)).generate_state(1, np.uint64)[0])


def _checked(index: int, phase: object) -> tuple[Arrivals, float]:
    if not isinstance(phase, tuple | list) or len(phase) != 2:
        raise ArrivalError(f"phase {index} must be (process, seconds), not {phase!r}")
    process, seconds = phase
    check_process(process, f"the process of phase {index}")
    return process, number(seconds, f"the length of phase {index}", above=0)
