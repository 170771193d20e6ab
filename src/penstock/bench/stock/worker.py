"""Runs one case in a process of its own: starts the queries, warms up, feeds input, records the times.

``python -m penstock.bench.stock.worker`` reads a spec from stdin. Nothing else happens in this process: input is
made before, results are read afterwards, so that memory and processor are the system's own.
"""

import json
import os
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import SparkSession

from penstock.bench.machine import own_and_others_peak_bytes, peak_bytes
from penstock.bench.processes import Reporter
from penstock.bench.stock.case import OURS, StockCase
from penstock.bench.stock.penstock_system import PenstockSystem, penstock_session
from penstock.bench.stock.stock_systems import FanOut, Grouped, OneEach, stock_session
from penstock.bench.stock.workload import StockWorkload


class System(Protocol):
    """A system that runs the queries."""

    def start(self) -> None:
        """Start all queries."""

    def settle(self) -> None:
        """Return when all input so far is processed and written."""


def main() -> None:
    """Run the case that stdin has."""
    spec = json.load(sys.stdin)
    reporter = Reporter()
    case = StockCase(**spec["case"])
    began = time.time()
    with _session(case, spec["heap"]) as spark:
        session_s = time.time() - began
        reporter.stage("starting the queries")
        began = time.time()
        system = _system(case, case.made_workload(), spark, Path(spec["folder"]))
        system.start()
        register_s = time.time() - began
        times = fed(system, spec["batches"], reporter)
        peak = peak_bytes(os.getpid())
        found = {"session_s": session_s, "register_s": register_s, "batches": times, "peak_bytes": peak}
        reporter.result(found)
        os._exit(0)  # stopping fifty queries takes long, and is not measured


def _session(case: StockCase, heap: str) -> AbstractContextManager[SparkSession]:
    if case.system in OURS:
        return penstock_session(heap)
    return stock_session(heap, fair=case.system == "each-fair")


def _system(case: StockCase, workload: StockWorkload, spark: SparkSession, folder: Path) -> System:
    if case.system in OURS:
        return PenstockSystem(spark, workload, folder, has_state=case.system == "penstock-state")
    if case.system == "grouped":
        return Grouped(spark, workload, folder)
    if case.system == "fan-out":
        return FanOut(spark, workload, folder)
    return OneEach(spark, workload, folder, fair=case.system == "each-fair")


def fed(system: System, batches: list[dict[str, Any]], reporter: Reporter) -> list[dict[str, float]]:
    """Feed all batches, the warm-up first; return when each began and when the system reported it as processed.

    The peak memory so far is noted after each batch: of this process, and of those that it started.
    """
    times = []
    for batch in batches:
        reporter.stage(batch["stage"])
        start = time.time()
        late_s = _feed(batch["moves"], start)
        system.settle()
        noted = {"start": start, "settled": time.time(), "late_s": late_s}
        times.append({**noted, **own_and_others_peak_bytes(os.getpid())})
    return times


def _feed(moves: list[tuple[float, str, str]], start: float) -> float:
    """Rename files in, each when it is due; return by how much the latest was late."""
    late_s = 0.0
    for due_s, staged, target in moves:
        wait_s = start + due_s - time.time()
        if wait_s > 0:
            time.sleep(wait_s)
        late_s = max(late_s, time.time() - start - due_s)
        os.rename(staged, target)
    return late_s


if __name__ == "__main__":
    main()
