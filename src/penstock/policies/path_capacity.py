"""Path capacity: the path that can consume most tuples per unit time.

    priority = 1 ÷ C

JC03 §3.1, capacity by (2.2). It has the lowest total latency over all input tuples when all are present
(Theorem 1), and among path-based policies the lowest memory (Theorem 2).

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(1, 0.5), (2, 1)]])
>>> [unit.static for unit in units_of(net, PATH_CAPACITY)]
[0.5, 0.5]
"""

from penstock.policies.features import ONE, C
from penstock.policies.policy import Policy

PATH_CAPACITY = Policy(
    name="path_capacity",
    unit="path",
    gain=ONE,
    cost=C,
    minimises="latency of all tuples",
    source="JC03 §3.1, (2.2)",
)
