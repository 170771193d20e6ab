"""Bandits of `river` as selectors: UCB, Thompson sampling and EXP3, restarted when rewards drift (ADWIN).

The reward of a period is its position between the worst and the best values so far (`scores`): from 0 to 1.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any

from penstock.qos.scores import reward_of
from penstock.qos.selectors.roulette import EXPLORE_S
from penstock.qos.selectors.selector import Choice, Situation

UCB_DELTA = 0.1
"""Scale of the bonus for arms that were seldom tried: rewards of policies differ by tenths, not by ones."""
EXP3_GAMMA = 0.2
DRIFT_DELTA = 0.01
PULLS = 5000
"""After so many pulls a bandit restarts: EXP3's weights only grow."""


class Bandit:
    """A bandit whose arms are policies. It restarts when the rewards of an arm drift."""

    def __init__(self, make: Callable[[int], Any], seed: int = 0, *, in_coins: bool = False) -> None:
        self._make = make
        self._random = random.Random(seed)
        self._in_coins = in_coins
        self._rewards: dict[str, list[float]] = {}
        self.drifts = 0
        self._round: list[str] | None = None
        self._start()

    def _start(self) -> None:
        from river.drift import ADWIN

        self._bandit = self._make(self._random.randrange(2**31))
        self._detectors: dict[str, Any] = {}
        self._new_detector: Callable[[], Any] = lambda: ADWIN(delta=DRIFT_DELTA)
        self._left = PULLS
        self._pulled: str | None = None

    @property
    def scores(self) -> Mapping[str, float]:
        """The average of each policy's latest rewards."""
        return {name: sum(some) / len(some) for name, some in self._rewards.items()}

    def choose(self, situation: Situation) -> Choice:
        """Learn from the period, and pull an arm."""
        if self._round is None:
            self._round = list(situation.candidates)
        if situation.policy is not None and situation.period:
            self._learn(
                situation.policy, reward_of(situation.period, situation.statistics.overall, situation.goals)
            )
        self._round = [name for name in self._round if name in situation.candidates]
        if self._round:
            return Choice(self._round.pop(0), EXPLORE_S)
        self._pulled = str(self._bandit.pull(list(situation.candidates)))
        return Choice(self._pulled)

    def _learn(self, policy: str, reward: float) -> None:
        recent = self._rewards.setdefault(policy, [])
        recent.append(reward)
        del recent[:-20]
        if self._pulled == policy:
            self._bandit.update(policy, self._random.random() < reward if self._in_coins else reward)
            self._left -= 1
        detector = self._detectors[policy] = self._detectors.get(policy) or self._new_detector()
        detector.update(reward)
        if detector.drift_detected or not self._left:
            self.drifts += detector.drift_detected
            self._start()


def ucb(seed: int = 0) -> Bandit:
    """Return a selector by upper confidence bounds."""
    from river import bandit

    return Bandit(lambda each: bandit.UCB(delta=UCB_DELTA, seed=each), seed)


def thompson(seed: int = 0) -> Bandit:
    """Return a selector by Thompson sampling: a reward is the chance that a coin shows heads."""
    from river import bandit
    from river.proba import Beta

    return Bandit(lambda each: bandit.ThompsonSampling(reward_obj=Beta(), seed=each), seed, in_coins=True)


def exp3(seed: int = 0) -> Bandit:
    """Return a selector by EXP3, made for rewards that an adversary sets."""
    from river import bandit

    return Bandit(lambda each: bandit.Exp3(gamma=EXP3_GAMMA, seed=each), seed)
