"""Scheduling policies as gain ÷ cost × urgency of a unit, one file each, and a plain scheduler."""

from penstock.policies.features import Features, Term
from penstock.policies.memory_thresholds import Thresholds
from penstock.policies.policy import Policy
from penstock.policies.policy_table import POLICIES, policy_named
from penstock.policies.scheduler import Scheduler, Train, Waiting, as_measured
from penstock.policies.service import Exhaustive, Limited, QueueShare, Service
from penstock.policies.units import Unit, units_of

__all__ = [
    "POLICIES",
    "Exhaustive",
    "Features",
    "Limited",
    "Policy",
    "QueueShare",
    "Scheduler",
    "Service",
    "Term",
    "Thresholds",
    "Train",
    "Unit",
    "Waiting",
    "as_measured",
    "policy_named",
    "units_of",
]
