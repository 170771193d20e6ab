"""The benchmark of policies: measures the capacity of the queries, then runs each policy at 90 % of it."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.bench.comparisons import Comparison
from penstock.bench.machine import described
from penstock.bench.policies.aggregates import aggregates
from penstock.bench.policies.closes import CloseResponses, RunClock
from penstock.bench.policies.figures import Fared, PolicyRun, QueryResults, by_kind, means
from penstock.bench.policies.job_costs import JobCosts, Work, fitted
from penstock.bench.policies.prediction import Model, compared
from penstock.bench.policies.selections import selections
from penstock.bench.policies.workload import AGGREGATES, FLOWS, Input, Workload, seeds
from penstock.errors import RunError
from penstock.language.script import Script
from penstock.policies import Policy, policy_named
from penstock.runtime.loop import Runtime
from penstock.runtime.options import RunOptions
from penstock.spark.backend import spark_runtime
from penstock.spark.session import spark_session
from penstock.workloads import Bursty, take

WORKLOADS: Mapping[str, Callable[[], Workload]] = {"selections": selections, "aggregates": aggregates}
POLICIES: Mapping[str, tuple[str, ...]] = {
    "selections": ("fifo", "round_robin", "hr", "hr.plain()", "hnr", "hnr.plain()", "bsd", "bsd.plain()", "brt"),
    "aggregates": ("fifo", "round_robin", "hr", "hnr", "bsd", "brt", "lsf", "chain"),
}
"""The policies compared on each workload; `plain` ignores the set-up cost of a job."""
LOAD = 0.9
"""Offered load, as a share of the capacity of the queries."""
BACKLOGS = (10_000, 40_000)
"""Sizes of two backlogs, from whose times the cost of one more row follows."""
FIRST_RATE = 2000.0
"""Rows per second of the times in a backlog, until the capacity is known."""
_WARM_UPS = 2
"""In a new JVM, the first two backlogs take up to twice as long as later ones."""
HEAP = "4g"
ONE_BY_ONE = "SET quantum = '0 s';"

Stage = Callable[[str], object]


@dataclass(frozen=True)
class Bench:
    """A workload on a Spark session."""

    workload: Workload
    spark: SparkSession
    folder: Path

    def run(
        self, policy: str | Policy, given: Input, costs: JobCosts | None = None
    ) -> tuple[Runtime, CloseResponses]:
        """Run a policy until all rows are processed; it begins with these costs, if they are given."""
        program = Script.parse(self.workload.script(self.folder, given, ONE_BY_ONE))
        options = RunOptions.of(program, policy=policy, drain=True)
        clock = RunClock()
        closes = CloseResponses(clock)
        runtime = spark_runtime(program, self.spark, [closes], self.folder, options, clock=clock)
        for operator, cost_s in costs.costs.items() if costs is not None else ():
            runtime.engine.costs.expect(operator, [cost_s])
        clock.begin()
        summary = runtime.run()
        if summary.failed:
            raise RunError(f"a query failed: {summary.queries[summary.failed[0]].reason}")
        return runtime, closes

    def capacity(self, on_stage: Stage, work: list[Work]) -> float:
        """Return how many rows per second the queries can take in large batches.

        Where windows of time close, their number per row depends on the rate. The capacity is then measured twice,
        the second time with rows as far apart as the first one makes them. `work` gets the work of each run.
        """
        found = FIRST_RATE / LOAD
        for turn in range(2 if self.workload.groups else 1):
            on_stage(f"measuring the capacity of the queries{', again' if turn else ''}")
            inputs = [Input.backlog(LOAD * found, rows) for rows in BACKLOGS]
            short, long = (min(self._drained(given, work) for _ in range(2)) for given in inputs)
            if long <= short:
                raise RunError(
                    f"{BACKLOGS[1]:,} rows took no longer than {BACKLOGS[0]:,}: the machine is too busy"
                )
            found = (BACKLOGS[1] - BACKLOGS[0]) / (long - short)
        return found

    def _drained(self, given: Input, work: list[Work]) -> float:
        """Return the seconds that it takes to process rows that arrive at once, and note the work of operators."""
        runtime, _ = self.run("fifo", given)
        summary = runtime.summary()
        work.append(runtime.engine.recorder.end_interval(summary.seconds, 0.0, 0.0, 0.0, {}).operators)
        return summary.seconds


def measured(
    workload: Workload, seconds: float, repeat: int, on_stage: Stage, others: Sequence[Policy] = ()
) -> dict[str, Any]:
    """Run all policies, and the other ones given, and return the results as a JSON document."""
    policies = [*map(policy_named, POLICIES[workload.name]), *others]
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as name,
        spark_session(settings={"spark.driver.memory": HEAP}) as spark,
    ):
        bench = Bench(workload, spark, Path(name))
        workload.write_tables(bench.folder)
        for turn in range(_WARM_UPS):
            on_stage(f"warming up, {turn + 1} of {_WARM_UPS}")
            engine = bench.run("fifo", Input.backlog(FIRST_RATE, BACKLOGS[0]))[0].engine
        backlogs: list[Work] = []
        capacity = bench.capacity(on_stage, backlogs)
        rate = LOAD * capacity
        rows = int(rate * seconds)
        on_stage(f"measuring the queries' own times at {rate:,.0f} rows/s")
        inputs = seeds(rate, rows)
        costs = fitted(engine.plan.network, backlogs)
        known = costs if workload.begins_with_costs else None
        engine = bench.run("fifo", Input(rate, rows, next(inputs)), known)[0].engine
        own_s = {each: engine.costs.ideal_s(engine.plan.network, each) for each in workload.queries}
        model = Model.of(engine, workload, rate, own_s, costs)
        runs, predicted = [], []
        for turn in range(repeat):
            seed = next(inputs)
            times = take(Bursty(rate, FLOWS), seed, rows)
            for policy in policies if turn % 2 == 0 else policies[::-1]:
                on_stage(f"{policy.name}, {turn + 1} of {repeat}")
                run = bench.run(policy, Input(rate, rows, seed), known)
                runs.append(_fared(*run, policy.name, seed, own_s, workload))
                on_stage(f"{policy.name}, {turn + 1} of {repeat}: simulating")
                predicted.append(model.run(workload, policy, times, seed))
    _check(runs, by_time=bool(workload.groups))
    figures, foreseen = means([asdict(run) for run in runs]), means(predicted)
    return {
        "benchmark": "policies",
        "workload": workload.name,
        "machine": described(HEAP),
        "queries": len(workload.queries),
        "capacity_rows_per_s": capacity,
        "offered_rows_per_s": rate,
        "seconds": seconds,
        "own_times_s": own_s,
        "runs": [asdict(run) for run in runs],
        "policies": figures,
        "prediction": {
            "job_setup_s": model.setup_s,
            "runs": predicted,
            "policies": foreseen,
            "orders": compared(figures, foreseen),
        },
        "comparisons": [each.as_dict() for each in comparisons(runs, workload.quickest)],
    }


def _fared(
    runtime: Runtime,
    closes: CloseResponses,
    policy: str,
    seed: int,
    own_s: Mapping[str, float],
    workload: Workload,
) -> PolicyRun:
    summary = runtime.summary()
    responses = {name: runtime.engine.recorder.queries[name].response for name in own_s}
    found = {
        name: QueryResults(each.count, each.total, each.squares, each.most) for name, each in responses.items()
    }
    kinds = by_kind(found, own_s, workload.kinds)
    if AGGREGATES in kinds:
        kinds[AGGREGATES]["p99_response"] = closes.p99
    return PolicyRun(
        **asdict(Fared.of(found, own_s)),
        policy=policy,
        seed=seed,
        outputs=int(sum(each.results for each in found.values())),
        seconds=summary.seconds,
        jobs=summary.jobs,
        utilization=summary.utilization,
        deciding=summary.deciding,
        kinds=kinds,
    )


def _check(runs: Sequence[PolicyRun], *, by_time: bool) -> None:
    """Raise if a policy changed the results.

    Rows of a run have its times, to which windows are aligned. So their results may differ a little between runs.
    """
    for seed in {run.seed for run in runs}:
        found = {run.policy: run.outputs for run in runs if run.seed == seed}
        most = max(found.values())
        if min(found.values()) < most * (1 - _STRAY_RESULTS if by_time else 1):
            raise RunError(f"the policies do not agree on the number of results: {found}")


_STRAY_RESULTS = 0.005
"""A share of results that windows may have more or less of, if rows are some milliseconds earlier or later."""


def comparisons(runs: Sequence[PolicyRun], quickest: str = "hr") -> list[Comparison]:
    """Return the required comparisons: the paper's order of policies, on Spark."""
    mean = {each["policy"]: each for each in means([asdict(run) for run in runs])}
    best = min(("hnr", "bsd"), key=lambda name: mean[name]["avg_slowdown"])
    others = ("fifo", "round_robin")
    return [
        *(_below(mean, "avg_slowdown", "average slowdown", best, other) for other in others),
        *(_below(mean, "avg_response", "average response", quickest, other) for other in others),
    ]


def _below(mean: Mapping[str, Mapping[str, Any]], key: str, words: str, policy: str, other: str) -> Comparison:
    ratio = mean[policy][key] / mean[other][key]
    return Comparison(f"{words} of {policy} ÷ that of {other}", "at most", 1.0, ratio)
