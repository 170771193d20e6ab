"""Why claims of P04 do not hold here: findings of runs of 300 s, seeds 1 to 6."""

WHEEL = (
    "(5.1) divides by the spread of everything that was ever read, which over bursts and quiet times is 5 to 9 "
    "times the mean: scores stay near 0.5, from 0.3 to 0.7 in eight looks of ten, and slices near a quarter."
)
LEFT = (
    "In its turn a policy serves what others have left, as §5.2 warns: on plan 2 FIFO's results are 3.8 s old in "
    "its own turns and Chain's 1.6 s, where alone they are 1.7 and 4.7 s. What is read says the opposite of what "
    "is so."
)
TIES = (
    "Output rates of single policies differ by 1 % at most over 300 s, for all that arrives comes out in the end: "
    "there is next to nothing to gain by it, and noise decides."
)
COMPROMISE = (
    "Policies that are ahead of the median in delay are behind it in memory, and the other way round: a mix of "
    "the two is served best by giving one of them up."
)
CONTRADICTED = 'The thesis says the opposite in its conclusions: "never able to outperform that single strategy".'


def of_selector(selector: str, goal: str = "") -> str:
    """Return why a selector does not find the best policy for a goal."""
    return {"roulette": f"{WHEEL} {LEFT if goal != 'memory' else ''}".strip(), "foresight": ""}.get(selector, LEFT)
