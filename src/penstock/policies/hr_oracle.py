"""HR that knows each waiting tuple's fate: a bound on what better estimates could achieve.

    priority = S ÷ C, by what the waiting tuples will really produce and cost

SCLP08 §9.1.11, on (1). Only in the simulator: on Spark, fates are not known in advance.

>>> from penstock.policies.hr import HR
>>> HR_ORACLE.gain == HR.gain, HR_ORACLE.clairvoyant
(True, True)
"""

from dataclasses import replace

from penstock.policies.hr import HR

HR_ORACLE = replace(
    HR.oracle(),
    name="hr_oracle",
    minimises="average response: a bound, in the simulator only",
    source="SCLP08 §9.1.11 on (1)",
)
