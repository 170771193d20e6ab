"""The costs of jobs and rows, fitted to whole runs.

The engine learns costs while it runs. From an assumed microsecond per row it needs more jobs of a unit than a run
of the benchmark has. So backlogs are fitted here, in which each unit has one job:

    seconds of a unit in a run = c0 × its jobs + cost × its rows
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its part `optimize` is loaded on first use

from penstock.network import Network
from penstock.qos import OperatorWork

_LEAST = 1e-9

Work = Mapping[str, OperatorWork]
"""The work of each operator in a run."""


@dataclass(frozen=True)
class JobCosts:
    """The set-up of a job, and the seconds per row of each operator."""

    setup_s: float
    costs: Mapping[str, float]


def fitted(network: Network, runs: Sequence[Work]) -> JobCosts:
    """Return costs by non-negative least squares of runs in which each unit had one job; queries share nothing.

    The operators of a unit share its time by their expected costs.

    >>> network = Network.chains([[(1.0, 1.0)], [(1.0, 1.0)]])
    >>> runs = [
    ...     {"q1.o1": OperatorWork(100, 100, 0.4), "q2.o1": OperatorWork(100, 100, 0.2)},
    ...     {"q1.o1": OperatorWork(400, 400, 1.3), "q2.o1": OperatorWork(400, 400, 0.5)},
    ... ]
    >>> found = fitted(network, runs)
    >>> round(found.setup_s, 4), [round(each, 4) for each in found.costs.values()]
    (0.1, [0.003, 0.001])
    """
    units = _units(network)
    rows, seconds = [], []
    for work in runs:
        for place, unit in enumerate(units):
            there = [name for name in unit if name in work and work[name].taken]
            if there:
                line = np.zeros(1 + len(units))
                line[0], line[1 + place] = 1.0, sum(_expected(network, name) * work[name].taken for name in there)
                rows.append(line)
                seconds.append(sum(work[name].seconds for name in there))
    found, _ = scipy.optimize.nnls(np.array(rows), np.array(seconds))
    costs = {
        name: max(float(factor) * _expected(network, name), _LEAST)
        for unit, factor in zip(units, found[1:], strict=True)
        for name in unit
    }
    return JobCosts(float(found[0]), costs)


def _units(network: Network) -> list[list[str]]:
    """Return the operators that run as one: from a stream, or from a queue where windows wait."""
    heads: dict[str, list[str]] = {}
    for operator in network.operators:
        below = operator.inputs[0]
        is_head = below in network.stream_by_name or operator.kind == "close"
        heads[operator.name] = [] if is_head else heads[below]
        heads[operator.name].append(operator.name)
    return [unit for name, unit in heads.items() if unit[0] == name]


def _expected(network: Network, name: str) -> float:
    return float(max(network.operator(name).costs))
