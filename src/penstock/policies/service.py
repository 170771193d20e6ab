"""Service disciplines: how many tuples of its queue a unit takes in one run."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from penstock.errors import PolicyError
from penstock.network import Number, checked


@runtime_checkable
class Service(Protocol):
    """A rule that maps the number of waiting tuples to the number that one run may take; None is no limit."""

    def limit(self, waiting: Number) -> Number | None:
        """Return how many tuples a run may take if `waiting` are waiting at its start."""
        ...


@dataclass(frozen=True)
class Exhaustive:
    """All waiting tuples, and those that arrive during the run (JC03 §3.2)."""

    def limit(self, waiting: Number) -> Number | None:
        """Return no limit."""
        return None


@dataclass(frozen=True)
class Limited:
    """At most `tuples` per run (JC03 §3.2; SCLP08 and P04's example take one)."""

    tuples: Number = 1

    def __post_init__(self) -> None:
        tuples = checked(self.tuples, "the number of tuples a run may take", above=0, error=PolicyError)
        object.__setattr__(self, "tuples", tuples)

    def limit(self, waiting: Number) -> Number | None:
        """Return `tuples`, however many wait."""
        return self.tuples


@dataclass(frozen=True)
class QueueShare:
    """A share of the queue, or all of it if that share is small (P04 Figure 4.1: the workload of a run).

    >>> QueueShare().limit(1000), QueueShare().limit(100)
    (300.0, 100)
    """

    ratio: Number = 0.3
    threshold: Number = 50

    def __post_init__(self) -> None:
        ratio = checked(self.ratio, "the ratio of a queue share", above=0, error=PolicyError)
        threshold = checked(self.threshold, "the threshold of a queue share", at_least=0, error=PolicyError)
        if ratio > 1:
            raise PolicyError(f"the ratio of a queue share must be at most 1, not {ratio}")
        object.__setattr__(self, "ratio", ratio)
        object.__setattr__(self, "threshold", threshold)

    def limit(self, waiting: Number) -> Number | None:
        """Return A = N · ratio where that is above the threshold, else N; never less than one whole tuple."""
        share = max(waiting * self.ratio, 1)
        return share if self.threshold < share < waiting else waiting
