"""Workloads: when tuples arrive, and what is in them, for the simulator and for live sources."""

from penstock.workloads.arrivals import Arrivals, Times, take, until
from penstock.workloads.burstiness import hurst, index_of_dispersion
from penstock.workloads.bursty import Bursty
from penstock.workloads.phases import Phases
from penstock.workloads.poisson import Poisson
from penstock.workloads.rows import made_rows, row_options
from penstock.workloads.trace import Trace

__all__ = [
    "Arrivals",
    "Bursty",
    "Phases",
    "Poisson",
    "Times",
    "Trace",
    "hurst",
    "index_of_dispersion",
    "made_rows",
    "row_options",
    "take",
    "until",
]
