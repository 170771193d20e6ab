"""The choice of the policy, for every engine: when to sample statistics, when to choose, and which policies ran.

An engine asks a `PolicyChoice` which policy runs (`policy`) and when the next sample is due (`due`). At that time
it passes the `IntervalStatistics` since the last sample (`see`). Goals, candidates and the selector can be changed
between two samples.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from penstock.qos.gatherer import Statistics
from penstock.qos.goals import Goals
from penstock.qos.interval_statistics import IntervalStatistics, merged
from penstock.qos.selection import Selection
from penstock.qos.selectors import Selector, Situation, selector_named


class ChoiceSample(NamedTuple):
    """A sample of the statistics: the interval, the policy that ran in it, and the scores after it."""

    time: float
    seconds: float
    policy: str
    values: Mapping[str, float]
    interval: IntervalStatistics
    scores: Mapping[str, float]
    exploring: bool
    """Whether it is of the warm-up or the first round, which P04 does not count."""


@dataclass(frozen=True)
class Chosen:
    """How policies were chosen in a run, with all samples (`looks`)."""

    selector: str
    candidates: tuple[str, ...]
    goals: Goals
    looks: tuple[ChoiceSample, ...]
    starved: int

    @property
    def counted(self) -> tuple[ChoiceSample, ...]:
        """The samples after the first round, or all if there are no others."""
        return tuple(sample for sample in self.looks if not sample.exploring) or self.looks

    @property
    def shares(self) -> dict[str, float]:
        """The share of the time that each candidate ran, without the first round."""
        seconds = dict.fromkeys(self.candidates, 0.0)
        for sample in self.counted:
            seconds[sample.policy] = seconds.get(sample.policy, 0.0) + sample.seconds
        total = sum(seconds.values())
        return {name: each / total if total else 0.0 for name, each in seconds.items()}

    @property
    def most_used(self) -> str:
        """The policy that ran longest."""
        return max(self.shares, key=self.shares.__getitem__)

    @property
    def switches(self) -> int:
        """How often the policy changed, without the first round."""
        return sum(one.policy != other.policy for one, other in pairwise(self.counted))

    def values(self) -> dict[str, float]:
        """Return the plan's statistics over the whole run, without the first round."""
        return Statistics().computed("plan", merged([sample.interval for sample in self.counted]))


class PolicyChoice:
    """Keeps the statistics of a run and lets the selector choose its policy."""

    def __init__(
        self,
        selection: Selection,
        start: float = 0.0,
        on_event: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.selection = selection
        self.goals: Goals = selection.goals  # type: ignore[assignment]
        self.statistics = Statistics(on_error=on_event)
        self.selector: Selector = selector_named(selection.selector, selection.seed)
        self.looks: list[ChoiceSample] = []
        self.starved = 0
        """How often another policy had to run because of starvation."""
        self._on_event = on_event
        self._changes = deque(selection.changes)
        self._since_result = 0
        self._exploring = True
        self._period: list[IntervalStatistics] = []
        self._what_ifs: dict[str, deque[IntervalStatistics]] = {}
        self._period_what_ifs: dict[str, list[IntervalStatistics]] = {}
        self.candidates = selection.names
        self.policy = self.candidates[0]
        self._next_sample = start + (selection.warmup or 0.0)
        self._next_choice = self._next_sample
        if not selection.warmup:
            self._choose(start, None, None)

    @property
    def due(self) -> float:
        """The time of the next sample."""
        return min(self._next_sample, self._changes[0][0]) if self._changes else self._next_sample

    @property
    def wants_what_ifs(self) -> bool:
        """Whether the selector uses what-if runs, and there is more than one candidate."""
        return self.selection.selector == "foresight" and len(self.candidates) > 1

    def see(
        self,
        interval: IntervalStatistics,
        load: float | None = None,
        burst: float | None = None,
        what_ifs: Mapping[str, IntervalStatistics] | None = None,
    ) -> str:
        """Add the interval since the last sample, choose a policy if that is due, and return the policy to run."""
        self._period.append(interval)
        values = self.statistics.add(self.policy, interval)
        for name, what_if in (what_ifs or {}).items():
            kept = self._what_ifs.setdefault(name, deque())
            kept.append(what_if)
            self._period_what_ifs.setdefault(name, []).append(what_if)
            while kept[0].now < interval.now - self.selection.horizon:
                kept.popleft()
        all_count = all(self.goals.queries.values())  # results of queries with weight 0 are not counted
        starves = interval.results.count == 0 and interval.waiting > 0 and all_count
        self._since_result = self._since_result + 1 if starves else 0
        sample = ChoiceSample(interval.now, interval.seconds, self.policy, values, interval, {}, self._exploring)
        while self._changes and self._changes[0][0] <= interval.now:
            self.goals = self._changes.popleft()[1]  # type: ignore[assignment]
        is_starved = self._since_result >= self.selection.starvation and len(self.candidates) > 1
        if is_starved or interval.now >= self._next_choice:
            self._choose(interval.now, load, burst, is_starved=is_starved)
        else:
            self._next_sample = min(interval.now + self.selection.sample, self._next_choice)
        self.looks.append(sample._replace(scores=dict(self.selector.scores)))
        return self.policy

    @property
    def chosen(self) -> Chosen:
        """How policies were chosen so far."""
        return Chosen(self.selection.selector, self.candidates, self.goals, tuple(self.looks), self.starved)

    def set_goals(self, goals: Goals | str | Mapping[str, float]) -> None:
        """Change the goals; the statistics so far are kept."""
        self.goals = Goals.of(goals)

    def set_selector(self, selector: str) -> None:
        """Change the selector; it begins with the statistics so far."""
        self.selector = selector_named(selector, self.selection.seed)
        self.selection = replace(self.selection, selector=selector)

    def set_candidates(self, candidates: Sequence[str]) -> None:
        """Change the candidates; what-if runs are forgotten, so that all candidates have equally long ones."""
        self.selection = replace(self.selection, candidates=tuple(candidates))
        self.candidates = self.selection.names
        self._what_ifs.clear()
        self._period_what_ifs.clear()

    def _choose(self, now: float, load: float | None, burst: float | None, *, is_starved: bool = False) -> None:
        others = tuple(name for name in self.candidates if name != self.policy)
        period = self.statistics.computed("plan", merged(self._period)) if self._period else {}
        situation = Situation(
            now=now,
            goals=self.goals,
            candidates=others if is_starved else self.candidates,
            statistics=self.statistics,
            policy=self.policy if self._period else None,
            period=period,
            load=load,
            burst=burst,
            what_ifs={name: merged(intervals) for name, intervals in self._what_ifs.items()},
            period_what_ifs={name: merged(intervals) for name, intervals in self._period_what_ifs.items()},
        )
        choice = self.selector.choose(situation)
        if is_starved:
            self.starved += 1
            self._since_result = 0
            self._on_event(f"{self.policy} made no result while tuples waited: switched to {choice.policy}")
        self.policy = choice.policy
        self._exploring = choice.seconds is not None
        self._period.clear()
        self._period_what_ifs.clear()
        self._next_choice = now + (self.selection.every if choice.seconds is None else choice.seconds)
        self._next_sample = min(now + self.selection.sample, self._next_choice)
