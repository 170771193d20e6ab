"""FIFO (FCFS): the oldest tuple first, through its whole path.

    priority = 1 × W

W is the age of the oldest tuple that waits. JC03 §2.2, BBDM03 §2 (Example 1), P04 §4.3; SCLP08 §4.1 calls it
FCFS. It minimises the maximum response, and ignores cost and selectivity.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [FIFO.priority(unit.whole, age=age) for unit, age in zip(units_of(net, FIFO), (3, 4))]
[3, 4]
"""

from penstock.policies.features import ONE
from penstock.policies.policy import Policy

FIFO = Policy(
    name="fifo",
    unit="path",
    gain=ONE,
    cost=None,
    urgency="age",
    minimises="maximum response",
    source="JC03 §2.2; SCLP08 §4.1 (FCFS); P04 §4.3",
)
