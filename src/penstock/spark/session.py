"""Spark sessions: made quietly, on loopback, with a clear word where Java is missing."""

import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.errors import RunError
from penstock.spark.reachable import check_reachable

LEAST_JAVA = 17

SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    # Rows stay Arrow on their way in: 50,000 through a filter took half the time of rows in the plan itself
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    # Every batch of Arrow rows is a task, and a task costs 8 ms: Penstock cuts a job's rows itself. Results come
    # in such batches too, and a batch holds 2 GB of strings at most
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}
"""What Penstock needs of any session; all can be set while it runs."""

_LOCAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Every broadcast side of a join takes a page of memory at least, of 8 MB or more if Spark chooses. Under a
    # steady load what waited to be collected fell from 42 MB at most to 6; small joins were 3 and 14 % faster in
    # two runs
    "spark.buffer.pageSize": "1m",
    # Spark would note the line of Python that made each column, with several calls to the JVM: it is always ours
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_JAVA_HELP = (
    "To get it: apt install openjdk-17-jre-headless (Debian, Ubuntu), "
    "dnf install java-17-openjdk-headless (Fedora), brew install openjdk@17 (macOS); or point JAVA_HOME at one"
)


def java_version() -> tuple[str | None, int | None]:
    """Return the path of Java and its main version; None where there is none, or it does not answer."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if path is None:
        return None, None
    try:
        said = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return path, None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if found is None:
        return path, None
    first, second = int(found[1]), int(found[2] or 0)
    return path, second if first == 1 else first


def check_java() -> None:
    """Raise unless there is a Java that Spark can run on."""
    path, version = java_version()
    if path is None:
        found = "JAVA_HOME is set, and has none" if os.environ.get("JAVA_HOME") else "no Java was found"
    elif version is None:
        found = f"the one at {path} does not say its version"
    elif version < LEAST_JAVA:
        found = f"the one at {path} is {version}"
    else:
        return
    raise RunError(f"Spark needs Java {LEAST_JAVA} or newer; {found}. {_JAVA_HELP}")


@contextmanager
def spark_session(
    master: str | None = None,
    remote: str | None = None,
    *,
    noise: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Open a session for the time of a run, and stop it afterwards.

    Without `master` and `remote` it is local, with as many threads as there are cores. What Spark and its Java
    say goes to a file that is shown if the start fails, unless `noise` is wanted.
    """
    if master and remote:
        raise RunError("give a master or a remote, not both")
    if SparkSession.getActiveSession() is not None:
        raise RunError("a Spark session runs in this process already: pass it on with spark=…, or stop it first")
    check_reachable(remote or master or "")
    if remote is None or remote.startswith("local"):
        check_java()
    master = master or "local[*]"
    builder = SparkSession.builder.appName("penstock")
    if remote is not None:
        builder = builder.remote(remote)
    else:
        builder = builder.master(master).config("spark.ui.showConsoleProgress", "false")
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for key, value in _LOCAL.items():
                builder = builder.config(key, value)
    for key, value in {**SESSION_SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    # Executors must run the same Python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    where = remote or master
    with _quiet(noise) as said:
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            raise RunError(f"Spark could not be started on {where}: {_short(error)}{said()}") from error
    try:
        if not noise and remote is None:
            spark.sparkContext.setLogLevel("OFF")
        with _hushed(noise):
            yield spark
    finally:
        with contextlib.suppress(Exception):  # it may have gone
            spark.stop()


@contextmanager
def _quiet(noise: bool) -> Iterator[Callable[[], str]]:
    """Send what child processes that start meanwhile will ever write to stderr into a file; Python's own stays."""
    if noise:
        yield lambda: ""
        return
    with tempfile.TemporaryFile("w+b") as file:
        kept = os.dup(2)
        sys.stderr.flush()
        python_stderr = sys.stderr
        os.dup2(file.fileno(), 2)
        sys.stderr = os.fdopen(os.dup(kept), "w", buffering=1, errors="replace")

        def said() -> str:
            file.seek(0)
            lines = file.read()[-4000:].decode(errors="replace").strip().splitlines()
            return "\nSpark said:\n  " + "\n  ".join(lines[-8:]) if lines else ""

        try:
            yield said
        finally:
            sys.stderr.flush()
            sys.stderr.close()
            sys.stderr = python_stderr
            os.dup2(kept, 2)
            os.close(kept)


@contextmanager
def _hushed(noise: bool) -> Iterator[None]:
    """Keep PySpark from logging every error of a job with its Java stack: Penstock says it in a line."""
    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    levels = [logger.level for logger in loggers]
    for logger in loggers if not noise else ():
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _short(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


@contextmanager
def prepared(spark: SparkSession) -> Iterator[None]:
    """Set what Penstock needs of a session that somebody else made, and set it back afterwards."""
    before = {key: spark.conf.get(key, None) for key in SESSION_SETTINGS}
    for key, value in SESSION_SETTINGS.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def slots_of(spark: SparkSession) -> int:
    """Return how many tasks can run at the same time, as far as a session says; a Connect server does not."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Connect has no context
        return 2


def check_alive(spark: SparkSession) -> None:
    """Raise if Spark itself has gone, which is nobody's rows' fault."""
    try:
        spark.range(1).count()
    except Exception as error:
        raise RunError(f"Spark does not answer any more: {explained(error)}") from error


def explained(error: BaseException) -> str:
    """Return what went wrong in a job, in a line: Spark's own condition and message, without its stack."""
    text = str(error)
    found = re.search(r"\[([A-Z_0-9.]+)\]\s*([^\n]*)", text)
    if found is None:
        return _short(error)
    # What follows is advice on functions and settings that a script does not have
    said = re.split(r" (?:Use|To tolerate|If necessary) |, (?:use|set) `| SQLSTATE", found[2])[0].strip()
    return f"{said[:350]} [{found[1]}]"
