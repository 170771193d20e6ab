"""Sweeps: many simulations with different settings, as Spark tasks, each saved as soon as it is done.

A cell is one simulation: a paper, the name of a study in it, and settings. Its key is a hash of all that and of
the rules of the simulator, so that an interrupted sweep continues with the missing cells, and outdated results are
not used.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from pyspark.sql import SparkSession

from penstock import __version__
from penstock.errors import RunError
from penstock.spark.session import slots_of, spark_session

RULES = 1
"""Raised whenever the simulator or a study gives other results than before."""

SCHEMA = "key string, result string, seconds double"

Told = Callable[[int, int, str], None]
"""Called with the number of finished cells, the number of all cells, and the label of the last one."""


@dataclass(frozen=True)
class SweepCell:
    """One simulation of a study of a paper.

    >>> cell = SweepCell("SCLP08", "load", {"policy": "hnr", "load": 0.9})
    >>> cell.key == SweepCell("SCLP08", "load", {"load": 0.9, "policy": "hnr"}).key
    True
    """

    paper: str
    study: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    """Expected time relative to others: the longest run first."""

    @property
    def text(self) -> str:
        """Paper, study and settings, always in the same order."""
        return json.dumps([self.paper, self.study, dict(self.settings)], sort_keys=True)

    @property
    def key(self) -> str:
        """A unique name of the cell."""
        traces = [_stamp(value) for name, value in self.settings.items() if name == "trace" and value]
        return hashlib.sha256(f"{__version__} {RULES} {traces} {self.text}".encode()).hexdigest()[:24]

    @property
    def label(self) -> str:
        """The text of the progress bar."""
        words = [f"{name} {value}" for name, value in self.settings.items() if name in ("policy", "load", "plan")]
        return f"{self.paper} {self.study}, {', '.join(words)}".rstrip(", ")


def _stamp(file: str) -> tuple[int, int]:
    """Return a value that changes when the file changes."""
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns


def measured(cell: SweepCell) -> dict[str, Any]:
    """Run a cell in this process: the study of that name in the paper's module."""
    studies = import_module(f"penstock.experiments.{cell.paper.lower()}.studies").STUDIES
    found: dict[str, Any] = studies[cell.study](**cell.settings)
    return found


class SweepResults:
    """Results of finished cells, in a folder: one Parquet file each, written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, cell: SweepCell) -> dict[str, Any] | None:
        """Return the result of a cell, or None if it has not been run or its file cannot be read."""
        file = self._file(cell.key)
        if not file.is_file():
            return None
        try:
            found: dict[str, Any] = json.loads(parquet.read_table(file).column("result")[0].as_py())
        except (pa.ArrowException, OSError, ValueError, KeyError, IndexError):
            return None
        return found

    def keep(self, cell: SweepCell, result: str, seconds: float) -> None:
        """Save the result of a cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        row = {"key": cell.key, "cell": cell.text, "result": result, "seconds": seconds}
        draft = self._file(cell.key).with_suffix(".part")
        parquet.write_table(pa.Table.from_pylist([row]), draft)
        os.replace(draft, self._file(cell.key))

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"


def swept(
    cells: Sequence[SweepCell], folder: Path, told: Told, *, master: str | None = None, remote: str | None = None
) -> dict[str, dict[str, Any]]:
    """Run the cells that are not in `folder` yet, and return the results of all, by key."""
    results = SweepResults(folder)
    found: dict[str, dict[str, Any]] = {}
    missing: dict[str, SweepCell] = {}
    for cell in cells:
        known = results.find(cell)
        if known is not None:
            found[cell.key] = known
        else:
            missing[cell.key] = cell
    total = len(found) + len(missing)
    told(len(found), total, "")
    if not missing:
        return found
    warm()
    with spark_session(master, remote) as spark:
        for cell, result, seconds in _run(spark, sorted(missing.values(), key=lambda each: -each.weight)):
            results.keep(cell, result, seconds)
            found[cell.key] = json.loads(result)
            told(len(found), total, cell.label)
    return found


def warm() -> None:
    """Compile the simulator once, before many tasks would do so at the same time."""
    from penstock.network import Network
    from penstock.simulator.simulate import simulate

    net = Network.chains([[(1.0, 0.5)], [(2.0, 1.0)]])
    for detail in (False, True):
        simulate(net, {"s": [0.0, 1.0]}, "bsd", detail=detail)


def _run(spark: SparkSession, cells: Sequence[SweepCell]) -> Iterator[tuple[SweepCell, str, float]]:
    """Yield cells as they finish: a job each, as many at once as there are slots."""
    waiting = iter(cells)
    with ThreadPoolExecutor(slots_of(spark)) as pool:
        running: dict[Future[tuple[str, float]], SweepCell] = {}
        try:
            for cell in waiting:
                running[pool.submit(_job, spark, cell)] = cell
                if len(running) < slots_of(spark):
                    continue
                yield from _done(running)
            while running:
                yield from _done(running)
        finally:
            for future in running:
                future.cancel()


def _done(running: dict[Future[tuple[str, float]], SweepCell]) -> Iterable[tuple[SweepCell, str, float]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        cell = running.pop(future)
        yield cell, *future.result()


def _job(spark: SparkSession, cell: SweepCell) -> tuple[str, float]:
    """Run a cell as a Spark task of its own."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            begun = time.perf_counter()
            result = json.dumps(measured(cell))
            row = {"key": cell.key, "result": result, "seconds": time.perf_counter() - begun}
            yield pa.RecordBatch.from_pylist([row])

    try:
        row = spark.range(0, 1, 1, 1).mapInArrow(task, SCHEMA).collect()[0]
    except Exception as error:
        raise RunError(f"the cell {cell.label} failed: {_last_line(error)}") from error
    return row["result"], row["seconds"]


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line]
    return (named or lines or [type(error).__name__])[-1][:300]
