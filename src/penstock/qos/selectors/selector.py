"""The one interface of selectors: they are told how things stand, and name the policy that runs next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from penstock.qos.goals import Goals
from penstock.qos.interval import IntervalStatistics
from penstock.qos.statistics import Statistics


class Choice(NamedTuple):
    """The policy that runs next, and for how long; None: as long as usual."""

    policy: str
    seconds: float | None = None


@dataclass(frozen=True)
class Situation:
    """How things stand when a period has ended."""

    now: float
    goals: Goals
    candidates: tuple[str, ...]
    """Policies that may run next; after starvation, those other than the one that starved."""
    statistics: Statistics
    policy: str | None = None
    """What ran in the period; None at the very beginning."""
    period: Mapping[str, float] = field(default_factory=dict)
    """The statistics of the period."""
    load: float | None = None
    """The share of the machine that is needed, as far as it is known."""
    burst: float | None = None
    """What arrived lately ÷ what arrives in the mean."""
    what_ifs: Mapping[str, IntervalStatistics] = field(default_factory=dict)
    """What each policy would have come to, had it run alone: where the engine rehearses them."""
    period_what_ifs: Mapping[str, IntervalStatistics] = field(default_factory=dict)
    """The same of the last period alone."""


class Selector(Protocol):
    """Chooses among policies."""

    @property
    def scores(self) -> Mapping[str, float]:
        """What it thinks of each policy: high is good."""

    def choose(self, situation: Situation) -> Choice:
        """Return what runs next."""
