"""The runtime on Apache Spark: logs, units, jobs, sources and sinks."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.sinks.read import read
    from penstock.spark.api import Results, Running, run, started

__all__ = ["Results", "Running", "read", "run", "started"]

# PySpark is loaded when something that needs it is first asked for: `penstock explain` uses this package without
_LATER = {
    "Results": "penstock.spark.api",
    "Running": "penstock.spark.api",
    "read": "penstock.sinks.read",
    "run": "penstock.spark.api",
    "started": "penstock.spark.api",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = found
    return found
