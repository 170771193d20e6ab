"""Results of the runs, compared seed by seed.

A gain is the logarithm of how many times as good a value is as another: arrivals and fates of a seed are the same
for everybody, so that gains of one seed are a pair's. Noise is two standard errors of their mean over the seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, median, stdev
from typing import Any, NamedTuple, TypeAlias

from penstock.experiments.p04.mixes import GOALS, SENSES, goals_of, weights_of

Outcome: TypeAlias = Mapping[str, Any]
LEAST = 1e-9
"""Of a value: a queue may have been empty throughout."""


class RunSetting(NamedTuple):
    """What is the same for policies that are compared: the plan, how much a burst brings, how long it runs."""

    plan: str
    burst: float
    seconds: float


def gain(goal: str, ours: float, theirs: float) -> float:
    """Return the logarithm of how many times as good as theirs ours is.

    >>> gain("rate", 4.0, 2.0) == -gain("delay", 4.0, 2.0) == log(2)
    True
    """
    return SENSES[goal] * log(max(ours, LEAST) / max(theirs, LEAST))


def compared(goal: str, ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return the gains of ours over theirs, pair by pair."""
    return [gain(goal, one, other) for one, other in zip(ours, theirs, strict=True)]


def percent(gains: Sequence[float]) -> float:
    """Return the geometric mean of gains, in per cent.

    >>> round(percent([log(1.5), log(1.5)]))
    50
    """
    return 100 * (exp(fmean(gains)) - 1)


def noise(values: Sequence[float]) -> float:
    """Return two standard errors of the mean; a single value tells nothing of it, and has none.

    >>> noise([1.0, 3.0]), noise([7.0])
    (2.0, 0.0)
    """
    return 2 * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0


def score(values: Mapping[str, float], singles: Sequence[Mapping[str, float]], name: str) -> float:
    """Return P04 (5.2) of a run's means, on the scale of the single policies, and not cut off at its ends.

    >>> singles = [{"delay": 1.0, "rate": 10.0}, {"delay": 3.0, "rate": 30.0}]
    >>> [score(each, singles, "delay 70, rate 30") for each in (*singles, {"delay": 2.0, "rate": 30.0})]
    [0.7, 0.3, 0.65]
    """
    total = 0.0
    for goal, weight in weights_of(name).items():
        every = [single[goal] for single in singles]
        spread = max(every) - min(every)
        z = SENSES[goal] * (values[goal] - fmean(every)) / spread + 0.5 if spread else 0.5
        total += weight * z
    return round(total, 12)


def loss(values: Mapping[str, float], name: str) -> float:
    """Return the loss of `Goals` for a run's means."""
    found = goals_of(name).loss({GOALS[goal]: value for goal, value in values.items()})
    assert found is not None
    return found


@dataclass(frozen=True)
class Runs:
    """Outcomes of every seed: of single policies, and of selectors for each mix of goals."""

    single: Mapping[RunSetting, Mapping[str, Sequence[Outcome]]]
    selected: Mapping[tuple[RunSetting, str], Mapping[str, Sequence[Outcome]]]

    def values(self, setting: RunSetting, selector: str, name: str) -> list[Mapping[str, float]]:
        """Return the means of a selector's runs, by seed."""
        return [each["values"] for each in self.selected[setting, selector][name]]

    def singles(self, setting: RunSetting) -> list[list[Mapping[str, float]]]:
        """Return the means of all single policies, by seed."""
        return [[each["values"] for each in row] for row in zip(*self.single[setting].values(), strict=True)]

    def ranked(self, setting: RunSetting, goal: str) -> list[str]:
        """Return the single policies, that with the best mean over the seeds first."""
        means = {
            policy: fmean(each["values"][goal] for each in outcomes)
            for policy, outcomes in self.single[setting].items()
        }
        return sorted(means, key=lambda policy: -SENSES[goal] * means[policy])

    def best(self, setting: RunSetting, goal: str) -> list[str]:
        """Return the best single policy, and those that are not behind it by more than noise."""
        first, *others = self.ranked(setting, goal)
        found = [first]
        for policy in others:
            behind = compared(goal, self._of(setting, first, goal), self._of(setting, policy, goal))
            if fmean(behind) <= noise(behind):
                found.append(policy)
        return found

    def gains(self, setting: RunSetting, selector: str, name: str, goal: str, place: int = 0) -> list[float]:
        """Return a selector's gains over the best single policy, or that at another place, by seed."""
        policy = self.ranked(setting, goal)[place]
        ours = [values[goal] for values in self.values(setting, selector, name)]
        return compared(goal, ours, self._of(setting, policy, goal))

    def gains_over_median(self, setting: RunSetting, selector: str, name: str, goal: str) -> list[float]:
        """Return a selector's gains over the median single policy of each seed."""
        middle = [median(single[goal] for single in row) for row in self.singles(setting)]
        return compared(goal, [values[goal] for values in self.values(setting, selector, name)], middle)

    def margins(self, setting: RunSetting, selector: str, name: str) -> tuple[list[float], list[float]]:
        """Return by how much a selector beats every single policy, by seed: on P04's score, and on the loss."""
        scores, losses = [], []
        for values, row in zip(self.values(setting, selector, name), self.singles(setting), strict=True):
            scores.append(score(values, row, name) - max(score(single, row, name) for single in row))
            losses.append(log(min(loss(single, name) for single in row) / loss(values, name)))
        return scores, losses

    def _of(self, setting: RunSetting, policy: str, goal: str) -> list[float]:
        return [each["values"][goal] for each in self.single[setting][policy]]
