"""Plans for joins of streams: rates and windows, plan search, drop boxes."""

from penstock.optimizer.boxes import Load, Parts, best_kept
from penstock.optimizer.filters import Filter, FilterPlan, by_rank, filter_plan
from penstock.optimizer.networks import join_problem, ranked, utilization
from penstock.optimizer.plan import JoinPlan
from penstock.optimizer.probing import ProbeCosts, ProbedPlan, Probing
from penstock.optimizer.problem import JoinMethod, JoinProblem
from penstock.optimizer.search import optimize, plans
from penstock.optimizer.together import QueryPlan, SharedPlan, shed_together

__all__ = [
    "Filter",
    "FilterPlan",
    "JoinMethod",
    "JoinPlan",
    "JoinProblem",
    "Load",
    "Parts",
    "ProbeCosts",
    "ProbedPlan",
    "Probing",
    "QueryPlan",
    "SharedPlan",
    "best_kept",
    "by_rank",
    "filter_plan",
    "join_problem",
    "optimize",
    "plans",
    "ranked",
    "shed_together",
    "utilization",
]
