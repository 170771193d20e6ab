"""What is measured of a run, and predicted of it: response and slowdown, of all results and of each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np


class QueryResults(NamedTuple):
    """Of one query: the number of its results, and sum, sum of squares and maximum of their responses."""

    results: float
    total: float
    squares: float
    most: float


@dataclass(frozen=True)
class Fared:
    """Response in seconds, and slowdown: response ÷ the query's own time, which is the same for all runs."""

    avg_response: float
    max_response: float
    l2_response: float
    avg_slowdown: float
    max_slowdown: float
    l2_slowdown: float

    @classmethod
    def of(cls, found: Mapping[str, QueryResults], own_s: Mapping[str, float]) -> "Fared":
        """Return the figures of all results of these queries.

        >>> found = {"a": QueryResults(1, 2.0, 4.0, 2.0), "b": QueryResults(3, 6.0, 14.0, 3.0)}
        >>> each = Fared.of(found, {"a": 1.0, "b": 2.0})
        >>> each.avg_response, each.max_response, each.avg_slowdown, each.max_slowdown
        (2.0, 3.0, 1.25, 2.0)
        """
        counts, totals, squares, most = np.array(list(found.values())).T
        own = np.array([own_s[name] for name in found])
        results = max(float(counts.sum()), 1.0)
        return cls(
            avg_response=float(totals.sum()) / results,
            max_response=float(most.max()),
            l2_response=float(np.sqrt(squares.sum())),
            avg_slowdown=float((totals / own).sum()) / results,
            max_slowdown=float((most / own).max()),
            l2_slowdown=float(np.sqrt((squares / own**2).sum())),
        )


@dataclass(frozen=True)
class PolicyRun(Fared):
    """The metrics of a run under a policy."""

    policy: str
    seed: int
    outputs: int
    seconds: float
    jobs: int
    utilization: float
    deciding: float
    kinds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The figures of each kind of query. Responses of aggregates are from the end of the window."""


def by_kind(
    found: Mapping[str, QueryResults], own_s: Mapping[str, float], kinds: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Return the figures of the results of each kind of query."""
    return {kind: asdict(Fared.of({name: found[name] for name in names}, own_s)) for kind, names in kinds.items()}


def means(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean of the runs of every policy.

    >>> means([{"policy": "fifo", "seed": 1, "x": 1.0}, {"policy": "fifo", "seed": 2, "x": 2.0}])
    [{'policy': 'fifo', 'x': 1.5}]
    """
    return [
        {"policy": policy, **_mean([run for run in runs if run["policy"] == policy])}
        for policy in dict.fromkeys(run["policy"] for run in runs)
    ]


def _mean(some: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in some[0].items():
        if isinstance(value, Mapping):
            found[key] = _mean([each[key] for each in some])
        elif key not in ("policy", "seed"):
            found[key] = float(np.mean([each[key] for each in some]))
    return found
