"""HNR that knows each waiting tuple's fate: a bound on what better estimates could bring.

    priority = S/T ÷ C, of what the waiting tuples will really produce and really cost

SCLP08 §9.1.11, on (4). In the simulator only: nothing on Spark knows the future.

>>> from penstock.policies.hnr import HNR
>>> HNR_ORACLE.gain == HNR.gain, HNR_ORACLE.clairvoyant
(True, True)
"""

from dataclasses import replace

from penstock.policies.hnr import HNR

HNR_ORACLE = replace(
    HNR.oracle(),
    name="hnr_oracle",
    minimises="average slowdown: a bound, in the simulator only",
    source="SCLP08 §9.1.11 on (4)",
)
