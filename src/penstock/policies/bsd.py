"""Balance slowdown: highest normalised rate, weighted by the slowdown of the oldest tuple so far.

    priority = S/T² ÷ C × W

SCLP08 (7): (S/(C·T)) · (W/T). It minimises the ℓ2 norm of slowdown.

>>> from penstock.network import Network
>>> from penstock.policies.units import units_of
>>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
>>> [round(BSD.priority(unit.whole, age=10), 4) for unit in units_of(net, BSD)]
[0.08, 0.4125]
"""

from penstock.network import Number
from penstock.policies.features import C, Features, Term
from penstock.policies.policy import Policy


def twice_normalised(features: Features) -> Number:
    """Return S ÷ T²: results weighted by 1/T for the rate, and again for the slowdown that waiting adds."""
    return features.S / (features.T * features.T)


BSD = Policy(
    name="bsd",
    unit="path",
    gain=Term("S/T²", twice_normalised),
    cost=C,
    urgency="age",
    minimises="ℓ2 norm of slowdown",
    source="SCLP08 (7)",
    sharing="pdt",
)
