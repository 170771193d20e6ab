"""What the simulator predicts of the runs: the measured network, the same arrivals, the same policies.

The model has the measured costs of rows, set-up of a job, and selectivities. A run of a unit takes
what waits at its beginning, as a job does. It differs from Spark:

- Results leave one by one, not at the end of the job.
- All jobs have the same set-up.
- A close costs the same for every partial row of every window. A job that closes several windows reads the partial
  rows that they share only once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import scipy.stats

from penstock.bench.policies.figures import Fared, QueryResults, by_kind
from penstock.bench.policies.job_costs import JobCosts
from penstock.bench.policies.workload import AGGREGATES, STREAM, Workload
from penstock.network import Network, Operator, SlidingWindow
from penstock.plan.plan import Plan
from penstock.plan.steps import Close
from penstock.policies import Policy, QueueShare
from penstock.runtime.engine import Engine
from penstock.simulator.result import Result
from penstock.simulator.simulate import simulate
from penstock.workloads import Times

_FIGURES = ("avg_response", "avg_slowdown")
_ALL = "all results"


@dataclass(frozen=True)
class Model:
    """What the simulator runs instead of Spark: a network, the set-up of a job, and queries' own times."""

    network: Network
    setup_s: float
    own_s: Mapping[str, float]

    @classmethod
    def of(
        cls, engine: Engine, workload: Workload, rate: float, own_s: Mapping[str, float], costs: JobCosts
    ) -> "Model":
        """Return the model of an engine that has measured selectivities, with these costs."""
        measured = engine.costs.applied(engine.plan.network, {STREAM: rate})
        measured = measured.measured(costs=costs.costs, ideals=own_s)
        return cls(with_windows(measured, windows_of(engine.plan), workload.groups), costs.setup_s, own_s)

    def run(self, workload: Workload, policy: Policy, times: Times, seed: int) -> dict[str, Any]:
        """Return the figures of a policy for these arrivals."""
        at_once = QueueShare(1, 0)
        found = simulate(
            self.network, {STREAM: times}, policy, seed, setup_cost=self.setup_s, service=at_once, detail=True
        )
        sums = _sums(found)
        kinds = by_kind(sums, self.own_s, workload.kinds)
        if AGGREGATES in kinds:
            kinds[AGGREGATES]["p99_response"] = found.response_percentile(workload.kinds[AGGREGATES], 0.99) or 0.0
        figures = asdict(Fared.of(sums, self.own_s))
        return {
            "policy": policy.name,
            "seed": seed,
            "outputs": found.metrics["outputs"],
            **figures,
            "kinds": kinds,
        }


def windows_of(plan: Plan) -> dict[str, SlidingWindow]:
    """Return the windows, in seconds or in rows, that the operators of a plan close."""
    found = {}
    for name, step in plan.steps.items():
        if isinstance(step, Close) and step.window is not None:
            window, slide = step.window, step.window.slide
            assert slide is not None
            unit = 1 if window.kind == "rows" else 1e-6
            found[name] = SlidingWindow(window.kind, window.size * unit, slide * unit)
    return found


def with_windows(network: Network, windows: Mapping[str, SlidingWindow], groups: Mapping[str, int]) -> Network:
    """Return the network of a plan as the simulator needs it: with windows and groups.

    How many partial rows and results there are then follows from windows and groups.
    """
    keys = {
        edge.target: groups[path.query]
        for path in network.paths
        for edge in path.edges
        if network.operator(edge.target).kind == "aggregate"
    }

    def simulated(operator: Operator) -> Operator:
        if operator.name in keys:
            return replace(operator, groups=keys[operator.name], derived=True)
        if operator.name in windows:
            return replace(operator, series=windows[operator.name], derived=True)
        return operator

    return Network(network.streams, tuple(map(simulated, network.operators)), network.queries)


def _sums(found: Result) -> dict[str, QueryResults]:
    sums = {}
    for name, each in found.per_query.items():
        count = each["outputs"]
        average, most, norm = (each.get(f"{key}_response", 0.0) for key in ("avg", "max", "l2"))
        sums[name] = QueryResults(count, average * count, norm**2, most)
    return sums


def compared(
    measured: Sequence[Mapping[str, Any]], predicted: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the order of policies by each figure, measured and predicted, and Kendall's tau of the two.

    >>> runs = [{"policy": name, "avg_response": x, "avg_slowdown": x} for name, x in (("a", 1), ("b", 2))]
    >>> found = compared(runs, runs[::-1])[0]
    >>> found["results"], found["figure"], found["predicted"], round(found["tau"])
    ('all results', 'avg_response', ['a', 'b'], 1)
    """
    return [
        _order(kind, figure, measured, predicted)
        for kind in (_ALL, *measured[0].get("kinds", ()))
        for figure in _FIGURES
    ]


def _order(
    kind: str, figure: str, measured: Sequence[Mapping[str, Any]], predicted: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    def values(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        return {run["policy"]: (run if kind == _ALL else run["kinds"][kind])[figure] for run in runs}

    ours, theirs = values(measured), values(predicted)
    tau = scipy.stats.kendalltau(list(ours.values()), [theirs[name] for name in ours]).statistic
    return {
        "figure": figure,
        "results": kind,
        "measured": sorted(ours, key=ours.__getitem__),
        "predicted": sorted(theirs, key=theirs.__getitem__),
        "tau": float(tau),
    }
