"""Highest normalised rate: the rate of results, each weighted by 1 ÷ its ideal processing time.

    priority = S/T ÷ C

SCLP08 (4). It minimises the average slowdown. Example 1 prints 0.04 and 0.08:

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [round(unit.static, 2) for unit in units_of(net, HNR)]
[0.04, 0.08]
"""

from penstock.network import Number
from penstock.policies.features import C, Features, Term
from penstock.policies.policy import Policy


def normalised(features: Features) -> Number:
    """Return S ÷ T: results, each weighted by 1 ÷ its ideal processing time."""
    return features.S / features.T


HNR = Policy(
    name="hnr",
    unit="path",
    gain=Term("S/T", normalised),
    cost=C,
    minimises="average slowdown",
    source="SCLP08 (4)",
    sharing="pdt",
)
