"""The benchmark as a whole: runs the cases, each in processes of its own, and evaluates them."""

import math
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.aggregates.case import SYSTEMS, AggregateCase, AggregateResult
from penstock.bench.aggregates.case_list import load_source
from penstock.bench.aggregates.claims import comparisons
from penstock.bench.aggregates.how import HOW
from penstock.bench.aggregates.query_set import STREAM
from penstock.bench.aggregates.results import ResultReader, ResultTotals
from penstock.bench.aggregates.window_totals import Totals, added, difference, expected_totals
from penstock.bench.aggregates.workload import SWEEP, AggregateWorkload
from penstock.bench.machine import described, scratch
from penstock.bench.processes import in_a_process
from penstock.bench.stock.case import MeasuredRun
from penstock.bench.stock.inputs import Batch, InputFiles
from penstock.bench.stock.run import CLOCK_S, HEAP, Stage, measured_run
from penstock.bench.weighted_statistics import responses
from penstock.errors import RunError

LIMIT_S = 3600.0
"""A process that takes longer has failed."""
_NO_LOAD = "its load is a share of the rate that stock drained, and that case failed"


@dataclass(frozen=True)
class NamedBatch:
    """Input of a part: what it is called, whether it is measured, and its files."""

    stage: str
    measured: bool
    batch: Batch


@dataclass(frozen=True)
class RunListeners:
    """Functions that are told which case begins, what it does, and its result."""

    on_begin: Callable[[str], object]
    on_stage: Stage
    on_case: Callable[[AggregateResult], object]


def run_cases(cases: Iterable[AggregateCase], listeners: RunListeners, limit_s: float = LIMIT_S) -> None:
    """Run cases one after the other and report each result; paced ones take their load from earlier ones."""
    rates: dict[AggregateCase, float] = {}
    for case in cases:
        listeners.on_begin(case.name)
        source = load_source(case)
        if source is not None and source not in rates:
            measured = AggregateResult(case, "failed", _NO_LOAD)
        else:
            offered = None if source is None else case.load * rates[source]
            measured = measure(case, offered, listeners.on_stage, limit_s)
        if measured.status == "ok" and measured.rows_per_s:
            rates[case] = measured.rows_per_s
        listeners.on_case(measured)


def measure(
    case: AggregateCase, offered: float | None, on_stage: Stage, limit_s: float = LIMIT_S
) -> AggregateResult:
    """Make the input of a case, run it, and evaluate its output."""
    began = time.monotonic()
    where = None if case.on_disk else scratch()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=where, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        on_stage("making the input")
        workload = case.made_workload(offered)
        inputs = InputFiles(workload, folder, case.seed, workload.set.event_rate)
        batches = made_batches(case, workload, inputs, offered)
        spec = {"case": asdict(case), "heap": HEAP, "folder": name, "offered": offered}
        halves = _halves(batches) if case.restart else [batches]
        reader = ResultReader(case.system, folder / "out")
        found: list[dict[str, Any]] = []
        results: list[ResultTotals] = []
        try:
            for half in halves:
                on_stage("starting Spark again" if found else "starting Spark")
                fed = [{"stage": each.stage, "moves": each.batch.moves} for each in half]
                worker = "penstock.bench.aggregates.worker"
                found.append(in_a_process(worker, {**spec, "batches": fed}, limit_s=limit_s, on_stage=on_stage))
                on_stage("reading the output")
                results += reader.new_results()
        except RunError as error:
            took_s = time.monotonic() - began
            return AggregateResult(case, "failed", str(error), offered=offered, took_s=took_s)
        on_stage("computing what the results must be")
        expected = expected_totals(workload.aggregates, inputs.columns()[STREAM], case.keys)
        result = evaluated(case, expected, batches, found, results)
    return replace(result, offered=offered, took_s=time.monotonic() - began)


def made_batches(
    case: AggregateCase, workload: AggregateWorkload, inputs: InputFiles, offered: float | None
) -> list[NamedBatch]:
    """Return the input: warm-up files one by one, then the measured part as often as it is repeated.

    The last file of each that is drained is so much later that it closes all windows with rows before it.
    """
    closing_us = workload.set.largest_us
    made = [
        NamedBatch(f"warm-up {i + 1}", False, inputs.backlog(1, case.file_rows, closing_us, SWEEP))
        for i in range(case.warm_files)
    ]
    for i in range(case.repeat):
        if offered is None:
            batch = inputs.backlog(case.files, case.file_rows, closing_us, SWEEP)
        else:
            batch = inputs.steady(max(round(offered * case.every_s), 1), case.every_s, case.seconds)
        made.append(NamedBatch(f"measured part {i + 1} of {case.repeat}", True, batch))
    return made


def _halves(batches: Sequence[NamedBatch]) -> list[Sequence[NamedBatch]]:
    """Return what is fed before a restart, and afterwards."""
    middle = len(batches) - sum(each.measured for each in batches) // 2
    return [batches[:middle], batches[middle:]]


def evaluated(
    case: AggregateCase,
    expected: Totals,
    batches: Sequence[NamedBatch],
    found: Sequence[Mapping[str, Any]],
    results: Sequence[ResultTotals],
) -> AggregateResult:
    """Compare results with the expected ones; if they agree, compute the figures of each measured part."""
    wrong = difference(expected, added(each.totals for each in results))
    if wrong:
        return AggregateResult(case, "wrong", wrong)
    times = [noted for each in found for noted in each["batches"]]
    ends = [*(each["start"] for each in times[1:]), math.inf]
    runs = []
    newest_before = -math.inf
    for each, noted, end in zip(batches, times, ends, strict=True):
        if each.measured:
            files = [file for file in results if noted["start"] <= file.committed < end]
            newest = each.batch.newest_us[-1]
            closing = {window for window in expected if newest_before < window.end_us <= newest}
            if closing != {window for file in files for window in file.totals}:
                reason = "results came in another part: the system reported too early that all was processed"
                return AggregateResult(case, "wrong", reason)
            if not closing:
                return AggregateResult(case, "failed", "no window of a part has results: it has too few rows")
            run, earliest_s = _run(case, each.batch, noted, files)
            if earliest_s < -CLOCK_S:
                reason = f"a result came {-earliest_s:.2f} s before its window closed"
                return AggregateResult(case, "wrong", reason)
            runs.append(run)
        newest_before = each.batch.newest_us[-1]
    peaks = _peaks(batches, found)
    return AggregateResult(
        case,
        "ok",
        "",
        tuple(runs),
        found[0]["register_s"],
        found[-1]["register_s"] if case.restart else None,
        peaks,
        max(noted["others_peak_bytes"] for noted in times),
    )


def _run(
    case: AggregateCase, batch: Batch, noted: Mapping[str, float], files: Sequence[ResultTotals]
) -> tuple[MeasuredRun, float]:
    """Return the figures of a part, and the seconds from close to result of the earliest."""
    start = noted["start"]
    last = max(file.committed for file in files) - start
    values, weights = [], []
    for file in files:
        for window, total in file.totals.items():
            # The first file with a time at or after the end moved the watermark past it
            closed_s = batch.moves[bisect_left(batch.newest_us, window.end_us)][0]
            values.append(file.committed - start - closed_s)
            weights.append(total.rows)
    figures = responses(np.array(values), np.array(weights, np.int64))
    assert figures.min is not None
    count = sum(batch.rows.values()) * case.count
    return measured_run(batch, noted, last, count, figures), figures.min


def _peaks(batches: Sequence[NamedBatch], found: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, ...], ...]:
    """Return the peak memory of Python after each measured part, by process."""
    peaks = []
    place = 0
    for each in found:
        own = batches[place : place + len(each["batches"])]
        noted = zip(own, each["batches"], strict=True)
        peaks.append(tuple(int(one["own_peak_bytes"]) for batch, one in noted if batch.measured))
        place += len(each["batches"])
    return tuple(peaks)


def document(
    measured: Sequence[AggregateResult], *, quick: bool, interrupted: bool, seconds: float
) -> dict[str, Any]:
    """Return all results of the benchmark as a JSON document."""
    return {
        "benchmark": "aggregates",
        "machine": described(HEAP),
        "quick": quick,
        "interrupted": interrupted,
        "seconds": seconds,
        "systems": SYSTEMS,
        "cases": [each.as_dict() for each in measured],
        "comparisons": [comparison.as_dict() for comparison in comparisons(measured)],
        "how": list(HOW),
    }
