"""The heap of a local Spark: a share of the machine's memory, and how much of it one job's results may take."""

import os
import re
from pathlib import Path

from penstock.errors import RunError

MIB = 1024 * 1024
SHARE = 1 / 4
"""Of the machine's memory; Python holds rows and results as well, and is not in the heap."""
LEAST, MOST = 1024 * MIB, 16 * 1024 * MIB
SPARKS_OWN = 1024 * MIB
"""What Spark takes where nobody says anything."""
RESULTS_SHARE = 1 / 8
"""Of the heap, for the results of the jobs that run: a task holds its own three times over when it ends."""
MAX_RESULT_SHARE = 1 / 2
"""Of the heap, from which on Spark itself refuses what tasks bring (`spark.driver.maxResultSize`)."""
_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNITS = {"": MIB, "b": 1, "k": 1024, "m": MIB, "g": 1024 * MIB, "t": MIB * MIB}
_SAID_ELSEWHERE = ("driver-memory", "spark.driver.memory")


def machine_memory() -> int | None:
    """Return the bytes of memory of this machine, or what a container leaves of them; None if it does not say."""
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
    """Return the heap in bytes that a local Spark is given; None where the environment says it already."""
    said = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if os.environ.get("SPARK_DRIVER_MEMORY") or any(each in said for each in _SAID_ELSEWHERE):
        return None
    total = machine_memory()
    return LEAST if total is None else int(min(max(total * SHARE, LEAST), MOST))


def memory_bytes(text: str) -> int:
    """Return an amount of memory as Spark writes it, in bytes; a number alone is in MiB.

    >>> memory_bytes("4g"), memory_bytes("512MB"), memory_bytes("1024")
    (4294967296, 536870912, 1073741824)
    """
    found = re.fullmatch(r"(\d+)([bkmgt]?)b?", text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise RunError(f"{text!r} is not an amount of memory; expected e.g. 4g or 512m")
    return int(found[1]) * _UNITS[found[2]]


def as_setting(count: float) -> str:
    """Return bytes as a setting of Spark has them.

    >>> as_setting(1536 * 1024 * 1024)
    '1536m'
    """
    return f"{max(int(count // MIB), 1)}m"
