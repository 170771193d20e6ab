"""The table of all policies: a plain dict from name to policy."""

from penstock.errors import PolicyError, nearest
from penstock.policies.aurora import AURORA
from penstock.policies.brt import BRT
from penstock.policies.bsd import BSD
from penstock.policies.chain import CHAIN
from penstock.policies.fifo import FIFO
from penstock.policies.greedy import GREEDY
from penstock.policies.hnr import HNR
from penstock.policies.hnr_oracle import HNR_ORACLE
from penstock.policies.hr import HR
from penstock.policies.hr_oracle import HR_ORACLE
from penstock.policies.lsf import LSF
from penstock.policies.mtiq import MTIQ
from penstock.policies.path_capacity import PATH_CAPACITY
from penstock.policies.policy import Policy
from penstock.policies.round_robin import ROUND_ROBIN
from penstock.policies.segment import SEGMENT
from penstock.policies.simplified_segment import SIMPLIFIED_SEGMENT
from penstock.policies.srpt import SRPT
from penstock.policies.threshold import THRESHOLD

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        FIFO,
        ROUND_ROBIN,
        AURORA,
        GREEDY,
        MTIQ,
        CHAIN,
        PATH_CAPACITY,
        SEGMENT,
        SIMPLIFIED_SEGMENT,
        THRESHOLD,
        SRPT,
        HR,
        HNR,
        LSF,
        BRT,
        BSD,
        HR_ORACLE,
        HNR_ORACLE,
    )
}


def policy_named(policy: str | Policy) -> Policy:
    """Return the policy of that name; a policy is returned as it is.

    >>> policy_named("hrr")
    Traceback (most recent call last):
    penstock.errors.PolicyError: there is no policy 'hrr'. Did you mean 'hr'? `penstock policies` lists them
    """
    if isinstance(policy, Policy):
        return policy
    if not isinstance(policy, str) or policy not in POLICIES:
        raise PolicyError(
            f"there is no policy {policy!r}.{nearest(policy, POLICIES)} `penstock policies` lists them"
        )
    return POLICIES[policy]
