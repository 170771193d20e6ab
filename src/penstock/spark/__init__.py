"""The runtime on Apache Spark: sessions, jobs, sources, and `run` and `started` from Python."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.sinks.read import read
    from penstock.spark.api import Results, Running, run, started

__all__ = ["Results", "Running", "read", "run", "started"]

# PySpark is imported on first use: `penstock explain` uses this package without it
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
