"""Segment: consecutive operators of rising memory release, run as one.

    priority = (m_in − m_out·Πs) ÷ C of the segment

JC03 §3.3, release by (3.2), segments with γ = 1. JC03's Theorem 3, that it never needs more memory than Chain,
is false in general: see docs/theorems.md.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(1, 0.8), (1, 0.2), (10, 1)]])
>>> [(unit.name, round(unit.static, 4)) for unit in units_of(net, SEGMENT)]
[('{q1.o1, q1.o2}', 0.4667), ('{q1.o3}', 0.1)]
"""

from penstock.policies.features import Term
from penstock.policies.greedy import released, time
from penstock.policies.policy import Policy

SEGMENT = Policy(
    name="segment",
    unit="segment",
    gain=Term("m_in − m_out·Πs", released),
    cost=Term("C of the segment", time),
    minimises="queue memory",
    sharing=None,
    source="JC03 §3.3, (3.2)",
)
