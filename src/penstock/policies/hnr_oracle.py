"""HNR that knows each waiting tuple's fate: a bound on what better estimates could achieve.

    priority = S/T ÷ C, by what the waiting tuples will really produce and cost

SCLP08 §9.1.11, on (4). Only in the simulator: on Spark, fates are not known in advance.

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
