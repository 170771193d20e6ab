"""Query populations: the queries of the papers' experiments, their load and their streams; one file per paper."""

from penstock.workloads.populations.attributes import Attributes, drifting_gaussian, uniform_values
from penstock.workloads.populations.population import Population, Predicate
from penstock.workloads.populations.population_table import POPULATIONS, population

__all__ = [
    "POPULATIONS",
    "Attributes",
    "Population",
    "Predicate",
    "drifting_gaussian",
    "population",
    "uniform_values",
]
