"""Chain: the operator on the steepest segment of its path's lower envelope.

    priority = memory released ÷ time, over the operator's envelope segment

BBDM03 §4.1 on the progress charts of §3. Optimal at every instant where the charts are their own lower
envelopes (Theorem 1), and within one unit per query of the optimum where no selectivity is above 1 (Theorem 2).

A slow operator before a fast, selective one shares the latter's priority:

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(1, 0.9), (0.5, 0.1), (10, 1)]])
>>> [round(unit.static, 4) for unit in units_of(net, CHAIN)]
[0.6276, 0.6276, 0.1]
"""

from penstock.network import Number
from penstock.policies.features import Features, Term
from penstock.policies.policy import Policy


def drop(features: Features) -> Number:
    """Return the memory that one tuple frees along the envelope segment."""
    return features.drop


def span(features: Features) -> Number:
    """Return the time that one tuple takes along the envelope segment."""
    return features.span


CHAIN = Policy(
    name="chain",
    unit="operator",
    gain=Term("Δm of its chain", drop),
    cost=Term("Δt of its chain", span),
    minimises="peak queue memory",
    sharing=None,
    source="BBDM03 §3, §4.1",
)
