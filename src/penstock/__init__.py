"""Penstock: many continuous queries over bursty streams, and the scheduler that decides what runs next."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from penstock.errors import (
    ArrivalError,
    NetworkError,
    PenstockError,
    PlanError,
    PolicyError,
    QosError,
    RunError,
    ScriptError,
)
from penstock.network import Network, NetworkBuilder, Operator, Query, Stream, Window
from penstock.policies import POLICIES, Policy

if TYPE_CHECKING:
    from penstock.language.script import Script
    from penstock.optimizer import Filter, JoinMethod, JoinPlan, JoinProblem, optimize, plans
    from penstock.qos import Goal, Goals, Selection, statistic
    from penstock.runtime.summary import Summary
    from penstock.simulator.simulate import simulate
    from penstock.sinks.read import read
    from penstock.spark.api import run, started

__version__ = "0.1.0"
logging.getLogger("penstock").addHandler(logging.NullHandler())  # programs that use Penstock choose what is shown

__all__ = [
    "POLICIES",
    "ArrivalError",
    "Filter",
    "Goal",
    "Goals",
    "JoinMethod",
    "JoinPlan",
    "JoinProblem",
    "Network",
    "NetworkBuilder",
    "NetworkError",
    "Operator",
    "PenstockError",
    "PlanError",
    "Policy",
    "PolicyError",
    "QosError",
    "Query",
    "RunError",
    "Script",
    "ScriptError",
    "Selection",
    "Stream",
    "Summary",
    "Window",
    "optimize",
    "plans",
    "read",
    "run",
    "simulate",
    "started",
    "statistic",
]

# What needs PySpark, Arrow, scipy or sqlglot is loaded when it is first asked for.
_LATER = {
    "Filter": "penstock.optimizer",
    "Goal": "penstock.qos",
    "Goals": "penstock.qos",
    "JoinMethod": "penstock.optimizer",
    "JoinPlan": "penstock.optimizer",
    "JoinProblem": "penstock.optimizer",
    "Script": "penstock.language.script",
    "Selection": "penstock.qos",
    "Summary": "penstock.runtime.summary",
    "optimize": "penstock.optimizer",
    "plans": "penstock.optimizer",
    "read": "penstock.sinks.read",
    "run": "penstock.spark.api",
    "simulate": "penstock.simulator.simulate",
    "started": "penstock.spark.api",
    "statistic": "penstock.qos",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
