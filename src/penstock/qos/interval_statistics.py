"""Statistics of an interval, as an engine counts them: results, operators and queues."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Generic, NamedTuple, TypeVar

from penstock.errors import QosError

T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True)
class ResultSums:
    """Number of results, and sum, maximum and sum of squares of their responses and slowdowns."""

    count: float = 0.0
    response: float = 0.0
    max_response: float = 0.0
    squared_response: float = 0.0
    slowdown: float = 0.0
    max_slowdown: float = 0.0
    squared_slowdown: float = 0.0

    @property
    def avg_response(self) -> float | None:
        """The average response; None without results."""
        return self.response / self.count if self.count else None

    @property
    def avg_slowdown(self) -> float | None:
        """The average slowdown; None without results."""
        return self.slowdown / self.count if self.count else None

    @property
    def l2_response(self) -> float:
        """The ℓ2 norm of responses."""
        return sqrt(self.squared_response)

    @property
    def l2_slowdown(self) -> float:
        """The ℓ2 norm of slowdowns."""
        return sqrt(self.squared_slowdown)


def added(results: Sequence[ResultSums]) -> ResultSums:
    """Return the sums of several sets of results as one."""
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
    """Work of an operator: tuples taken and made, seconds spent."""

    taken: float
    made: float
    seconds: float


class QueueSize(NamedTuple):
    """Size of a queue: waiting tuples and their memory."""

    tuples: float
    memory: float


@dataclass(frozen=True)
class IntervalStatistics:
    """Statistics of the `seconds` before `now`. `results` are of all queries, weighted as the goals say."""

    now: float
    seconds: float
    results: ResultSums
    memory: float
    """Average memory of all queues over the interval."""
    peak: float
    waiting: float
    """Tuples in all queues now."""
    oldest: float = 0.0
    """Age of the oldest waiting tuple, if known."""
    pending: ResultSums = ResultSums()
    """The results expected of waiting tuples, as if they came now; if known."""
    queries: Mapping[str, ResultSums] = field(default_factory=dict, repr=False)
    """Of each query since the run began. Values of these mappings may be computed on access."""
    operators: Mapping[str, OperatorWork] = field(default_factory=dict, repr=False)
    """Of each operator since the run began."""
    queues: Mapping[str, QueueSize] = field(default_factory=dict, repr=False)
    """Of each queue, now."""


def merged(intervals: Iterable[IntervalStatistics]) -> IntervalStatistics:
    """Return successive intervals as one. Counts since the run began are those of the last interval."""
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
    """A mapping whose values are computed on access: of thousands, few are ever read."""

    def __init__(self, things: Callable[[], Mapping[str, T]], compute: Callable[[T], V]) -> None:
        self._things = things
        self._compute = compute

    def __getitem__(self, name: str) -> V:
        return self._compute(self._things()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._things())

    def __len__(self) -> int:
        return len(self._things())
