"""How well a policy met the goals, compared with what was read of all policies (P04 §5.2).

    z = (μ_S − μ_H) ÷ (max_H − min_H) · decay^time + 0.5        1 − z where it is to be small      (5.1)
    score = Σ z · w                                                                                (5.2)

μ_S is the average while the policy ran, μ_H over everything; max_H and min_H are the extremes of everything.
`time` is how long the policy has not run: what was known of it fades to 0.5. With weighted averages z can leave
0 … 1; it is clamped. Where nothing differs (max = min), or nothing is known of the policy, z is 0.5.
"""

from collections.abc import Mapping

from penstock.qos.goals import Goals
from penstock.qos.statistics import View

UNKNOWN = 0.5


def z_of(value: float | None, overall: View, statistic: str, fade: float = 1.0) -> float:
    """Return a statistic on the scale from 0, the least ever read, to 1, the greatest.

    >>> history = View(weight=0.5)
    >>> for value in (2.0, 4.0):
    ...     history.add({"queue_size": value}, seconds=1)
    >>> history.mean["queue_size"], z_of(3.5, history, "queue_size"), z_of(9.0, history, "queue_size")
    (3.0, 0.75, 1.0)
    """
    mean = overall.mean.get(statistic)
    if value is None or mean is None:
        return UNKNOWN
    spread = overall.high[statistic] - overall.low[statistic]
    if spread <= 0:
        return UNKNOWN
    return min(max((value - mean) / spread * fade + UNKNOWN, 0.0), 1.0)


def score_of(values: Mapping[str, float], overall: View, goals: Goals, fade: float = 1.0) -> float:
    """Return the score of these averages: from 0 to 1, high is good."""
    score = 0.0
    for goal in goals.goals:
        z = z_of(values.get(goal.statistic), overall, goal.statistic, fade)
        score += goal.weight * (z if goal.sense == "maximize" else 1 - z)
    return score


def reward_of(values: Mapping[str, float], overall: View, goals: Goals) -> float:
    """Return how good a period was on the scale of everything that was ever read: 0 is the worst, 1 the best.

    Unlike a score, it does not depend on the average so far, which follows whatever runs: a policy that gets worse
    and keeps running would soon look average again.

    >>> history = View()
    >>> for value in (2.0, 4.0):
    ...     history.add({"queue_size": value}, seconds=1)
    >>> reward_of({"queue_size": 2.5}, history, Goals.parse("minimize queue_size 1"))
    0.75
    """
    reward = 0.0
    for goal in goals.goals:
        value, low = values.get(goal.statistic), overall.low.get(goal.statistic)
        place = UNKNOWN
        if value is not None and low is not None and overall.high[goal.statistic] > low:
            place = min(max((value - low) / (overall.high[goal.statistic] - low), 0.0), 1.0)
        reward += goal.weight * (place if goal.sense == "maximize" else 1 - place)
    return reward
