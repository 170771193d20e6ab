"""Runs one case in a process of its own: warms up, then drains the input again and again.

``python -m penstock.bench.scale.worker`` reads a spec from stdin. Input is made before, and results are read by
another process, so that memory and CPU time are the system's own.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.bench.machine import own_peak_bytes
from penstock.bench.processes import Reporter, in_a_process
from penstock.bench.scale.case import ScaleCase
from penstock.bench.scale.systems import DRAINS, DrainTask, opened_session
from penstock.bench.scale.usage import CpuSample, FileScans
from penstock.runtime.rows.driver_traffic import TRAFFIC

WARM_UPS, WARM_UP_S = 12, 15.0
"""Drains before any is measured: so many, or as many as there are in these seconds. A drain of 20 million rows
through one filter takes 1.0 s in a new Java, 0.7 s the sixth time and 0.55 s after some ten."""
CHECK_S = 600.0
"""How long results may take to be read."""


def main() -> None:
    """Run the case that stdin has."""
    spec = json.load(sys.stdin)
    reporter = Reporter()
    case = ScaleCase.of(spec["case"])
    folder = Path(spec["folder"])
    with opened_session(case.system, spec["heap"], spec["master"], spec["settings"]) as spark:
        _warm_up(spark, case, folder, reporter)
        scans = FileScans(spark)
        scans.since_last()
        drains = []
        for number in range(case.repeat):
            reporter.stage(f"drain {number + 1} of {case.repeat}")
            out = folder / "out" / f"drain{number}"
            measured = _measured(spark, case, folder / "in", out, spec["worker_pids"])
            # Spark's page lags a little: reading the results first gives it time
            found = _found(case, out)
            drains.append({"measured": {**measured, "files_read": scans.since_last()}, "found": found})
        reporter.result({"drains": drains, "peak_bytes": own_peak_bytes(os.getpid()) or None})
        os._exit(0)


def _warm_up(spark: SparkSession, case: ScaleCase, folder: Path, reporter: Reporter) -> None:
    """Drain the input until Java has compiled what the measured drains run: a smaller one takes other paths."""
    began = time.perf_counter()
    for number in range(WARM_UPS):
        reporter.stage(f"warm-up {number + 1}")
        out = folder / "out" / f"warm{number}"
        DRAINS[case.system](spark, _task(case, folder / "in"), out)
        shutil.rmtree(out)
        if time.perf_counter() - began > WARM_UP_S:
            break


def _task(case: ScaleCase, files: Path) -> DrainTask:
    settings = {} if case.place is None else {"rows": case.place}
    has_state = case.system == "penstock-state"
    return DrainTask(case.queries, files, case.input.file_format, settings, has_state)


def _measured(
    spark: SparkSession, case: ScaleCase, files: Path, out: Path, worker_pids: list[int]
) -> dict[str, Any]:
    """Drain the files once, and return what it took."""
    cpu, traffic = CpuSample(worker_pids), TRAFFIC.snapshot()
    began = time.perf_counter()
    committed = DRAINS[case.system](spark, _task(case, files), out)
    ended = time.perf_counter()
    passed = {name: count - traffic[name] for name, count in TRAFFIC.snapshot().items()}
    times = {"seconds": (committed or ended) - began, "ended_s": ended - began}
    return {**times, "traffic": passed, **cpu.until(CpuSample(worker_pids))}


def _found(case: ScaleCase, out: Path) -> dict[str, Any]:
    """Return the results that are in a folder, and remove it."""
    spec = {
        "out": str(out),
        "system": case.system,
        "queries": list(case.queries.spark()),
        "hashed": case.queries.hashed,
    }
    return in_a_process("penstock.bench.scale.check", spec, limit_s=CHECK_S, on_stage=lambda text: None)


if __name__ == "__main__":
    main()
