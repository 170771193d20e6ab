"""CPU time of the driver's and the executors' processes, and the files that Spark's jobs read."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

import psutil
from pyspark.sql import SparkSession

from penstock.bench.loopback import json_page
from penstock.bench.processes import children

_PAGE = 500
"""Executions asked for at a time."""
_FILES_READ = "number of files read"

CpuTimes = dict[int, float]
"""CPU seconds by process."""


def cpu_times(pids: Iterable[int]) -> CpuTimes:
    """Return the CPU seconds of processes; those that have ended are left out."""
    found = {}
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.NoSuchProcess:
            continue
        found[pid] = times.user + times.system
    return found


def spent(before: CpuTimes, after: CpuTimes) -> float:
    """Return the seconds between two samples; a process that started in between counts from 0.

    >>> spent({1: 2.0, 2: 1.0}, {1: 2.5, 3: 4.0})
    4.5
    """
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


class CpuSample:
    """CPU times now: of this Python, of its Java with all that it started, and of the executors of workers."""

    def __init__(self, worker_pids: list[int]) -> None:
        self._workers = worker_pids
        self._python = cpu_times([os.getpid()])
        self._java = cpu_times(children(os.getpid()))
        self._executors = cpu_times(pid for worker in worker_pids for pid in children(worker))

    def until(self, later: "CpuSample") -> dict[str, float | None]:
        """Return the seconds until a later sample; None for executors where the workers are not known."""
        return {
            "python_cpu_s": spent(self._python, later._python),
            "jvm_cpu_s": spent(self._java, later._java),
            "executor_cpu_s": spent(self._executors, later._executors) if self._workers else None,
        }


class FileScans:
    """Counts the files that jobs read, as Spark's status page says: independent of Penstock's own count."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/sql"
        self._next = 0

    def since_last(self) -> int | None:
        """Return the files that jobs read since the last call; None if the page does not know all jobs."""
        try:
            first = self._page(0, 1)
            if first and first[0]["id"] != 0:  # Spark has forgotten the oldest
                return None
            return sum(files_read(each) for each in self._new())
        except (OSError, ValueError):
            return None

    def _new(self) -> Iterator[dict[str, Any]]:
        """Yield the executions that were not seen before; their numbers have no gaps."""
        while page := self._page(self._next, _PAGE):
            yield from page
            self._next += len(page)

    def _page(self, offset: int, length: int) -> list[dict[str, Any]]:
        options = f"details=true&planDescription=false&offset={offset}&length={length}"
        found: list[dict[str, Any]] = json_page(f"{self._address}?{options}")
        return found


def files_read(execution: dict[str, Any]) -> int:
    """Return the files that all scans of an execution read.

    >>> files_read({"nodes": [{"metrics": [{"name": "number of files read", "value": "1,200"}]}, {}]})
    1200
    """
    metrics = [metric for node in execution.get("nodes", ()) for metric in node.get("metrics", ())]
    return sum(int(metric["value"].replace(",", "")) for metric in metrics if metric["name"] == _FILES_READ)
