"""Highest rate: the path that produces most results per unit time.

    priority = S ÷ C

SCLP08 (1), (5). It minimises the average response. Example 1 prints 0.2 and 0.1667 (that is, one third):

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 1 / 3)]])
>>> [round(unit.static, 4) for unit in units_of(net, HR)]
[0.2, 0.1667]
"""

from penstock.policies.features import C, S
from penstock.policies.policy import Policy

HR = Policy(
    name="hr",
    unit="path",
    gain=S,
    cost=C,
    minimises="average response",
    source="SCLP08 (1)",
    sharing="pdt",
)
