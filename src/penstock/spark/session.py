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
from penstock.spark.conf import HEAP, SESSION_SETTINGS, as_texts, session_conf
from penstock.spark.driver_memory import SPARKS_OWN, memory_bytes
from penstock.spark.reachable import check_reachable

LEAST_JAVA = 17
LOCAL = "local[*]"
"""Where Spark runs if nobody says: here, with as many threads as there are cores."""

_JAVA_HELP = (
    "To install it: apt install openjdk-17-jre-headless (Debian, Ubuntu), "
    "dnf install java-17-openjdk-headless (Fedora), brew install openjdk@17 (macOS); or set JAVA_HOME"
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
        found = "JAVA_HOME is set, but has no Java" if os.environ.get("JAVA_HOME") else "no Java was found"
    elif version is None:
        found = f"the version of {path} is unknown"
    elif version < LEAST_JAVA:
        found = f"{path} is version {version}"
    else:
        return
    raise RunError(f"Spark needs Java {LEAST_JAVA} or newer; {found}. {_JAVA_HELP}")


@contextmanager
def spark_session(
    master: str | None = None,
    remote: str | None = None,
    *,
    noise: bool = False,
    settings: Mapping[str, object] | None = None,
) -> Iterator[SparkSession]:
    """Open a session for the time of a run, and stop it afterwards.

    Without `master` and `remote` it is local, with as many threads as there are cores and a heap that follows the
    machine's memory. `settings` are Spark's own. What Spark and its Java say goes to a file that is shown if the
    start fails, unless `noise` is wanted.
    """
    if master and remote:
        raise RunError("give a master or a remote, not both")
    check_reachable(remote or master or "")
    if SparkSession.getActiveSession() is not None:
        raise RunError("a Spark session already runs in this process: pass it with spark=…, or stop it first")
    if remote is None or remote.startswith("local"):
        check_java()
    where = master or LOCAL
    given = as_texts(settings or {})
    conf = session_conf(given, where, remote)
    builder = SparkSession.builder.appName("penstock")
    builder = builder.master(where) if remote is None else builder.remote(remote)
    if remote is None:
        _keep_heap(conf, given)
        if where.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for key, value in conf.items():
        builder = builder.config(key, value)
    # Executors must run the same Python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _quiet(noise) as said:
        try:
            spark = builder.getOrCreate()
        except Exception as error:
            _note_heap(conf, error)
            raise RunError(
                f"Spark could not be started on {remote or where}: {explained(error)}{said()}"
            ) from error
        _note_heap(conf)
    try:
        if not noise and remote is None:
            spark.sparkContext.setLogLevel("OFF")
        with _hushed(noise):
            yield spark
    finally:
        with contextlib.suppress(Exception):  # it may have gone
            spark.stop()


_started: dict[str, str] = {}
"""The heap that Spark's Java was started with in this process: Java stays when a session ends."""


def _note_heap(conf: Mapping[str, str], error: Exception | None = None) -> None:
    if "JAVA_GATEWAY_EXITED" not in str(error):
        _started.setdefault(HEAP, conf.get(HEAP, ""))


def _keep_heap(conf: dict[str, str], given: Mapping[str, str]) -> None:
    """Let settings say the heap that Java has; raise if another one is asked for than it was started with."""
    if HEAP not in _started:
        return
    had = _started[HEAP]
    if HEAP in given and given[HEAP] != had:
        raise RunError(
            f"{HEAP}: Spark's Java is already running in this process, with {had or 'its default'}; "
            f"{given[HEAP]} needs a new process"
        )
    conf.pop(HEAP, None)
    if had:
        conf[HEAP] = had


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
            lines = without_stacks(file.read()[-20_000:].decode(errors="replace"))
            return "\nSpark's last messages:\n  " + "\n  ".join(lines[-6:]) if lines else ""

        try:
            yield said
        finally:
            sys.stderr.flush()
            sys.stderr.close()
            sys.stderr = python_stderr
            os.dup2(kept, 2)
            os.close(kept)


def without_stacks(text: str) -> list[str]:
    r"""Return the lines of what Java said, without those that only say where.

    >>> without_stacks("Exception: no such jar\n\tat org.x.Main(Main.scala:1)\n\t... 3 more\n")
    ['Exception: no such jar']
    """
    lines = [line.rstrip() for line in text.splitlines()]
    return [line[:300] for line in lines if line and not re.match(r"\s+(at |\.\.\. \d+ more)", line)]


@contextmanager
def _hushed(noise: bool) -> Iterator[None]:
    """Keep PySpark and py4j from logging errors with their stacks: Penstock says them in a line."""
    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    loggers = [logging.getLogger("py4j"), *(PySparkLogger.getLogger(name) for name in names)]
    levels = [logger.level for logger in loggers]
    for logger in loggers if not noise else ():
        logger.setLevel(logging.CRITICAL + 1)
    root = logging.getLogger()
    if not noise:
        root.addFilter(_is_not_py4j)
    try:
        yield
    finally:
        root.removeFilter(_is_not_py4j)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Whether a message is from elsewhere; py4j logs some to the root logger."""
    return Path(record.pathname).parent.name != "py4j"


def _short(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return re.sub(r"^: (?:[\w$]+\.)+[\w$]+: ", "", lines[1])[:300]  # Java's message, without its class
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


def heap_of(spark: SparkSession) -> int:
    """Return the heap of Spark's driver in bytes, as far as a session says."""
    try:
        return memory_bytes(str(spark.conf.get("spark.driver.memory", None) or ""))
    except Exception:  # nobody set it, or the server does not tell
        return SPARKS_OWN


def check_alive(spark: SparkSession) -> None:
    """Raise if Spark itself has gone, which is nobody's rows' fault."""
    try:
        spark.range(1).count()
    except OSError as error:
        raise RunError("Spark no longer answers: its process has ended") from error
    except Exception as error:
        raise RunError(f"Spark no longer answers: {explained(error)}") from error


_HINTS = {"INVALID_ARRAY_INDEX": "; get(array, index) returns NULL instead"}
"""What a script can do about some of Spark's conditions."""


def explained(error: BaseException) -> str:
    r"""Return what went wrong in a job, in a line: Spark's own condition and message, or the first cause.

    >>> explained(RuntimeError("awaitResult:\nCaused by: org.Job: aborted\nCaused by: java.Syntax: no ]\n[\n^"))
    'no ]'
    """
    text = str(error)
    found = re.search(r"\[([A-Z_0-9.]+)\]\s*([^\n]*)", text)
    if found is None:
        causes = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", text)
        return causes[-1][:350] if causes else _short(error)
    # What follows is advice on functions and settings that a script does not have
    said = re.split(r" (?:Use|To tolerate|If necessary) |, (?:use|set) `| SQLSTATE", found[2])[0].strip()
    return f"{said[:350]} [{found[1]}]{_HINTS.get(found[1], '')}"
