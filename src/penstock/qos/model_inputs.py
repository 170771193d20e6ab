"""Inputs of the fluid model: network, costs and settings of the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from penstock.network import Edge, Network
from penstock.policies import Exhaustive, Service


class ResultsPerRow(NamedTuple):
    """Results of a query per row: how many, their weight and their ideal time."""

    rows: float
    weight: float
    ideal: float


@dataclass(frozen=True)
class ModelInputs:
    """Network, costs and settings of the engine when models begin; the same for all policies.

    A job takes `setup_s`, plus for each unit `unit_s`, `window_row_s` per row of its windows, and `pace` times the
    costs of its rows.
    """

    network: Network
    setup_s: float
    unit_s: float = 0.0
    window_row_s: float = 0.0
    pace: float = 1.0
    ideals: Mapping[str, float] = field(default_factory=dict)
    """T of queries, where it is not the network's."""
    windows: Mapping[str, float] = field(default_factory=dict)
    """Rows that a probe of each join reads."""
    service: Service = field(default_factory=Exhaustive)
    quantum_s: float = 0.0
    longest_train: int = 500
    """The most units of a train."""
    most_rows: float = 500_000
    """The most rows that a job takes of a unit."""
    in_flight: int = 1
    memory: int | None = None
    row_bytes: Mapping[str, float] = field(default_factory=dict)
    """Bytes per row of each stream and operator."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of queries that are not 1."""

    @cached_property
    def expected_results(self) -> Mapping[Edge, list[ResultsPerRow]]:
        """For each queue, the results expected of a row that waits there."""
        ideals = {name: ideal for queries in self.queries_by_root.values() for name, _, ideal in queries}
        return {
            edge: [
                ResultsPerRow(float(self.network.S(path)), self.weights.get(path.query, 1.0), ideals[path.query])
                for path in self.network.suffixes[edge]
            ]
            for edge in self.network.edges
        }

    @cached_property
    def queries_by_root(self) -> Mapping[str, list[tuple[str, float, float]]]:
        """For each root, the names, weights and ideal times of its queries."""
        found: dict[str, list[tuple[str, float, float]]] = {}
        for query in self.network.queries:
            ideal = self.ideals.get(query.name) or float(self.network.T(query.name))
            found.setdefault(query.root, []).append((query.name, self.weights.get(query.name, 1.0), ideal))
        return found
