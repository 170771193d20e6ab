"""The benchmark as a whole: runs the cases, each in a process of its own, and evaluates them."""

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from penstock.bench.machine import described, scratch
from penstock.bench.processes import in_a_process
from penstock.bench.stock import guarantees
from penstock.bench.stock.case import CaseResult, MeasuredRun, StockCase
from penstock.bench.stock.case_list import load_source
from penstock.bench.stock.claims import comparisons
from penstock.bench.stock.inputs import Batch, Inputs
from penstock.bench.stock.outputs import READERS, between, responses_since, totals
from penstock.bench.stock.workload import StockWorkload, row_queries
from penstock.bench.weighted_statistics import Responses
from penstock.errors import RunError

HEAP = "4g"
"""Java's heap, the same for all systems."""

LIMIT_S = 1800.0
"""A case that takes longer has failed."""

CLOCK_S = 0.05
"""Tolerance between the time of a file and the clock."""

Stage = Callable[[str], object]


def run_cases(
    cases: Iterable[StockCase],
    on_stage: Stage,
    on_case: Callable[[CaseResult], object],
    on_begin: Callable[[str], object] = lambda name: None,
    limit_s: float = LIMIT_S,
) -> None:
    """Run cases one after the other and report each result; paced ones take their load from earlier ones."""
    rates: dict[StockCase, float] = {}
    for case in cases:
        on_begin(case.name)
        source = load_source(case)
        if source is not None and source not in rates:
            measured = CaseResult(
                case, "failed", "its load is a share of the rate that stock drained, and that case failed"
            )
        else:
            offered = None if source is None else case.load * rates[source]
            measured = measure(case, offered, on_stage, limit_s)
        if measured.status == "ok" and measured.rows_per_s:
            rates[case] = measured.rows_per_s
        on_case(measured)


def measure(case: StockCase, offered: float | None, on_stage: Stage, limit_s: float = LIMIT_S) -> CaseResult:
    """Make the input of a case, run it in a process, and evaluate its output."""
    began = time.monotonic()
    where = None if case.on_disk else scratch()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", dir=where, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        on_stage("making the input")
        workload = case.made_workload()
        inputs = Inputs(workload, folder, case.seed)
        batches = _batches(case, inputs, offered)
        spec = {
            "case": asdict(case),
            "heap": HEAP,
            "folder": name,
            "batches": [{"stage": stage, "moves": batch.moves} for stage, batch in batches],
        }
        try:
            on_stage("starting Spark")
            found = in_a_process("penstock.bench.stock.worker", spec, limit_s=limit_s, on_stage=on_stage)
        except RunError as error:
            return CaseResult(case, "failed", str(error), offered=offered, took_s=time.monotonic() - began)
        on_stage("reading the output")
        measured = _evaluated(case, workload, inputs, [batch for _, batch in batches], found, folder / "out")
    return replace(measured, offered=offered, took_s=time.monotonic() - began)


def _batches(case: StockCase, inputs: Inputs, offered: float | None) -> list[tuple[str, Batch]]:
    """Return the input batches: warm-up files one by one, then the measured part as often as it is repeated.

    They are made in the order in which they are fed, as event times must rise. Windows are filled after the first.
    """
    batches = []
    for i in range(case.warm_files):
        batches.append((f"warm-up {i + 1}", inputs.backlog(1, case.file_rows)))
        if i == 0 and case.window_rows:
            batches.append(("filling the windows", inputs.backlog(1, 2 * case.window_rows)))
    for i in range(case.repeat):
        if case.feeding == "steady":
            batch = inputs.steady(case.file_rows, case.every_s, case.seconds)
        elif offered is None:
            batch = inputs.backlog(case.files, case.file_rows)
        else:
            batch = inputs.bursty(offered, case.seconds, case.seed + 100)
        batches.append((f"measured part {i + 1} of {case.repeat}", batch))
    return batches


def _evaluated(
    case: StockCase,
    workload: StockWorkload,
    inputs: Inputs,
    batches: list[Batch],
    found: dict[str, Any],
    out: Path,
) -> CaseResult:
    """Compare results with the expected ones; if they agree, compute the figures of each measured part."""
    outputs = list(READERS[case.system](out))
    wrong = _difference(inputs.expected(), totals(outputs))
    if wrong:
        return CaseResult(case, "wrong", wrong)
    times = found["batches"]
    ends = [*(each["start"] for each in times[1:]), math.inf]
    runs = []
    for batch, noted, end in list(zip(batches, times, ends, strict=True))[-case.repeat :]:
        start = noted["start"]
        files = between(outputs, start, end)
        last = max((output.committed for output in files), default=start) - start
        figures = responses_since(files, start, batch.sent_us)
        if figures.outputs != batch.outputs:
            came = f"{figures.outputs:,} results came in a part that has {batch.outputs:,}"
            return CaseResult(case, "wrong", f"{came}: the system reported too early that all was processed")
        if figures.min is not None and figures.min < -CLOCK_S:
            came = f"a result came {-figures.min:.2f} s before its row"
            return CaseResult(case, "wrong", f"{came}: the times of arrival are wrong")
        runs.append(measured_run(batch, noted, last, row_queries(workload, batch.rows), figures))
    return CaseResult(
        case,
        "ok",
        "",
        tuple(runs),
        found["session_s"],
        found["register_s"],
        times[0]["settled"] - times[0]["start"],
        found["peak_bytes"],
    )


def measured_run(
    batch: Batch, noted: Mapping[str, float], seconds: float, matched: int, figures: Responses
) -> MeasuredRun:
    """Return the figures of a measured part, given the seconds until its last result, and its responses."""
    return MeasuredRun(
        rows=sum(batch.rows.values()),
        row_queries=matched,
        outputs=figures.outputs,
        seconds=seconds,
        avg_response=figures.avg,
        median_response=figures.median,
        p95_response=figures.p95,
        p99_response=figures.p99,
        max_response=figures.max,
        behind_s=seconds - batch.moves[-1][0],
        feeder_late_s=noted["late_s"],
    )


def _difference(expected: dict[str, int], got: dict[str, int]) -> str:
    """Return a message about queries with a wrong number of results; an empty text if there are none.

    >>> _difference({"q0": 3, "q1": 2}, {"q0": 3, "q1": 1})
    '1 of 2 queries have a wrong number of results: q1 has 1, not 2'
    """
    wrong = [name for name, count in expected.items() if got.get(name, 0) != count]
    if not wrong:
        return ""
    some = ", ".join(f"{name} has {got.get(name, 0):,}, not {expected[name]:,}" for name in wrong[:3])
    return f"{len(wrong)} of {len(expected)} queries have a wrong number of results: {some}"


def document(measured: list[CaseResult], *, quick: bool, interrupted: bool, seconds: float) -> dict[str, Any]:
    """Return all results of the benchmark as a JSON document."""
    return {
        "benchmark": "stock",
        "machine": described(HEAP),
        "quick": quick,
        "interrupted": interrupted,
        "seconds": seconds,
        "cases": [each.as_dict() for each in measured],
        "comparisons": [comparison.as_dict() for comparison in comparisons(measured)],
        **guarantees.as_dict(),
    }
