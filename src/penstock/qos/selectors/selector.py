"""The interface of selectors: from a situation they choose the policy that runs next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from penstock.qos.gatherer import Statistics
from penstock.qos.goals import Goals
from penstock.qos.interval_statistics import IntervalStatistics


class Choice(NamedTuple):
    """The policy that runs next, and for how many seconds; None for the usual period."""

    policy: str
    seconds: float | None = None


@dataclass(frozen=True)
class Situation:
    """Goals, candidates and statistics at the end of a period."""

    now: float
    goals: Goals
    candidates: tuple[str, ...]
    """Policies that may run next; after starvation, without the policy that ran."""
    statistics: Statistics
    policy: str | None = None
    """The policy that ran in the period; None at the start."""
    period: Mapping[str, float] = field(default_factory=dict)
    """The statistics of the period."""
    load: float | None = None
    """The share of the machine that is needed, if known."""
    burst: float | None = None
    """Recent arrival rate ÷ average arrival rate."""
    what_ifs: Mapping[str, IntervalStatistics] = field(default_factory=dict)
    """Statistics of each policy's what-if run over the horizon, if the engine has what-if runs."""
    period_what_ifs: Mapping[str, IntervalStatistics] = field(default_factory=dict)
    """The same for the last period alone."""


class Selector(Protocol):
    """Chooses among policies."""

    @property
    def scores(self) -> Mapping[str, float]:
        """The score of each policy: higher is better."""

    def choose(self, situation: Situation) -> Choice:
        """Return the policy that runs next."""
