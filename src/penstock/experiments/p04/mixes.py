"""The goals of P04 §6, and how it weighs them: alone, in pairs, all three."""

from penstock.qos import Goals

GOALS = {"delay": "avg_response", "memory": "queue_size", "rate": "output_rate"}
"""P04's words for them: mean tuple delay, mean memory (tuples in all queues), mean output rate."""

SENSES = {"delay": -1, "memory": -1, "rate": 1}
"""1 where more is better."""

PAIRS = (("delay", "rate"), ("delay", "memory"), ("memory", "rate"))
WEIGHTS = (0, 30, 50, 70, 100)
EQUAL = "delay 33, memory 33, rate 34"


def mix(one: str, other: str, weight: int) -> str:
    """Return a pair of goals, one with a weight in per cent; what weighs nothing is left out.

    >>> mix("delay", "rate", 70), mix("rate", "delay", 30), mix("delay", "rate", 0)
    ('delay 70, rate 30', 'delay 70, rate 30', 'rate 100')
    """
    weights = {one: weight, other: 100 - weight}
    return ", ".join(f"{name} {weights[name]}" for name in GOALS if weights.get(name))


def weights_of(name: str) -> dict[str, float]:
    """Return the weight of each goal of a mix; they sum to 1.

    >>> weights_of("delay 70, rate 30")
    {'delay': 0.7, 'rate': 0.3}
    """
    parts = (part.split() for part in name.split(", "))
    return {goal: int(percent) / 100 for goal, percent in parts}


def goals_of(name: str) -> Goals:
    """Return the goals of a mix.

    >>> print(goals_of("memory 30, rate 70"))
    minimize queue_size 0.3, maximize output_rate 0.7
    """
    return Goals.of({GOALS[goal]: weight for goal, weight in weights_of(name).items()})


ALONE = {goal: f"{goal} 100" for goal in GOALS}
MIXED = (*(mix(*pair, weight) for pair in PAIRS for weight in (70, 50, 30)), EQUAL)
