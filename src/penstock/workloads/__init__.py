"""Workloads: arrival processes, random rows, and the query populations of the papers."""

from penstock.workloads.arrivals import Arrivals, Times, take, until
from penstock.workloads.burstiness import hurst, index_of_dispersion
from penstock.workloads.bursty import Bursty
from penstock.workloads.flows import Flows
from penstock.workloads.phases import Phases
from penstock.workloads.poisson import Poisson
from penstock.workloads.populations import (
    POPULATIONS,
    Population,
    Predicate,
    drifting_gaussian,
    population,
    uniform_values,
)
from penstock.workloads.redrawn import Redrawn
from penstock.workloads.rows import made_rows, row_options
from penstock.workloads.trace import Trace

__all__ = [
    "POPULATIONS",
    "Arrivals",
    "Bursty",
    "Flows",
    "Phases",
    "Poisson",
    "Population",
    "Predicate",
    "Redrawn",
    "Times",
    "Trace",
    "drifting_gaussian",
    "hurst",
    "index_of_dispersion",
    "made_rows",
    "population",
    "row_options",
    "take",
    "uniform_values",
    "until",
]
