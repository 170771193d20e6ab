"""Penstock's own selector: it knows what policies are for, and lets them rehearse beside the run.

The same declaration of a policy runs on a model of the network as on the engine. So beside the run every
candidate works alone on what really arrives, in a *shadow*: a model of the engine, with what was measured of it.
What a shadow comes to is what its policy would have come to; nothing has to be tried on the queries themselves,
and load and bursts are in it as they are.

    promise = loss of the shadow over the horizon × by how much more its policy fell short of it than others did

The policy with the least promise runs, unless the present one is within a margin of it. A model is never quite
right. What it errs by at all, policies have in common, and that is followed quickly; what one errs by more than
the others shows when policies change, and is learnt slowly. Before there are shadows, or where an engine has none,
policies are ranked by what they are known to minimise.
"""

import math
from collections.abc import Mapping, Sequence

from penstock.qos.goals import Goals
from penstock.qos.interval import IntervalStatistics
from penstock.qos.selectors.selector import Choice, Situation

MARGIN = 0.01
COMMON, OWN = 0.3, 10.0
"""How quickly the common error follows; and after how many periods a policy's own is believed by half."""
FARTHEST = 1.0
"""Of the logarithm of real ÷ rehearsed in a period. Where one of two queues was empty, it has no bound."""
IDLE_LOAD = 0.3
"""Below it hardly anything waits: whatever runs may go on."""

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
"""Policies by what they are known to be good for, the best first: PAPERS §3, and the experiments of the papers."""


class Foresight:
    """Runs the policy whose shadow promises most."""

    def __init__(self, seed: int = 0, *, margin: float = MARGIN) -> None:
        self._margin = margin
        self._scores: dict[str, float] = {}
        self._common = 0.0
        self._own: dict[str, tuple[float, int]] = {}
        self._goals: Goals | None = None

    @property
    def scores(self) -> Mapping[str, float]:
        """The least promise ÷ that of each policy: 1 is the best."""
        return self._scores

    def choose(self, situation: Situation) -> Choice:
        """Return the policy that promises most."""
        if situation.goals != self._goals:
            self._goals = situation.goals
            self._common = 0.0
            self._own.clear()
        self._learn(situation)
        promises = self._promises(situation)
        if len(promises) < len(situation.candidates):
            return Choice(self._by_prior_score(situation))
        least = min(promises.values())
        self._scores = {name: least / promise for name, promise in promises.items()}
        present = situation.policy
        if present in promises and promises[present] <= least * (1 + self._margin):
            return Choice(present)
        return Choice(min(situation.candidates, key=promises.__getitem__))

    def _learn(self, situation: Situation) -> None:
        """Compare what ran with its shadow."""
        policy = situation.policy
        period_what_ifs = None if policy is None else situation.period_what_ifs.get(policy)
        if policy is None or period_what_ifs is None:
            return
        real, thought = situation.goals.loss(situation.period), _loss(situation, period_what_ifs)
        if real and thought:
            own, periods = self._own.get(policy, (0.0, 0))
            error = min(max(math.log(real / thought), -FARTHEST), FARTHEST)
            missed = error - self._common - own
            self._own[policy] = (own + missed / (periods + OWN), periods + 1)
            self._common += COMMON * missed

    def _promises(self, situation: Situation) -> dict[str, float]:
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
    return situation.goals.loss(situation.statistics.whole(interval))


def _rank(policy: str, goals: Goals) -> float:
    """Return the weighted mean place of a policy among those that are known for each goal."""
    name = policy.split(".")[0]
    total = 0.0
    for goal in goals.goals:
        known = KNOWN_FOR.get(goal.statistic, ())
        total += goal.weight * (known.index(name) if name in known else len(_MEMORY))
    return total
