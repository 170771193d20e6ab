"""The benchmark of policies: measures the capacity of the queries, then runs each policy at 90 % of it."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from penstock.bench.comparisons import Comparison
from penstock.bench.discarding_sink import Nowhere
from penstock.bench.machine import described
from penstock.bench.policies.workload import queries, script, seeds, write_tables
from penstock.errors import RunError
from penstock.language.script import Script
from penstock.policies import Policy, policy_named
from penstock.runtime.loop import Runtime
from penstock.runtime.options import RunOptions
from penstock.spark.backend import spark_runtime
from penstock.spark.session import spark_session

POLICIES = ("fifo", "round_robin", "hr", "hr.plain()", "hnr", "hnr.plain()", "bsd", "bsd.plain()", "brt")
"""The policies compared; `plain` ignores the set-up cost of a job."""
LOAD = 0.9
"""Offered load, as a share of the capacity of the queries."""
BACKLOGS = (10_000, 40_000)
"""Sizes of two backlogs, from whose times the cost of one more row follows."""
AT_ONCE = 1e7
"""Rows per second, of a backlog."""
HEAP = "4g"
ONE_BY_ONE = "SET quantum = '0 s';"

Stage = Callable[[str], object]


@dataclass(frozen=True)
class PolicyRun:
    """The metrics of a run under a policy; slowdown is response ÷ the query's own time, the same for all runs."""

    policy: str
    seed: int
    outputs: int
    seconds: float
    jobs: int
    utilization: float
    deciding: float
    avg_response: float
    max_response: float
    l2_response: float
    avg_slowdown: float
    max_slowdown: float
    l2_slowdown: float


def measured(seconds: float, repeat: int, on_stage: Stage, others: Sequence[Policy] = ()) -> dict[str, Any]:
    """Run all policies, and the other ones given, and return the results as a JSON document."""
    compared = [*map(policy_named, POLICIES), *others]
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as name,
        spark_session(settings={"spark.driver.memory": HEAP}) as spark,
    ):
        folder = Path(name)
        write_tables(folder)
        on_stage("warming up")
        _drained(spark, folder, BACKLOGS[0])
        on_stage("measuring the capacity of the queries")
        short, long = (min(_drained(spark, folder, rows) for _ in range(2)) for rows in BACKLOGS)
        capacity = (BACKLOGS[1] - BACKLOGS[0]) / (long - short)
        rate = LOAD * capacity
        rows = int(rate * seconds)
        on_stage(f"measuring the queries' own times at {rate:,.0f} rows/s")
        inputs = seeds(rate, rows)
        costs = _ran(spark, folder, "fifo", rate=rate, rows=rows, seed=next(inputs)).engine
        ideals = {each: costs.costs.ideal_s(costs.plan.network, each) for each in queries()}
        runs = []
        for turn in range(repeat):
            seed = next(inputs)
            order = compared if turn % 2 == 0 else compared[::-1]
            for policy in order:
                on_stage(f"{policy.name}, {turn + 1} of {repeat}")
                run = _ran(spark, folder, policy, rate=rate, rows=rows, seed=seed)
                runs.append(_fared(run, policy.name, seed, ideals))
    _check(runs)
    return {
        "benchmark": "policies",
        "machine": described(HEAP),
        "queries": len(ideals),
        "capacity_rows_per_s": capacity,
        "offered_rows_per_s": rate,
        "seconds": seconds,
        "own_times_s": ideals,
        "runs": [asdict(run) for run in runs],
        "policies": _means(runs),
        "comparisons": [each.as_dict() for each in comparisons(runs)],
    }


def _drained(spark: SparkSession, folder: Path, rows: int) -> float:
    """Return the seconds that it takes to process `rows` rows that arrive at once."""
    return _ran(spark, folder, "fifo", rate=AT_ONCE, rows=rows, seed=1).summary().seconds


def _ran(spark: SparkSession, folder: Path, policy: str | Policy, *, rate: float, rows: int, seed: int) -> Runtime:
    text = script(folder, rate=rate, rows=rows, seed=seed, settings=ONE_BY_ONE)
    program = Script.parse(text)
    options = RunOptions.of(program, policy=policy, drain=True)
    runtime = spark_runtime(program, spark, [Nowhere()], folder, options)
    summary = runtime.run()
    if summary.failed:
        raise RunError(f"a query failed: {summary.queries[summary.failed[0]].reason}")
    return runtime


def _fared(runtime: Runtime, policy: str, seed: int, ideals: Mapping[str, float]) -> PolicyRun:
    summary = runtime.summary()
    recorded = runtime.engine.recorder.queries
    counts = np.array([recorded[name].response.count for name in ideals], dtype=float)
    own = np.array(list(ideals.values()))
    totals = np.array([recorded[name].response.total for name in ideals])
    squares = np.array([recorded[name].response.squares for name in ideals])
    most = np.array([recorded[name].response.most for name in ideals])
    return PolicyRun(
        policy=policy,
        seed=seed,
        outputs=int(counts.sum()),
        seconds=summary.seconds,
        jobs=summary.jobs,
        utilization=summary.utilization,
        deciding=summary.deciding,
        avg_response=float(totals.sum() / counts.sum()),
        max_response=float(most.max()),
        l2_response=float(np.sqrt(squares.sum())),
        avg_slowdown=float((totals / own).sum() / counts.sum()),
        max_slowdown=float((most / own).max()),
        l2_slowdown=float(np.sqrt((squares / own**2).sum())),
    )


def _check(runs: Sequence[PolicyRun]) -> None:
    """Raise if a policy changed the results."""
    for seed in {run.seed for run in runs}:
        found = {run.policy: run.outputs for run in runs if run.seed == seed}
        if len(set(found.values())) > 1:
            raise RunError(f"the policies do not agree on the number of results: {found}")


def _means(runs: Sequence[PolicyRun]) -> list[dict[str, Any]]:
    """Return the mean of the runs of every policy."""
    found = []
    for policy in dict.fromkeys(run.policy for run in runs):
        some = [asdict(run) for run in runs if run.policy == policy]
        keys = [key for key in some[0] if key not in ("policy", "seed")]
        found.append({"policy": policy, **{key: float(np.mean([each[key] for each in some])) for key in keys}})
    return found


def comparisons(runs: Sequence[PolicyRun]) -> list[Comparison]:
    """Return the required comparisons: the paper's order of policies, on Spark."""
    mean = {each["policy"]: each for each in _means(runs)}
    best = min(("hnr", "bsd"), key=lambda name: mean[name]["avg_slowdown"])
    others = ("fifo", "round_robin")
    return [
        *(_below(mean, "avg_slowdown", "average slowdown", best, other) for other in others),
        *(_below(mean, "avg_response", "average response", "hr", other) for other in others),
    ]


def _below(mean: Mapping[str, Mapping[str, Any]], key: str, words: str, policy: str, other: str) -> Comparison:
    ratio = mean[policy][key] / mean[other][key]
    return Comparison(f"{words} of {policy} ÷ that of {other}", "at most", 1.0, ratio)
