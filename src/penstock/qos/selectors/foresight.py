"""Penstock's own selector: it chooses by what-if runs of all candidates beside the run.

In a what-if run a policy runs alone, on a model of the engine with measured costs, on the tuples that really
arrive. Its statistics are those that the policy would have had, at the real load and with the real bursts. So no
policy has to be tried on the queries themselves.

    expected loss = loss of the what-if run over the horizon × exp(own error of the policy)

The policy with the least expected loss runs, unless that of the current policy is within a margin of it. The error
of a what-if run is log(real loss ÷ its loss). The part that all policies have in common follows quickly. The part
that is a policy's own shows when policies change, and is learnt slowly. Before there are what-if runs, or if an
engine has none, policies are ranked by what they are known to minimise (prior score).
"""

import math
from collections.abc import Mapping, Sequence

from penstock.qos.goals import Goals
from penstock.qos.interval_statistics import IntervalStatistics
from penstock.qos.selectors.selector import Choice, Situation

MARGIN = 0.01
COMMON, OWN = 0.3, 10.0
"""Weight of the newest period in the common error; periods after which a policy's own error is half learnt."""
LARGEST_ERROR = 1.0
"""Bound of the error of a period. It would have none if a queue is empty in the run or in the model alone."""
IDLE_LOAD = 0.3
"""Below this load hardly anything waits, and the current policy stays."""

_LATENCY = ("hr", "brt", "path_capacity", "hnr", "srpt", "bsd", "simplified_segment", "lsf", "fifo")
_SLOWDOWN = ("hnr", "bsd", "srpt", "hr", "brt", "path_capacity", "lsf", "fifo")
_MEMORY = ("chain", "greedy", "simplified_segment", "segment", "mtiq", "path_capacity", "hr", "brt", "srpt")
KNOWN_FOR: Mapping[str, Sequence[str]] = {
    "avg_response": _LATENCY,
    "output_rate": _LATENCY,
    "throughput": _LATENCY,
    "avg_slowdown": _SLOWDOWN,
    "l2_slowdown": ("bsd", "hnr", "lsf", "srpt", "fifo", "hr"),
    "l2_response": ("fifo", "bsd", "hr", "hnr", "lsf"),
    "max_response": ("fifo", "lsf", "bsd", "round_robin"),
    "max_slowdown": ("lsf", "bsd", "fifo", "round_robin"),
    "oldest_age": ("fifo", "lsf", "bsd", "round_robin"),
    "queue_memory": _MEMORY,
    "queue_size": _MEMORY,
    "peak_memory": _MEMORY,
}
"""Policies by the statistic they are known to be good for, best first: PAPERS §3, and the papers' experiments."""


class Foresight:
    """Chooses the policy with the least expected loss."""

    def __init__(self, seed: int = 0, *, margin: float = MARGIN) -> None:
        self._margin = margin
        self._scores: dict[str, float] = {}
        self._common = 0.0
        self._own: dict[str, tuple[float, int]] = {}
        self._goals: Goals | None = None

    @property
    def scores(self) -> Mapping[str, float]:
        """The least expected loss ÷ that of each policy: 1 is the best."""
        return self._scores

    def choose(self, situation: Situation) -> Choice:
        """Return the policy with the least expected loss."""
        if situation.goals != self._goals:
            self._goals = situation.goals
            self._common = 0.0
            self._own.clear()
        self._learn(situation)
        losses = self._expected_losses(situation)
        if len(losses) < len(situation.candidates):
            return Choice(self._by_prior_score(situation))
        least = min(losses.values())
        self._scores = {name: least / loss for name, loss in losses.items()}
        current = situation.policy
        if current in losses and losses[current] <= least * (1 + self._margin):
            return Choice(current)
        return Choice(min(situation.candidates, key=losses.__getitem__))

    def _learn(self, situation: Situation) -> None:
        """Compare the period with the what-if run of the policy that ran."""
        policy = situation.policy
        what_if = None if policy is None else situation.period_what_ifs.get(policy)
        if policy is None or what_if is None:
            return
        real, modelled = situation.goals.loss(situation.period), _loss(situation, what_if)
        if real and modelled:
            own, periods = self._own.get(policy, (0.0, 0))
            error = min(max(math.log(real / modelled), -LARGEST_ERROR), LARGEST_ERROR)
            unexplained = error - self._common - own
            self._own[policy] = (own + unexplained / (periods + OWN), periods + 1)
            self._common += COMMON * unexplained

    def _expected_losses(self, situation: Situation) -> dict[str, float]:
        found = {}
        for name in situation.candidates:
            interval = situation.what_ifs.get(name)
            loss = None if interval is None else _loss(situation, interval)
            if loss:
                found[name] = loss * math.exp(self._own.get(name, (0.0, 0))[0])
        return found

    def _by_prior_score(self, situation: Situation) -> str:
        if situation.policy in situation.candidates and (situation.load or 1.0) < IDLE_LOAD:
            return str(situation.policy)
        ranks = {name: _rank(name, situation.goals) for name in situation.candidates}
        self._scores = {name: 1 / (1 + rank) for name, rank in ranks.items()}
        return min(situation.candidates, key=ranks.__getitem__)


def _loss(situation: Situation, interval: IntervalStatistics) -> float | None:
    return situation.goals.loss(situation.statistics.with_pending(interval))


def _rank(policy: str, goals: Goals) -> float:
    """Return the weighted average position of a policy among those known for each goal."""
    name = policy.split(".")[0]
    total = 0.0
    for goal in goals.goals:
        known = KNOWN_FOR.get(goal.statistic, ())
        total += goal.weight * (known.index(name) if name in known else len(_MEMORY))
    return total
