"""The heap of a local Spark driver: a share of the machine's memory, and the share for results of jobs."""

import os
import re
from pathlib import Path

from penstock.errors import RunError

MIB = 1024 * 1024
SHARE = 1 / 4
"""Share of the machine's memory for the heap; Python, outside the heap, also holds rows and results."""
LEAST, MOST = 1024 * MIB, 16 * 1024 * MIB
SPARK_DEFAULT = 1024 * MIB
"""Spark's default heap."""
RESULTS_SHARE = 1 / 8
"""Share of the heap for the results of running jobs: a task that ends holds its results three times."""
MAX_RESULT_SHARE = 1 / 2
"""Share of the heap above which Spark itself rejects results of tasks (`spark.driver.maxResultSize`)."""
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNITS = {"": MIB, "b": 1, "k": 1024, "m": MIB, "g": 1024 * MIB, "t": MIB * MIB}
_HEAP_OPTIONS = ("driver-memory", "spark.driver.memory")


def machine_memory() -> int | None:
    """Return the memory of this machine or container in bytes; None if it is unknown."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    for limit in _LIMITS:
        text = limit.read_text().strip() if limit.is_file() else ""
        if text.isdigit():
            total = min(total, int(text))
    return total


def default_heap() -> int | None:
    """Return the heap of a local Spark in bytes; None if the environment already sets it."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if os.environ.get("SPARK_DRIVER_MEMORY") or any(each in arguments for each in _HEAP_OPTIONS):
        return None
    total = machine_memory()
    return LEAST if total is None else int(min(max(total * SHARE, LEAST), MOST))


def memory_bytes(text: str) -> int:
    """Return the bytes of an amount of memory in Spark's notation; a number alone is in MiB.

    >>> memory_bytes("4g"), memory_bytes("512MB"), memory_bytes("1024")
    (4294967296, 536870912, 1073741824)
    """
    found = re.fullmatch(r"(\d+)([bkmgt]?)b?", text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise RunError(f"{text!r} is not an amount of memory; expected e.g. 4g or 512m")
    return int(found[1]) * _UNITS[found[2]]


def as_setting(count: float) -> str:
    """Return bytes in the notation of Spark's settings.

    >>> as_setting(1536 * 1024 * 1024)
    '1536m'
    """
    return f"{max(int(count // MIB), 1)}m"
