"""Quality of service: goals, statistics, and selectors that pick the policy by them."""

from penstock.qos.director import CANDIDATES, Chosen, Director, Look, Selection
from penstock.qos.estimates import Estimates
from penstock.qos.goals import DEFAULT, TEMPLATES, Goal, Goals
from penstock.qos.readings import Computed, Reading, Results, Waiting, Work, together
from penstock.qos.selectors import SELECTORS, Choice, Selector, Situation, selector_named
from penstock.qos.statistics import STATISTICS, Statistic, Statistics, View, statistic

__all__ = [
    "CANDIDATES",
    "DEFAULT",
    "SELECTORS",
    "STATISTICS",
    "TEMPLATES",
    "Choice",
    "Chosen",
    "Computed",
    "Director",
    "Estimates",
    "Goal",
    "Goals",
    "Look",
    "Reading",
    "Results",
    "Selection",
    "Selector",
    "Situation",
    "Statistic",
    "Statistics",
    "View",
    "Waiting",
    "Work",
    "selector_named",
    "statistic",
    "together",
]
