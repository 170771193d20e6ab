"""Scores of policies: how well each met the goals, compared with all intervals so far (P04 §5.2).

    z = (μ_S − μ_H) ÷ (max_H − min_H) · decay^time + 0.5        1 − z if it is to be minimised     (5.1)
    score = Σ z · w                                                                                (5.2)

μ_S is the average while the policy ran; μ_H, max_H and min_H are of all intervals. `time` is how long the policy
has not run: z fades to 0.5. With weighted averages z can leave 0 … 1; it is clamped. If all values are equal
(max = min), or none of the policy is known, z is 0.5.
"""

from collections.abc import Mapping

from penstock.qos.gatherer import View
from penstock.qos.goals import Goals

UNKNOWN = 0.5


def z_of(value: float | None, overall: View, statistic: str, fade: float = 1.0) -> float:
    """Return z of a statistic (P04 (5.1)): its distance from the overall average, on a scale from 0 to 1.

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
    """Return the score of these averages (P04 (5.2)): from 0 to 1, higher is better."""
    score = 0.0
    for goal in goals.goals:
        z = z_of(values.get(goal.statistic), overall, goal.statistic, fade)
        score += goal.weight * (z if goal.sense == "maximize" else 1 - z)
    return score


def reward_of(values: Mapping[str, float], overall: View, goals: Goals) -> float:
    """Return the reward of a period, on the scale of all values so far: 0 is the worst, 1 the best.

    Unlike a score, it does not depend on the average so far. That average follows the running policy, so one that
    gets worse and keeps running would soon score as average again.

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
