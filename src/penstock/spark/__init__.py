"""The runtime on Apache Spark: logs, units, jobs, sources and sinks."""

from penstock.spark.api import Results, Running, run, started
from penstock.spark.results import read

__all__ = ["Results", "Running", "read", "run", "started"]
