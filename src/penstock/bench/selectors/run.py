"""Runs every workload under every single policy and every selector; computes the regret of the selectors.

    loss = weighted geometric mean of what is to be small, and of one over what is to be large
    regret = loss of the selector ÷ loss of the best single policy on the same tuples − 1

Statistics are over the time in which tuples arrive, from the first one on: a selector's first round counts. Tuples
that wait at the end count as if they were served then. Where goals change, the loss is the geometric mean over
their times.
"""

import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean
from typing import Any

from penstock.bench.comparisons import Comparison
from penstock.bench.machine import described
from penstock.bench.selectors.workloads import SelectorWorkload, workloads
from penstock.qos import SELECTORS, Chosen, Goals, Selection, Statistics, merged
from penstock.simulator.simulate import simulate

SEEDS, SECONDS = (1, 2, 3), 240.0
QUICK_SEEDS, QUICK_SECONDS = (1,), 60.0
OWN, PAPERS = "foresight", "roulette"
MEAN_AT_MOST, WORSE_AT_MOST = 5.0, 2.0
FEWEST = 20

OnStage = Callable[[str, float], object]
"""Called with what has finished, and the share that is done."""


def loss_of(chosen: Chosen, phases: Sequence[tuple[float, Goals]]) -> float:
    """Return the loss of a run, whose goals began at these times."""
    total = seconds = 0.0
    ends = [*(start for start, _ in phases[1:]), math.inf]
    for (start, goals), end in zip(phases, ends, strict=True):
        intervals = [look.interval for look in chosen.looks if start < look.time <= end]
        if not intervals:
            continue
        whole = merged(intervals)
        loss = goals.loss(Statistics().with_pending(whole))
        if loss:
            total += whole.seconds * math.log(loss)
            seconds += whole.seconds
    return math.exp(total / seconds)


def compared(work: SelectorWorkload, seed: int, seconds: float) -> dict[str, Any]:
    """Run a workload once by every policy and every selector."""
    made = work.population(seed, seconds)
    times = made.times(seed, seconds=seconds)
    drifts = work.drift(made.network, seed, seconds)
    changes = [(share * seconds, Goals.of(goals)) for share, goals in work.changes]
    phases = [(-math.inf, Goals.of(work.goals)), *changes]

    def chosen(selector: str, candidates: Sequence[str]) -> tuple[Chosen, float, float]:
        selection = Selection(work.goals, selector, candidates, seed=seed, changes=changes)
        result = simulate(
            made.network, times, selection, seed, service=work.service, blocking=made.blocking, drifts=drifts
        )
        assert result.chosen is not None
        return result.chosen, loss_of(result.chosen, phases), result.elapsed

    singles = {name: chosen(PAPERS, (name,))[1] for name in work.candidates}
    best = min(singles, key=singles.__getitem__)
    selectors = {}
    for name in SELECTORS:
        run, loss, elapsed = chosen(name, work.candidates)
        selectors[name] = {
            "regret": 100 * (loss / singles[best] - 1),
            "most_used": run.most_used,
            "switches": run.switches,
            "seconds_of_computing": elapsed,
        }
    return {
        "seed": seed,
        "best": best,
        "singles": {name: 100 * (loss / singles[best] - 1) for name, loss in singles.items()},
        "selectors": selectors,
    }


def measured(*, quick: bool, traces: Path | None, on_stage: OnStage) -> dict[str, Any]:
    """Run all workloads, as many at a time as there are cores, and return the results as a JSON document."""
    seeds, seconds = (QUICK_SEEDS, QUICK_SECONDS) if quick else (SEEDS, SECONDS)
    planned = workloads(traces)
    tasks = [(place, seed) for seed in seeds for place in range(len(planned))]
    found: dict[int, list[dict[str, Any]]] = {}
    on_stage("compiling: a minute the first time", 0.0)
    for done, (place, run) in enumerate(_runs(tasks, traces, seconds), start=1):
        found.setdefault(place, []).append(run)
        on_stage(planned[place].name, done / len(tasks))
    rows = [_row(planned[place], sorted(found[place], key=lambda run: run["seed"])) for place in sorted(found)]
    return {
        "benchmark": "selectors",
        "machine": described(),
        "quick": quick,
        "seconds": seconds,
        "seeds": list(seeds),
        "traces": traces is not None,
        "workloads": rows,
        "selectors": {name: _summary(rows, name) for name in SELECTORS},
        "comparisons": [each.as_dict() for each in comparisons(rows)],
    }


def _runs(
    tasks: Sequence[tuple[int, int]], traces: Path | None, seconds: float
) -> Iterator[tuple[int, dict[str, Any]]]:
    _task(*tasks[0], traces, QUICK_SECONDS / 10)  # compiles, where that was never done
    workers = len(os.sched_getaffinity(0))
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        running = {pool.submit(_task, place, seed, traces, seconds): place for place, seed in tasks}
        for task in as_completed(running):
            yield running[task], task.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _task(place: int, seed: int, traces: Path | None, seconds: float) -> dict[str, Any]:
    return compared(workloads(traces)[place], seed, seconds)


def _row(work: SelectorWorkload, runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": work.name,
        "kind": work.kind,
        "queries": work.queries,
        "goals": [work.goals, *(goals for _, goals in work.changes)],
        "candidates": list(work.candidates),
        "regret": {name: mean(run["selectors"][name]["regret"] for run in runs) for name in SELECTORS},
        "runs": runs,
    }


def _summary(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float]:
    regrets = [row["regret"][name] for row in rows]
    runs = [run["selectors"][name] for row in rows for run in row["runs"]]
    return {
        "mean_regret": mean(regrets),
        "largest_regret": max(regrets),
        "beats_every_policy": mean(run["regret"] < 0 for run in runs),
        "most_used_is_best": mean(
            run["selectors"][name]["most_used"] == run["best"] for row in rows for run in row["runs"]
        ),
        "seconds_of_computing": mean(run["seconds_of_computing"] for run in runs),
    }


def comparisons(rows: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Return the required comparisons for Penstock's own selector."""
    behind = [row["regret"][OWN] - row["regret"][PAPERS] for row in rows]
    return [
        Comparison("workloads", "at least", FEWEST, len(rows)),
        Comparison(
            f"average regret of {OWN}, %; 0 where it beats every policy",
            "at most",
            MEAN_AT_MOST,
            mean(max(row["regret"][OWN], 0.0) for row in rows),
        ),
        Comparison(
            f"largest regret of {OWN} − {PAPERS}'s on one workload, %", "at most", WORSE_AT_MOST, max(behind)
        ),
    ]
