"""Runs one case, or one half of a restarted case, in a process of its own.

``python -m penstock.bench.aggregates.worker`` reads a spec from stdin. Feeding is that of `bench/stock`.
"""

import json
import os
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.bench.aggregates.case import OURS, AggregateCase
from penstock.bench.aggregates.stock_systems import ROCKSDB, SETTINGS, Joined, OneEach, Panes
from penstock.bench.aggregates.workload import AggregateWorkload
from penstock.bench.processes import Reporter
from penstock.bench.stock.penstock_system import PenstockSystem, penstock_session
from penstock.bench.stock.stock_systems import stock_session
from penstock.bench.stock.worker import System, fed


def main() -> None:
    """Run the case that stdin has."""
    spec = json.load(sys.stdin)
    reporter = Reporter()
    case = AggregateCase(**spec["case"])
    with _session(case, spec["heap"]) as spark:
        reporter.stage("starting the queries")
        began = time.time()
        system = _system(case, case.made_workload(spec["offered"]), spark, Path(spec["folder"]))
        system.start()
        register_s = time.time() - began
        times = fed(system, spec["batches"], reporter)
        reporter.result({"register_s": register_s, "batches": times})
        os._exit(0)  # stopping fifty queries takes long; a restarted case goes on as after a crash


def _session(case: AggregateCase, heap: str) -> AbstractContextManager[SparkSession]:
    if case.system in OURS:
        return penstock_session(heap)
    store = ROCKSDB if case.system.endswith("-rocksdb") else {}
    return stock_session(heap, fair=case.system.endswith("-fair"), settings={**SETTINGS, **store})


def _system(case: AggregateCase, workload: AggregateWorkload, spark: SparkSession, folder: Path) -> System:
    if case.system in OURS:
        settings = {"groups": "false"} if case.system == "penstock-ungrouped" else {}
        has_state = case.system == "penstock-state"
        return PenstockSystem(spark, workload, folder, has_state=has_state, settings=settings)
    if case.system.startswith("joined"):
        return Joined(spark, workload, folder)
    if case.system.startswith("panes"):
        return Panes(spark, workload, folder)
    return OneEach(spark, workload, folder, fair=case.system == "each-fair")


if __name__ == "__main__":
    main()
