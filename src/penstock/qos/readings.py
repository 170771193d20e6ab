"""What an engine has counted in an interval: of its results, its operators and its queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple

from penstock.errors import QosError


@dataclass(frozen=True)
class Results:
    """The results of an interval: how many, and sum, maximum and sum of squares of response and slowdown."""

    count: float = 0.0
    response: float = 0.0
    max_response: float = 0.0
    squared_response: float = 0.0
    slowdown: float = 0.0
    max_slowdown: float = 0.0
    squared_slowdown: float = 0.0

    def __add__(self, other: "Results") -> "Results":
        return Results(
            self.count + other.count,
            self.response + other.response,
            max(self.max_response, other.max_response),
            self.squared_response + other.squared_response,
            self.slowdown + other.slowdown,
            max(self.max_slowdown, other.max_slowdown),
            self.squared_slowdown + other.squared_slowdown,
        )

    def times(self, weight: float) -> "Results":
        """Return results that count `weight` times; the largest of none do not count."""
        if weight == 0:
            return Results()
        return Results(
            self.count * weight,
            self.response * weight,
            self.max_response,
            self.squared_response * weight,
            self.slowdown * weight,
            self.max_slowdown,
            self.squared_slowdown * weight,
        )

    @property
    def avg_response(self) -> float | None:
        """The average response, if there was a result."""
        return self.response / self.count if self.count else None

    @property
    def avg_slowdown(self) -> float | None:
        """The average slowdown, if there was a result."""
        return self.slowdown / self.count if self.count else None

    @property
    def l2_response(self) -> float:
        """The ℓ2 norm of response."""
        return sqrt(self.squared_response)

    @property
    def l2_slowdown(self) -> float:
        """The ℓ2 norm of slowdown."""
        return sqrt(self.squared_slowdown)


class Work(NamedTuple):
    """What an operator did in an interval: tuples taken and made, seconds spent."""

    taken: float
    made: float
    seconds: float


class Waiting(NamedTuple):
    """What waits in a queue at the end of an interval: tuples, and the memory they take."""

    tuples: float
    memory: float


@dataclass(frozen=True)
class Reading:
    """An interval of `seconds`, up to now. `results` are of all queries, each weighed as the goals say."""

    now: float
    seconds: float
    results: Results
    memory: float
    """Mean queue memory over the interval."""
    peak: float
    waiting: float
    """Tuples in all queues now."""
    oldest: float = 0.0
    """Age of the oldest waiting tuple, as far as it is known."""
    queries: Mapping[str, Results] = field(default_factory=dict)
    operators: Mapping[str, Work] = field(default_factory=dict)
    queues: Mapping[str, Waiting] = field(default_factory=dict)


def together(readings: Sequence[Reading]) -> Reading:
    """Return intervals that follow each other as one."""
    if not readings:
        raise QosError("there is no interval to put together")
    seconds = sum(each.seconds for each in readings)
    results = readings[0].results
    for each in readings[1:]:
        results += each.results
    return Reading(
        now=readings[-1].now,
        seconds=seconds,
        results=results,
        memory=sum(each.memory * each.seconds for each in readings) / seconds,
        peak=max(each.peak for each in readings),
        waiting=sum(each.waiting * each.seconds for each in readings) / seconds,
        oldest=max(each.oldest for each in readings),
    )
