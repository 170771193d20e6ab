"""Simplified segment: at most two segments per path, so that a tuple waits at most twice.

    priority = (m_in − m_out·Πs) ÷ C of the segment

JC03 §3.3: the first segment is the leaf and its successors while each releases at least γ = 3/4 of what the one
below it releases; the rest is the second.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(1, 0.8), (10, 0.5), (1, 0.1), (10, 1)]])
>>> [(unit.name, round(unit.static, 4)) for unit in units_of(net, SIMPLIFIED_SEGMENT)]
[('{q1.o1}', 0.2), ('{q1.o2, q1.o3, q1.o4}', 0.0909)]
"""

from dataclasses import replace

from penstock.policies.segment import SEGMENT

SIMPLIFIED_SEGMENT = replace(
    SEGMENT,
    name="simplified_segment",
    simplified=True,
    minimises="queue memory, with better latency than segment",
    source="JC03 §3.3, (3.2) with γ = 3/4",
)
