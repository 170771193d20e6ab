"""Quality of service: goals, statistics, and selectors that pick the policy by them."""

from penstock.qos.estimates import Estimates
from penstock.qos.gatherer import Statistics, View
from penstock.qos.goals import DEFAULT, TEMPLATES, Goal, Goals
from penstock.qos.interval_statistics import (
    Computed,
    IntervalStatistics,
    OperatorWork,
    QueueSize,
    ResultSums,
    merged,
)
from penstock.qos.policy_choice import ChoiceSample, Chosen, PolicyChoice
from penstock.qos.selection import CANDIDATES, Selection
from penstock.qos.selectors import SELECTORS, Choice, Selector, Situation, selector_named
from penstock.qos.statistics import STATISTICS, Statistic, statistic

__all__ = [
    "CANDIDATES",
    "DEFAULT",
    "SELECTORS",
    "STATISTICS",
    "TEMPLATES",
    "Choice",
    "ChoiceSample",
    "Chosen",
    "Computed",
    "Estimates",
    "Goal",
    "Goals",
    "IntervalStatistics",
    "OperatorWork",
    "PolicyChoice",
    "QueueSize",
    "ResultSums",
    "Selection",
    "Selector",
    "Situation",
    "Statistic",
    "Statistics",
    "View",
    "merged",
    "selector_named",
    "statistic",
]
