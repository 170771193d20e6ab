"""Shortest remaining processing time: the path whose results need least time.

    priority = 1 ÷ T of the path, from where the tuple waits

The baseline of SCLP08 §8: a segment's total ideal processing time. With all selectivities 1, HR, HNR and SRPT
choose alike (§3.5).

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [unit.static for unit in units_of(net, SRPT)]
[0.2, 0.5]
"""

from penstock.network import Number
from penstock.policies.features import ONE, Features, Term
from penstock.policies.policy import Policy


def ideal_time(features: Features) -> Number:
    """Return the ideal processing time from here to the root."""
    return features.ideal


SRPT = Policy(
    name="srpt",
    unit="path",
    gain=ONE,
    cost=Term("T of the path", ideal_time),
    minimises="response, where nothing is filtered out",
    sharing=None,
    source="SCLP08 §8, §3.5",
)
