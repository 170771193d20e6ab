"""Most tuples in queue: the operator with the longest queue, which gives large batches.

    priority = 1 × Q

P04 §4.5; Q is the number of tuples in all the operator's queues.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(1, 0.9), (0.25, 0.1), (0.75, 1)]])
>>> [MTIQ.priority(unit.whole, length=length) for unit, length in zip(units_of(net, MTIQ), (1, 1.8, 0.1))]
[1, 1.8, 0.1]
"""

from penstock.policies.features import ONE
from penstock.policies.policy import Policy

MTIQ = Policy(
    name="mtiq",
    unit="operator",
    gain=ONE,
    cost=None,
    urgency="length",
    minimises="queue memory, by large batches",
    source="P04 §4.5",
)
