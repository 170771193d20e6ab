"""Round robin: operators take turns, each until its quantum ends or its queue is empty.

    priority = 1 × turns

`turns` counts since the cycle last passed the operator, so the next in the cycle has the most. BBDM03 §4.1,
P04 §4.2. It minimises nothing, and no operator starves.

>>> from penstock.network import Network
>>> from penstock.policies.scheduler import Scheduler, Waiting
>>> scheduler = Scheduler(Network.chains([[(1, 1)], [(1, 1)], [(1, 1)]]), ROUND_ROBIN)
>>> busy = lambda unit: None if unit.id == 1 else Waiting(arrival=0, number=0, length=1)
>>> [scheduler.choose(0, busy)[0].name for _ in range(4)]
['q1.o1', 'q3.o1', 'q1.o1', 'q3.o1']
"""

from penstock.policies.features import ONE
from penstock.policies.policy import Policy

ROUND_ROBIN = Policy(
    name="round_robin",
    unit="operator",
    gain=ONE,
    cost=None,
    urgency="turns",
    minimises="nothing; no operator starves",
    source="BBDM03 §4.1; P04 §4.2",
)
