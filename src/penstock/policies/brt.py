"""Balance response time: highest rate, weighted by how long the oldest tuple waits.

    priority = S ÷ C × W

SCLP08 (8). It minimises the ℓ2 norm of response.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [round(BRT.priority(unit.whole, age=10), 4) for unit in units_of(net, BRT)]
[2.0, 1.65]
"""

from penstock.policies.features import C, S
from penstock.policies.policy import Policy

BRT = Policy(
    name="brt",
    unit="path",
    gain=S,
    cost=C,
    urgency="age",
    minimises="ℓ2 norm of response",
    source="SCLP08 (8)",
    sharing="pdt",
)
