"""Settings of a new Spark session: what Penstock needs, the heap, and what a user gives."""

import re
from collections.abc import Mapping

from penstock.errors import RunError
from penstock.spark.driver_memory import MAX_RESULT_SHARE, MIB, as_setting, default_heap, memory_bytes

SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    # Rows reach tasks as Arrow: a filter of 50,000 rows took half the time of rows inside the plan
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    # Otherwise 33 paths or more start a job that lists them: 200 paths took 1.1 s instead of 0.14
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # Every Arrow batch is a task, and a task costs 8 ms, so Penstock partitions a job's rows itself. Results
    # come in such batches too, and a batch holds at most 2 GB of strings
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Times in files that executors write are whole microseconds with statistics; INT96 has none
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""What Penstock needs in every session; all of it can be set while the session runs."""

HEAP, MAX_RESULT, PACKAGES = "spark.driver.memory", "spark.driver.maxResultSize", "spark.jars.packages"
_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Every broadcast side of a join takes at least one page of memory, and Spark would choose 8 MB or more. Under
    # a steady load, uncollected memory fell from at most 42 MB to 6; small joins were 3 and 14 % faster in two
    # runs
    "spark.buffer.pageSize": "1m",
    # Spark would record the Python line of each column, with several calls to the JVM: the line is always ours
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_LEAST_HEAP = 512 * MIB
"""Spark does not start with less than about 450 MB."""


def as_texts(given: Mapping[str, object]) -> dict[str, str]:
    """Return settings as texts for Spark.

    >>> as_texts({"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 8})
    {'spark.ui.enabled': 'false', 'spark.sql.shuffle.partitions': '8'}
    """
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}


def session_conf(given: Mapping[str, str], master: str, remote: str | None) -> dict[str, str]:
    """Return all settings of a session; given ones override defaults, but not what Penstock needs."""
    check_conf(given, remote)
    if remote is not None:
        return {**SESSION_SETTINGS, **given}
    conf = {"spark.ui.showConsoleProgress": "false"}
    if master.startswith("local"):
        conf |= _LOCAL
        heap = default_heap()
        if heap is not None:
            conf[HEAP] = as_setting(heap)
    conf |= given
    if HEAP in conf:
        conf.setdefault(MAX_RESULT, as_setting(memory_bytes(conf[HEAP]) * MAX_RESULT_SHARE))
    return {**conf, **SESSION_SETTINGS}


def check_conf(given: Mapping[str, str], remote: str | None = None) -> None:
    """Raise an error if a setting is invalid, is fixed by Penstock, or is a heap too small for Spark."""
    for key, value in given.items():
        if not re.fullmatch(r"spark\.\S+", key):
            raise RunError(f"{key!r} is not a Spark setting; expected e.g. spark.sql.shuffle.partitions")
        if key in SESSION_SETTINGS and value != SESSION_SETTINGS[key]:
            raise RunError(f"{key} is always {SESSION_SETTINGS[key]!r} in Penstock and cannot be {value!r}")
        if remote is not None and not remote.startswith("local") and key in (HEAP, MAX_RESULT, PACKAGES):
            raise RunError(f"{key} belongs to the Spark Connect server: set it when you start the server")
    for key in (HEAP, MAX_RESULT):
        if key in given and not (key == MAX_RESULT and given[key] == "0"):
            try:
                count = memory_bytes(given[key])
            except RunError as error:
                raise RunError(f"{key}: {error}") from error
            if key == HEAP and count < _LEAST_HEAP:
                raise RunError(f"{key}: Spark does not start with {given[key]}; expected at least 512m")
    for package in filter(None, given.get(PACKAGES, "").split(",")):
        if not re.fullmatch(r"[^:\s]+:[^:\s]+:[^:\s]+", package):
            raise RunError(f"{package!r} is not a package; expected GROUP:ARTIFACT:VERSION")
