"""Longest stretch first: the tuple whose slowdown so far is the highest.

    priority = 1/T × W

SCLP08 (6). It minimises the maximum slowdown.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [LSF.priority(unit.whole, age=10) for unit in units_of(net, LSF)]
[2.0, 5.0]
"""

from penstock.network import Number
from penstock.policies.features import Features, Term
from penstock.policies.policy import Policy


def stretch(features: Features) -> Number:
    """Return 1 ÷ T: the slowdown that a unit of waiting time adds."""
    return 1 / features.T


LSF = Policy(
    name="lsf",
    unit="path",
    gain=Term("1/T", stretch),
    cost=None,
    urgency="age",
    minimises="maximum slowdown",
    source="SCLP08 (6)",
)
