"""What an engine has counted in an interval: of its results, its operators and its queues."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Generic, NamedTuple, TypeVar

from penstock.errors import QosError

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class ResultSums:
    """Results: how many, and sum, maximum and sum of squares of response and slowdown."""

    count: float = 0.0
    response: float = 0.0
    max_response: float = 0.0
    squared_response: float = 0.0
    slowdown: float = 0.0
    max_slowdown: float = 0.0
    squared_slowdown: float = 0.0

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


def added(results: Sequence[ResultSums]) -> ResultSums:
    """Return several sets of results as one."""
    return ResultSums(
        count=sum(one.count for one in results),
        response=sum(one.response for one in results),
        max_response=max(one.max_response for one in results),
        squared_response=sum(one.squared_response for one in results),
        slowdown=sum(one.slowdown for one in results),
        max_slowdown=max(one.max_slowdown for one in results),
        squared_slowdown=sum(one.squared_slowdown for one in results),
    )


class OperatorWork(NamedTuple):
    """What an operator did: tuples taken and made, seconds spent."""

    taken: float
    made: float
    seconds: float


class QueueSize(NamedTuple):
    """What waits in a queue: tuples, and the memory they take."""

    tuples: float
    memory: float


@dataclass(frozen=True)
class IntervalStatistics:
    """An interval of `seconds`, up to now. `results` are of all queries, each weighed as the goals say."""

    now: float
    seconds: float
    results: ResultSums
    memory: float
    """Mean queue memory over the interval."""
    peak: float
    waiting: float
    """Tuples in all queues now."""
    oldest: float = 0.0
    """Age of the oldest waiting tuple, as far as it is known."""
    pending: ResultSums = ResultSums()
    """The results that are expected of what waits now, as if they came at this moment; where that is known."""
    queries: Mapping[str, ResultSums] = field(default_factory=dict, repr=False)
    """Of each query since the run began. These mappings may be computed when they are asked for."""
    operators: Mapping[str, OperatorWork] = field(default_factory=dict, repr=False)
    """Of each operator since the run began."""
    queues: Mapping[str, QueueSize] = field(default_factory=dict, repr=False)
    """Of each queue, now."""


def merged(intervals: Iterable[IntervalStatistics]) -> IntervalStatistics:
    """Return intervals that follow each other as one; what was counted since the run began is as in the last."""
    each = list(intervals)
    if not each:
        raise QosError("there is no interval to merge")
    seconds = sum(one.seconds for one in each)
    return IntervalStatistics(
        now=each[-1].now,
        seconds=seconds,
        results=added([one.results for one in each]),
        pending=each[-1].pending,
        memory=sum(one.memory * one.seconds for one in each) / seconds,
        peak=max(one.peak for one in each),
        waiting=sum(one.waiting * one.seconds for one in each) / seconds,
        oldest=max(one.oldest for one in each),
        queries=each[-1].queries,
        operators=each[-1].operators,
        queues=each[-1].queues,
    )


class Computed(Mapping[str, V], Generic[T, V]):
    """Values by name that are computed when they are asked for: of thousands, hardly one is."""

    def __init__(self, things: Callable[[], Mapping[str, T]], compute: Callable[[T], V]) -> None:
        self._things = things
        self._compute = compute

    def __getitem__(self, name: str) -> V:
        return self._compute(self._things()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._things())

    def __len__(self) -> int:
        return len(self._things())
