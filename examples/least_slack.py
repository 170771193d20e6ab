"""Your own policy: least slack serves first what has waited longest, relative to what it still costs.

penstock simulate examples/network.toml -p fifo -p examples/least_slack.py:LEAST_SLACK
penstock run examples/goals.sql --seconds 30 --policy "examples/least_slack.py:LEAST_SLACK.every(20)"
"""

from penstock.policies import Features, Policy, Term


def one(features: Features) -> float:
    """Return the gain of a tuple: the same for all."""
    return 1.0


def left(features: Features) -> float:
    """Return the expected time from here to the result."""
    return features.C


LEAST_SLACK = Policy(
    name="least_slack",
    unit="path",  # what is scheduled: "operator", "segment" or "path"
    gain=Term("1", one),
    cost=Term("C", left),
    urgency="age",  # "none", "age", "length", "turns", or a product: "age × length"
    minimises="waiting, for what is left to do",
)
