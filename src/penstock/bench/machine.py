"""The machine that a benchmark runs on, and the peak memory of its processes."""

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from penstock.bench.processes import children

SHARED_MEMORY = Path("/dev/shm")


def described(heap: str | None = None) -> dict[str, Any]:
    """Return hardware and versions, to judge the figures by; `heap` is Java's, None without Spark."""
    return {
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "processor": _first(Path("/proc/cpuinfo"), r"model name\s*:\s*(.+)") or platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "penstock": version("penstock"),
        "java_heap": heap,
        "folders_in_memory": folders_in_memory(),
    }


def folders_in_memory() -> bool:
    """Return whether there is a folder in memory, which no disk slows down."""
    return SHARED_MEMORY.is_dir() and os.access(SHARED_MEMORY, os.W_OK)


def scratch() -> str | None:
    """Return the folder in which temporary folders are made; None for the system's own."""
    return str(SHARED_MEMORY) if folders_in_memory() else None


def peak_bytes(pid: int) -> int | None:
    """Return the sum of the peak memory of a process and its children; None where none is recorded."""
    both = own_and_others_peak_bytes(pid)
    return sum(both.values()) if both["own_peak_bytes"] else None


def own_and_others_peak_bytes(pid: int) -> dict[str, int]:
    """Return the peak memory of a process, and the sum of its children's: of a worker, Python's and Java's."""
    # A child that has just ended counts 0
    others = sum(own_peak_bytes(each) for each in children(pid))
    return {"own_peak_bytes": own_peak_bytes(pid), "others_peak_bytes": others}


def own_peak_bytes(pid: int) -> int:
    """Return the peak memory of a process alone; 0 where none is recorded."""
    return _high_water(_status(pid))


def _high_water(status: str) -> int:
    r"""Return the peak that the text of a process's status has, in bytes.

    >>> _high_water("Name:\tjava\nVmHWM:\t    1024 kB\n")
    1048576
    """
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def _first(file: Path, pattern: str) -> str | None:
    try:
        found = re.search(pattern, file.read_text())
    except OSError:
        return None
    return found[1].strip() if found else None


def in_words(machine: Mapping[str, Any]) -> str:
    """Return a machine in a line.

    >>> in_words({"cores": 2, "memory_bytes": 24e9, "processor": "Xeon", "pyspark": "4.1", "java_heap": "4g"})
    'Xeon, 2 cores, 24 GB; PySpark 4.1, Java heap 4g'
    """
    memory = f", {machine['memory_bytes'] / 1e9:.0f} GB" if machine.get("memory_bytes") else ""
    place = f"{machine['processor']}, {machine['cores']} cores{memory}"
    return f"{place}; PySpark {machine['pyspark']}, Java heap {machine['java_heap']}"
