"""Threshold: path capacity while there is memory, simplified segments while it is short.

    priority = 1 ÷ C, or (m_in − m_out·Πs) ÷ C of the segment in saving mode

JC03 §3.4: saving mode from T_max until T_min, both by (3.3) with β = 0.9. The limit is the engine's, or given:
``PATH_CAPACITY.threshold(SIMPLIFIED_SEGMENT, memory=100)``.

>>> from penstock.network import Network
>>> from penstock.policies.scheduler import Scheduler
>>> scheduler = Scheduler(Network.chains([[(1, 0.5), (2, 1)]]), THRESHOLD, memory=100)
>>> for memory in (50, 75, 60, 40):
...     scheduler.see_memory(0, memory, mean=40)
...     print(memory, scheduler.policy.name)
50 threshold
75 simplified_segment
60 simplified_segment
40 threshold
"""

from dataclasses import replace

from penstock.policies.path_capacity import PATH_CAPACITY
from penstock.policies.simplified_segment import SIMPLIFIED_SEGMENT

THRESHOLD = replace(
    PATH_CAPACITY.threshold(SIMPLIFIED_SEGMENT),
    name="threshold",
    minimises="latency until memory is short, then memory",
    source="JC03 §3.4, (3.3)",
)
