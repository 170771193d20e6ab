"""Spark sessions: started on loopback and without log output; their slots and heap; whether they still answer."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from penstock.errors import RunError
from penstock.language.secrets import keep_secret
from penstock.runtime.backend import BackendEndedError
from penstock.spark.class_archive import archive_folder, archive_options, remove_archive
from penstock.spark.conf import HEAP, SESSION_SETTINGS, as_texts, session_conf
from penstock.spark.driver_memory import SPARK_DEFAULT, memory_bytes
from penstock.spark.java import check_java
from penstock.spark.job_errors import explained
from penstock.spark.reachable import check_reachable
from penstock.spark.silence import hushed, quiet

LOCAL = "local[*]"
"""The default master: this machine, with as many threads as there are cores."""


@contextmanager
def spark_session(
    master: str | None = None,
    remote: str | None = None,
    *,
    noise: bool = False,
    settings: Mapping[str, object] | None = None,
) -> Iterator[SparkSession]:
    """Start a session for a run, and stop it afterwards.

    Without `master` and `remote` it is local, with as many threads as there are cores and a heap that depends on
    the machine's memory. `settings` are Spark's own. Log output of Spark and Java goes to a file, which is shown
    if the start fails; with `noise` it goes to stderr.
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
    keep_secret(given)
    conf = session_conf(given, where, remote)
    archive: dict[str, str] = {}
    if remote is None:
        archive = archive_options(conf, where) if not _started else {}
        _keep_heap(conf, given)
        if where.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Executors must run the same Python as the driver
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with quiet(noise) as last_messages:
        try:
            spark = _new_session(conf, archive, None if remote else where, remote)
        except Exception as error:
            _note_heap(conf, error)
            raise RunError(
                f"Spark could not be started on {remote or where}: {explained(error)}{last_messages()}"
            ) from error
        _note_heap(conf)
    with hushed(noise):
        try:
            if not noise and remote is None:
                spark.sparkContext.setLogLevel("OFF")
            if _PARTITIONS not in given:
                spark.conf.set(_PARTITIONS, str(max(slots_of(spark), 2)))
            yield spark
        finally:
            with contextlib.suppress(Exception):  # it may have ended
                spark.stop()


def _new_session(
    conf: Mapping[str, str], archive: Mapping[str, str], master: str | None, remote: str | None
) -> SparkSession:
    """Start a session. If Java ends at once, start it without the archive; if that helps, remove the archive."""
    builder = SparkSession.builder.appName("penstock")
    builder = builder.master(master) if master is not None else builder.remote(remote or "")
    for key, value in {**conf, **archive}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        if not archive or _NO_JAVA not in str(error):
            raise
    spark = _new_session(conf, {}, master, remote)
    folder = archive_folder()
    if folder is not None:
        remove_archive(folder)
    return spark


_PARTITIONS = "spark.sql.shuffle.partitions"
"""Partitions after a shuffle. Spark's default, 200, is for large clusters: a task costs some 8 ms."""

_NO_JAVA = "JAVA_GATEWAY_EXITED"
"""Spark's error if Java ended before it answered."""
_started: dict[str, str] = {}
"""The heap that Spark's Java was started with in this process: Java keeps running when a session ends."""


def _note_heap(conf: Mapping[str, str], error: Exception | None = None) -> None:
    if _NO_JAVA not in str(error):
        _started.setdefault(HEAP, conf.get(HEAP, ""))


def _keep_heap(conf: dict[str, str], given: Mapping[str, str]) -> None:
    """Set the heap to that of a running Java; raise an error if another one was given."""
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
def prepared(spark: SparkSession) -> Iterator[None]:
    """Set what Penstock needs in a session that it did not start, and restore it afterwards."""
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
    """Return how many tasks can run at the same time; 2 for a Connect server, which does not tell."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Connect has no context
        return 2


def heap_of(spark: SparkSession) -> int:
    """Return the heap of Spark's driver in bytes; Spark's default if the session does not tell."""
    try:
        return memory_bytes(str(spark.conf.get("spark.driver.memory", None) or ""))
    except Exception:  # it is not set, or the server does not tell
        return SPARK_DEFAULT


def check_alive(spark: SparkSession) -> None:
    """Raise an error if Spark itself has ended, so that no query or file is blamed."""
    try:
        spark.range(1).count()
    except OSError as error:
        raise BackendEndedError("Spark no longer answers: its process has ended") from error
    except Exception as error:
        raise BackendEndedError(f"Spark no longer answers: {explained(error)}") from error
