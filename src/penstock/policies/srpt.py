"""Shortest remaining processing time: the path whose results need least work.

    priority = 1 ÷ T

The baseline of SCLP08 §3.5. With all selectivities 1, HR, HNR and SRPT choose alike.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [unit.static for unit in units_of(net, SRPT)]
[0.2, 0.5]
"""

from penstock.policies.features import ONE, Term
from penstock.policies.policy import Policy

SRPT = Policy(
    name="srpt",
    unit="path",
    gain=ONE,
    cost=Term("T", lambda f: f.T),
    minimises="response, where nothing is filtered out",
    source="SCLP08 §3.5",
)
