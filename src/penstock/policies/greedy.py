"""Greedy: the operator that frees most memory per unit time, without regard to later operators.

    priority = (m_in − s·m_out) ÷ c

With tuples of one size that is (1 − s)/c, P04 (4.1) and BBDM03 §4.1; with sizes, JC03 (2.1). The root's output
leaves at once, so its m_out is 0.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(1, 0.2), (5, 0)]])
>>> [unit.static for unit in units_of(net, GREEDY)]
[0.8, 0.2]
"""

from penstock.network import Number
from penstock.policies.features import Features, Term
from penstock.policies.policy import Policy


def released(features: Features) -> Number:
    """Return the memory that one tuple frees by passing the unit."""
    return features.released


def time(features: Features) -> Number:
    """Return the time that one tuple takes in the unit."""
    return features.time


GREEDY = Policy(
    name="greedy",
    unit="operator",
    gain=Term("m_in − s·m_out", released),
    cost=Term("c", time),
    minimises="queue memory, myopically",
    sharing=None,
    source="P04 (4.1); BBDM03 §4.1; JC03 (2.1)",
)
