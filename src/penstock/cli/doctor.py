"""`penstock doctor`: checks the installation, and says how to get what is missing."""

import json
import os
import platform
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.options import SparkOptions, takes
from penstock.cli.signals import Signals
from penstock.cli.style import COMPACT, size, spinner, wide_console
from penstock.spark.driver_memory import default_heap, machine_memory, memory_bytes

State = Literal["ok", "low", "missing"]

PACKAGES = (
    "numba",
    "numpy",
    "plotly",
    "psutil",
    "pyarrow",
    "pyspark",
    "rich",
    "river",
    "scipy",
    "sqlglot",
    "typer",
)
"""The dependencies in pyproject.toml."""

LEAST_PYTHON = (3, 11)
LEAST_MEMORY = 2e9
LEAST_DISK = 1e9
_LOOKS = {"ok": "green", "low": "yellow", "missing": "bold red"}


@dataclass(frozen=True)
class Finding:
    """The result of one check; only `missing` keeps Penstock from working."""

    name: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of `penstock doctor`, in the order of its help."""

    no_spark: Annotated[bool, typer.Option("--no-spark", help="Do not start Spark.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list, one entry per check.")] = False
    spark: SparkOptions


@takes(DoctorOptions)
def doctor(options: DoctorOptions) -> None:
    """Check what Penstock needs: Python, Java, packages, memory, disk, ports, and a Spark that runs a job.

    Spark is started with the settings of `penstock run`, and its heap is shown.

    Exits with 1 if something is missing.

    Examples: `penstock doctor`; `penstock doctor --no-spark --json`;
    `penstock doctor --driver-memory 4g --packages GROUP:ARTIFACT:VERSION`
    """
    settings = options.spark.settings()
    findings = [python(), java(), *installed(), cores(), memory(), heap(settings), *archive(), *disks(), ports()]
    if not options.no_spark:
        with Signals(), spinner("starting Spark on local[*] …") as change:
            findings.append(spark(settings, change))
    missing = [finding.name for finding in findings if finding.state == "missing"]
    if options.as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        _show(wide_console(), findings)
        typer.echo(f"Missing: {', '.join(missing)}." if missing else "Everything is in place.")
    if missing:
        raise typer.Exit(code=1)


def python() -> Finding:
    """Check the version of Python."""
    found = f"{platform.python_version()} at {sys.executable}"
    good = sys.version_info >= LEAST_PYTHON
    return Finding("Python", "ok" if good else "missing", found, "" if good else "Penstock needs 3.11 or newer")


def java() -> Finding:
    """Check the Java that Spark would start."""
    try:
        from penstock.spark.java import LEAST_JAVA, check_java, java_version
    except ImportError as error:
        return Finding("Java", "missing", f"could not be checked: {error}", "install PySpark first")
    from penstock.errors import RunError

    path, found = java_version()
    try:
        check_java()
    except RunError as error:
        here = "none" if path is None else f"{found or 'of unknown version'} at {path}"
        return Finding("Java", "missing", here, str(error))
    return Finding("Java", "ok", f"{found} at {path} ({LEAST_JAVA} or newer is required)")


def installed() -> Iterator[Finding]:
    """Check the packages that Penstock needs."""
    for name in PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            advice = f"run make, which installs it into .venv, or {sys.executable} -m pip install {name}"
            yield Finding(name, "missing", "not installed", advice)


def cores() -> Finding:
    """Count the cores that a local Spark can use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    few = count < 2
    return Finding("cores", "low" if few else "ok", str(count), "one core runs one task at a time" if few else "")


def memory() -> Finding:
    """Check the memory of the machine or its container."""
    total = machine_memory()
    if total is None:
        return Finding("memory", "ok", "unknown")
    low = total < LEAST_MEMORY
    return Finding("memory", "low" if low else "ok", size(total), "Spark alone takes about 1 GB" if low else "")


def heap(settings: Mapping[str, str]) -> Finding:
    """Return the heap size of a local Spark."""
    given, default = settings.get("spark.driver.memory"), default_heap()
    if given is None and default is None:
        return Finding("Spark's heap", "ok", "set by SPARK_DRIVER_MEMORY or PYSPARK_SUBMIT_ARGS")
    count, total = memory_bytes(given) if given else default or 0, machine_memory()
    found = f"{size(count)}, {'as given' if given else 'a quarter of the memory, from 1 to 16 GiB'}"
    if total is not None and count > 0.8 * total:
        return Finding("Spark's heap", "low", found, f"the machine has {size(total)}, and Python needs some of it")
    return Finding("Spark's heap", "ok", found)


def archive() -> Iterator[Finding]:
    """Say whether Spark starts from an archive of its classes; it works without one."""
    try:
        from penstock.spark.archive_state import archive_state
    except ImportError:  # PySpark is missing, which has its own line
        return
    yield Finding("Spark's class archive", "ok", archive_state().text)


def disks() -> Iterator[Finding]:
    """Check the free space for Spark's temporary files and for results."""
    for name, place in (("disk, temporary", tempfile.gettempdir()), ("disk, working folder", str(Path.cwd()))):
        free = shutil.disk_usage(place).free
        low = free < LEAST_DISK
        yield Finding(
            name, "low" if low else "ok", f"{size(free)} free in {place}", "free some space" if low else ""
        )


def ports() -> Finding:
    """Check that a port on loopback can be opened: local Spark and Python communicate over one."""
    try:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            with socket.create_connection(server.getsockname(), timeout=5):
                return Finding("loopback ports", "ok", "127.0.0.1 can be bound and reached")
    except OSError as error:
        advice = "Spark and Python communicate over loopback: allow this user to bind and reach ports on 127.0.0.1"
        return Finding("loopback ports", "missing", str(error), advice)


def spark(settings: Mapping[str, str], change: Callable[[str], None]) -> Finding:
    """Start local Spark and run a job."""
    start = time.monotonic()
    try:
        from penstock.spark.session import spark_session

        with spark_session(settings=settings) as session:
            up = time.monotonic()
            change("running a first job …")
            count = session.range(1000).count()
            done = time.monotonic()
            found = f"{session.version}, started in {up - start:.1f} s, first job {done - up:.1f} s"
    except Exception as error:  # any error is a finding
        return Finding("Spark", "missing", "a local session does not work", str(error))
    if count != 1000:
        return Finding("Spark", "missing", f"{found}, but it counted {count} of 1000", "reinstall PySpark")
    return Finding("Spark", "ok", found)


def _show(console: Console, findings: list[Finding]) -> None:
    table = Table(box=None, show_header=False, **COMPACT)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    for finding in findings:
        found = Text(finding.found)
        if finding.advice:
            found.append(f"\n{finding.advice}", style=_LOOKS[finding.state])
        table.add_row(Text(finding.state, style=_LOOKS[finding.state]), finding.name, found)
    console.print(table)
