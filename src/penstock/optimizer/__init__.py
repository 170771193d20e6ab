"""Plans for joins of streams: rates and windows, plan search, drop boxes."""

from penstock.optimizer.filters import Filter, FilterPlan, by_rank, filter_plan
from penstock.optimizer.plan import JoinPlan
from penstock.optimizer.probing import ProbeCosts, Probing
from penstock.optimizer.problem import JoinMethod, JoinProblem
from penstock.optimizer.search import optimize, plans

__all__ = [
    "Filter",
    "FilterPlan",
    "JoinMethod",
    "JoinPlan",
    "JoinProblem",
    "ProbeCosts",
    "Probing",
    "by_rank",
    "filter_plan",
    "optimize",
    "plans",
]
