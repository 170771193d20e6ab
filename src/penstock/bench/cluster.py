"""A standalone Spark cluster on this machine: a master and workers, each a process of its own, on loopback.

    python -m penstock.bench.cluster --workers 2

keeps one up until Ctrl-C. Tests and benchmarks use `standalone_cluster`.
"""

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import psutil
import pyspark

from penstock.bench.loopback import HOST, LOOPBACK, json_page
from penstock.bench.processes import children
from penstock.bench.watchdog import Watchdog
from penstock.errors import RunError
from penstock.spark.java import check_java

START_S = 120.0
"""How long the master, or a worker, may take to start."""

_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_DAEMON_MEMORY = "512m"
"""Heap of the master and of each worker; executors have their own."""
_PAGE_PORT = r"service 'MasterUI' on port (\d+)"
_POLL_S = 0.2

Daemon: TypeAlias = "subprocess.Popen[bytes]"


class StandaloneCluster:
    """A running master and its workers. `standalone_cluster` starts and ends it."""

    def __init__(self, folder: Path, cores: int, memory: str) -> None:
        self.master = ""
        self._folder = folder
        self._cores = cores
        self._memory = memory
        self._page = ""
        self._masters: list[Daemon] = []
        self._workers: list[Daemon] = []
        self._started = 0
        self._watchdog = Watchdog()

    def start(self, workers: int) -> None:
        """Start the master and the workers; return when the master knows them."""
        master = self._start("master", _MASTER)
        self._masters.append(master)
        self.master = self._said(master, "master", r"Starting Spark master at (spark://\S+)")
        self._page = f"http://{HOST}:{self._said(master, 'master', _PAGE_PORT)}/json/"
        for _ in range(workers):
            self._workers.append(self._start_worker())
        self._wait_for_workers()

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a session on this cluster: one executor on each worker, with all its cores and memory."""
        return {
            **LOOPBACK,
            "spark.executor.cores": str(self._cores),
            "spark.executor.memory": self._memory,
        }

    @property
    def worker_pids(self) -> list[int]:
        """The processes of the workers, by number."""
        return [worker.pid for worker in self._workers]

    def executor_pids(self, number: int | None = None) -> list[int]:
        """Return the processes that one worker, or all of them, started: executors and their Pythons."""
        pids = self.worker_pids if number is None else [self._workers[number].pid]
        return [child for pid in pids for child in children(pid)]

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors, as a machine that fails does: none of them can say so."""
        worker = self._workers[number]
        # Executors outlive their worker, and lose their parent with it
        _kill([worker])

    def restart_worker(self, number: int) -> None:
        """Start a new worker in place of one that was killed, and return when the master knows it."""
        if self._workers[number].poll() is None:
            self.kill_worker(number)
        self._workers[number] = self._start_worker()
        self._wait_for_workers()

    def alive_workers(self) -> int:
        """Return how many workers the master knows and hears of."""
        return sum(worker["state"] == "ALIVE" for worker in json_page(self._page)["workers"])

    def stop(self) -> None:
        """End all processes."""
        _kill([*self._masters, *self._workers])
        self._watchdog.dismiss()

    def _start_worker(self) -> Daemon:
        self._started += 1
        name = f"worker-{self._started}"
        options = ["--cores", str(self._cores), "--memory", self._memory, "--work-dir", str(self._folder / name)]
        return self._start(name, _WORKER, *options, self.master)

    def _start(self, name: str, main_class: str, *options: str) -> Daemon:
        """Start a daemon of Spark that writes its log to a file of this name."""
        spark_home = Path(pyspark.__file__).parent
        environment = {**os.environ, "SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": HOST}
        environment |= {"SPARK_DAEMON_MEMORY": _DAEMON_MEMORY, "SPARK_LOCAL_DIRS": str(self._folder / "local")}
        command = [str(spark_home / "bin" / "spark-class"), main_class, "--host", HOST]
        with self._log(name).open("wb") as log:
            daemon = subprocess.Popen(
                [*command, "--port", "0", "--webui-port", "0", *options],
                env=environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for whoever uses the cluster
            )
        self._watchdog.watch(daemon.pid)
        return daemon

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _said(self, process: Daemon, name: str, pattern: str) -> str:
        """Wait until a daemon's log has a line that matches, and return what the pattern's group holds."""
        found: list[str] = []

        def look() -> bool:
            found[:] = re.findall(pattern, self._log(name).read_text(errors="replace"))
            return bool(found)

        self._wait(look, [process], f"Spark's {name} did not start")
        return found[0]

    def _wait_for_workers(self) -> None:
        living = [worker for worker in self._workers if worker.poll() is None]
        self._wait(lambda: self.alive_workers() >= len(living), living, "the workers did not start")

    def _wait(self, ready: Callable[[], bool], processes: list[Daemon], failure: str) -> None:
        until = time.monotonic() + START_S
        while not ready():
            if time.monotonic() > until or any(process.poll() is not None for process in processes):
                logs = sorted(self._folder.glob("*.log"), key=lambda log: log.stat().st_mtime)
                last = logs[-1].read_text(errors="replace").splitlines()[-6:]
                raise RunError(f"{failure}: " + "\n  ".join(last))
            time.sleep(_POLL_S)


@contextmanager
def standalone_cluster(workers: int = 2, cores: int = 1, memory: str = "2g") -> Iterator[StandaloneCluster]:
    """Start a cluster whose workers have this many cores and this memory each; end all its processes afterwards.

    Logs and work folders are in a temporary folder, which is removed.
    """
    check_java()
    with tempfile.TemporaryDirectory(prefix="penstock-cluster-", ignore_cleanup_errors=True) as name:
        cluster = StandaloneCluster(Path(name), cores, memory)
        try:
            cluster.start(workers)
            yield cluster
        finally:
            cluster.stop()


def _kill(daemons: list[Daemon]) -> None:
    """Kill daemons and whatever they started; return when all are gone."""
    alive = []
    for pid in [pid for daemon in daemons for pid in (daemon.pid, *children(daemon.pid))]:
        with contextlib.suppress(psutil.NoSuchProcess):
            alive.append(psutil.Process(pid))
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    for daemon in daemons:
        daemon.wait()
    psutil.wait_procs(alive, timeout=10)


def main() -> None:
    """Keep a cluster up until Ctrl-C, and print how to use it."""
    parser = argparse.ArgumentParser(prog="python -m penstock.bench.cluster", description=main.__doc__)
    parser.add_argument("--workers", type=int, default=2, help="number of workers (2)")
    parser.add_argument("--cores", type=int, default=1, help="cores of each worker (1)")
    parser.add_argument("--memory", default="2g", help="memory of each worker (2g)")
    wanted = parser.parse_args()
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: ended.set())
    with standalone_cluster(wanted.workers, wanted.cores, wanted.memory) as cluster:
        conf = " ".join(f"--conf {key}={value}" for key, value in cluster.settings.items())
        sys.stdout.write(f"{cluster.master}\npenstock run FILE --master {cluster.master} {conf}\n")
        sys.stdout.write("Ctrl-C stops it.\n")
        sys.stdout.flush()
        ended.wait()


if __name__ == "__main__":
    main()
