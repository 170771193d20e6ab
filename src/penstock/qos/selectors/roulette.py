"""P04's selector: every policy once, then a roulette wheel with slices as large as the scores (P04 §5.2, §5.3).

After a period every *other* policy is rescored. The one that ran keeps its last score, decayed: while it runs, its
average and the overall one approach each other, so a new score would say nothing.
"""

import random
from collections.abc import Mapping

from penstock.qos.scores import UNKNOWN, score_of
from penstock.qos.selectors.selector import Choice, Situation

EXPLORE_S = 1.0
"""How long each policy runs in the first round."""
DECAY = 0.98
"""Factor on what is known of a policy for each second that it does not run. P04 gives no value; this is ours."""
LEAST = 1e-3
"""The smallest slice, so that no policy is excluded for good (P04 §1.4)."""


class Roulette:
    """Fitness-proportional selection."""

    def __init__(self, seed: int = 0, *, explore: float = EXPLORE_S, decay: float = DECAY) -> None:
        self._random = random.Random(seed)
        self._explore = explore
        self._decay = decay
        self._round: list[str] | None = None
        self._last_ran: dict[str, float] = {}
        self._scores: dict[str, float] = {}

    @property
    def scores(self) -> Mapping[str, float]:
        """P04's scores."""
        return self._scores

    def choose(self, situation: Situation) -> Choice:
        """Return the next policy of the first round; after it, rescore and spin the wheel."""
        if situation.policy is not None:
            self._last_ran[situation.policy] = situation.now
        if self._round is None:
            first = situation.candidates[0]
            self._round = [*situation.candidates, first]
        self._rescore(situation)
        self._round = [name for name in self._round if name in situation.candidates]
        if self._round:
            return Choice(self._round.pop(0), self._explore)
        slices = [max(self._scores.get(name, UNKNOWN), LEAST) for name in situation.candidates]
        return Choice(self._random.choices(situation.candidates, slices)[0])

    def _rescore(self, situation: Situation) -> None:
        statistics, goals = situation.statistics, situation.goals
        for name, view in statistics.policies.items():
            if name == situation.policy:
                self._scores[name] = self._scores.get(name, UNKNOWN) * self._decay
            else:
                fade = self._decay ** (situation.now - self._last_ran.get(name, situation.now))
                self._scores[name] = score_of(view.mean, statistics.overall, goals, fade)
