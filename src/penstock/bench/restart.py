"""Going on with a large state: thousands of queries, and windows that hold millions of rows.

A state is filled once, and its run ends. Then new processes go on with it, in turn with processes that begin anew
with the same queries and no rows. Both find one small new file. Every process is one that a user would start.
"""

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from penstock.bench.comparisons import Comparison
from penstock.bench.machine import described
from penstock.errors import RunError

QUERIES, ROWS = 5_000, 10_000_000
FILE_ROWS = 1_000_000
MOST_MORE_S = 5.0
"""How much longer going on may take than beginning anew."""
_NEW_ROWS = 1_000
_WIDE, _KEYS = 10_000_000, 1_000_000
_LIMIT_S = 120.0
_FILL_S = 3600.0
_POLL_S = 0.01
_STREAM = """
CREATE STREAM {name} (k INT, v INT, at TIMESTAMP)
  FROM files WITH (path = 'in/{name}', format = '{file_format}', timestamp = 'at');
"""
_JOIN = """
CREATE QUERY met AS SELECT a.k, a.v AS v, b.v AS other FROM a [RANGE 10 DAYS] AS a, b [RANGE 10 DAYS] AS b
  WHERE a.k = b.k AND a.v < {low} AND b.v < {low};
SET publish = '1 h';
"""

Stage = Callable[[str], object]


@dataclass
class Workplace:
    """A folder with a script over two streams, and its inputs."""

    folder: Path
    queries: int
    rows: int
    file_format: str
    _next_us: int = field(default=1_700_000_000_000_000, init=False)
    _files: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Write the script."""
        streams = "".join(_STREAM.format(name=name, file_format=self.file_format) for name in ("a", "b"))
        step = _WIDE // self.queries
        filters = (
            f"CREATE QUERY q{i} AS SELECT k, v FROM a WHERE v >= {i * step} AND v < {i * step + 10};"
            for i in range(self.queries - 1)
        )
        join = _JOIN.format(low=_WIDE // 100)
        self.script.write_text(f"{streams}{chr(10).join(filters)}{join}", encoding="utf-8")
        for name in ("a", "b"):
            (self.folder / "in" / name).mkdir(parents=True)

    @property
    def script(self) -> Path:
        """The script's file."""
        return self.folder / "restart.sql"

    def add(self, rows: int, *, pass_filters: bool = False) -> None:
        """Add a file of so many rows to each stream; of few filters, random rows pass none."""
        self._files += 1
        for stream, name in enumerate(("a", "b")):
            random = np.random.default_rng((self._files, stream))
            values = random.integers(0, _WIDE, rows, np.int32)
            if pass_filters:
                values -= values % (_WIDE // self.queries)
            table = pa.table(
                {
                    "k": random.integers(0, _KEYS, rows, np.int32),
                    "v": values,
                    "at": pa.array(self._next_us + np.arange(rows), pa.timestamp("us", tz="UTC")),
                }
            )
            path = self.folder / "in" / name / f"{self._files:06d}.{self.file_format}"
            unfinished = path.with_name(f".{path.name}")
            if self.file_format == "csv":
                pa_csv.write_csv(table, unfinished)
            else:
                pq.write_table(table, unfinished)
            unfinished.rename(path)
        self._next_us += rows

    def fill(self) -> None:
        """Add files until both streams together have all rows."""
        left = self.rows // 2
        while left:
            self.add(min(left, FILE_ROWS))
            left -= min(left, FILE_ROWS)

    def clear(self) -> None:
        """Remove all inputs."""
        for path in (self.folder / "in").glob("*/*"):
            path.unlink()


def measured(queries: int, rows: int, file_format: str, repeat: int, on_stage: Stage) -> dict[str, Any]:
    """Fill a state, start runs with it and without it in turn, and return the times as a JSON document."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as name:
        (Path(name) / "new").mkdir()
        (Path(name) / "old").mkdir()
        new = Workplace(Path(name) / "new", queries, rows, file_format)
        old = Workplace(Path(name) / "old", queries, rows, file_format)
        on_stage(f"filling windows with {rows:,} rows of {queries:,} queries")
        old.fill()
        began = time.monotonic()
        with _started(old, "--drain") as process:
            _wait(process, lambda: process.poll() is not None, _FILL_S, "did not drain")
        filled_s = time.monotonic() - began
        state_bytes = sum(path.stat().st_size for path in (old.folder / "state").rglob("*") if path.is_file())
        runs: dict[str, list[dict[str, float]]] = {"anew": [], "going on": []}
        for turn in range(repeat + 1):  # the first one warms the cache of files
            on_stage(f"turn {turn} of {repeat}" if turn else "a first turn, which does not count")
            found = {"anew": _began_anew(new), "going on": _times(old)}
            if turn:
                for way, times in found.items():
                    runs[way].append(times)
    return _document(queries, rows, file_format, filled_s, state_bytes, runs)


def _began_anew(place: Workplace) -> dict[str, float]:
    place.clear()
    for name in ("state", "out"):
        shutil.rmtree(place.folder / name, ignore_errors=True)
    return _times(place)


def _times(place: Workplace) -> dict[str, float]:
    """Start a run that finds a new file; return the seconds until it runs and until its first results are out."""
    place.add(_NEW_ROWS, pass_filters=True)
    before = _results(place)
    began = time.monotonic()
    with _started(place) as process:
        _wait(process, lambda: b'"running ' in _said(place), _LIMIT_S, "did not begin to run")
        running_s = time.monotonic() - began
        _wait(process, lambda: bool(_results(place) - before), _LIMIT_S, "gave no results")
        return {"running_s": running_s, "results_s": time.monotonic() - began}


@contextmanager
def _started(place: Workplace, *options: str) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a run; end it with SIGTERM, if it has not ended."""
    command = [sys.executable, "-m", "penstock", "run", str(place.script), *options, "--log", "json"]
    command += ["--state", str(place.folder / "state"), "--out", str(place.folder / "out")]
    with (place.folder / "said").open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    below: list[psutil.Process] = []
    try:
        yield process
        below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        psutil.wait_procs(below, timeout=30)
    if process.returncode:
        raise RunError(f"a run failed: {_said(place)[-1000:].decode(errors='replace')}")


def _wait(process: "subprocess.Popen[bytes]", holds: Callable[[], bool], limit_s: float, what: str) -> None:
    until = time.monotonic() + limit_s
    while not holds():
        if process.poll() is not None:
            raise RunError(f"a run ended with {process.returncode} too early")
        if time.monotonic() > until:
            raise RunError(f"a run {what} within {limit_s:.0f} s")
        time.sleep(_POLL_S)


def _said(place: Workplace) -> bytes:
    return (place.folder / "said").read_bytes()


def _results(place: Workplace) -> set[str]:
    """Return the files with results that are not published yet."""
    return {path.name for path in (place.folder / "out").glob("_*/*/*.parquet")}


def _document(
    queries: int,
    rows: int,
    file_format: str,
    filled_s: float,
    state_bytes: int,
    runs: dict[str, list[dict[str, float]]],
) -> dict[str, Any]:
    medians = {way: {key: median(each[key] for each in some) for key in some[0]} for way, some in runs.items()}
    more = {key: medians["going on"][key] - medians["anew"][key] for key in ("running_s", "results_s")}
    return {
        "benchmark": "restart",
        "machine": described(),
        "queries": queries,
        "window_rows": rows,
        "format": file_format,
        "filled_s": filled_s,
        "state_bytes": state_bytes,
        "medians": medians,
        "runs": runs,
        "comparisons": [
            Comparison(
                "going on: seconds more than beginning anew", "at most", MOST_MORE_S, more["running_s"]
            ).as_dict(),
            Comparison("the same, until first results", "at most", MOST_MORE_S, more["results_s"]).as_dict(),
        ],
    }
