"""Aurora's two levels: queries in turn, and inside the query the operator with the highest output rate.

    priority = turns of the query; among its operators, S ÷ C

The baseline "RR" of SCLP08's experiments: §3.1.1 describes it, §8 uses it.

>>> from penstock.network import Network
>>> from penstock.policies.scheduler import Scheduler, Waiting
>>> scheduler = Scheduler(Network.chains([[(1, 0.5), (1, 1)], [(1, 1)]]), AURORA)
>>> busy = lambda unit: Waiting(arrival=0, number=0, length=1)
>>> [scheduler.choose(0, busy)[0].name for _ in range(3)]
['q1.o2', 'q2.o1', 'q1.o2']
"""

from penstock.policies.features import C, S
from penstock.policies.policy import Policy

AURORA = Policy(
    name="aurora",
    unit="operator",
    gain=S,
    cost=C,
    urgency="turns",
    tie=("static", "oldest", "id"),
    turn_of="query",
    minimises="nothing; a baseline",
    source="SCLP08 §3.1.1, §8 (RR); rate by SCLP08 (1)",
    sharing="pdt",
)
