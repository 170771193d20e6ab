"""Optimizer of stream joins: cost model, plan search, load shedding, probe orders."""

from penstock.optimizer.filters import Filter, FilterPlan, by_rank, filter_plan
from penstock.optimizer.network_costs import join_problem, ranked, utilization
from penstock.optimizer.plan import JoinPlan
from penstock.optimizer.posynomial import Posynomial
from penstock.optimizer.probing import ProbeCosts, ProbedPlan, Probing
from penstock.optimizer.problem import JoinMethod, JoinProblem
from penstock.optimizer.search import optimize, plans

__all__ = [
    "Filter",
    "FilterPlan",
    "JoinMethod",
    "JoinPlan",
    "JoinProblem",
    "Posynomial",
    "ProbeCosts",
    "ProbedPlan",
    "Probing",
    "by_rank",
    "filter_plan",
    "join_problem",
    "optimize",
    "plans",
    "ranked",
    "utilization",
]
