"""The start: wall time of `penstock run` on a file of 100 rows, with and without the archive of Java's classes.

Every run is a process of its own, as a user starts it. Runs with and without the archive alternate, so that a busy
machine slows both alike.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from penstock.bench.comparisons import Comparison
from penstock.bench.machine import described
from penstock.errors import RunError
from penstock.spark.archive_making import make_archive
from penstock.spark.class_archive import SWITCH

ROWS = 100
LONGEST_S = 9.0
"""Required wall time of a run with the archive."""
WAYS = {"without archive": "off", "with archive": "use"}
"""The value of the environment variable, by what it measures."""
SCRIPT = """
CREATE STREAM rows (k INT, v INT) FROM files WITH (path = 'rows.json', format = 'json');
CREATE QUERY half AS SELECT k, v FROM rows WHERE v >= 50;
"""
_SAMPLE_S = 0.02


def measured(repeat: int, on_stage: Callable[[str], object]) -> dict[str, Any]:
    """Run the script `repeat` times in each way, and return the results as a JSON document."""
    on_stage("making the archive, if there is none")
    archive = make_archive()
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as name:
        folder = Path(name)
        lines = [json.dumps({"k": row % 7, "v": row}) for row in range(ROWS)]
        (folder / "rows.json").write_text("\n".join(lines))
        (folder / "start.sql").write_text(SCRIPT)
        for turn in range(repeat + 1):  # the first one warms the cache of files
            for way, switch in WAYS.items():
                on_stage(f"run {turn} of {repeat}, {way}" if turn else f"a first run {way}, which does not count")
                found = _timed(folder, switch)
                if turn:
                    runs[way].append(found)
    medians = {way: {key: median(each[key] for each in some) for key in some[0]} for way, some in runs.items()}
    wall = medians["with archive"]["wall_s"]
    return {
        "benchmark": "start",
        "machine": described(),
        "rows": ROWS,
        "repeat": repeat,
        "archive_bytes": archive.stat().st_size,
        "medians": medians,
        "runs": runs,
        "comparisons": [Comparison("seconds of a run with the archive", "at most", LONGEST_S, wall).as_dict()],
    }


def _timed(folder: Path, switch: str) -> dict[str, float]:
    """Run the script, and return the wall time and the processor time of Python and Java."""
    command = [sys.executable, "-m", "penstock", "run", str(folder / "start.sql"), "--drain", "--json"]
    command += ["--out", str(folder / "out"), "--overwrite"]
    start = time.monotonic()
    spent: dict[psutil.Process, float] = {}
    with (folder / "said").open("w+") as said:
        process = psutil.Popen(command, stdout=said, stderr=said, env={**os.environ, SWITCH: switch})
        while process.poll() is None:
            spent |= _spent(process)
            time.sleep(_SAMPLE_S)
        wall_s = time.monotonic() - start
        if process.returncode:
            said.seek(0)
            raise RunError(f"a run failed: {said.read()[-1000:]}")
    _wait_for_java(spent)
    return {"wall_s": wall_s, "cpu_s": sum(spent.values())}


def _spent(process: psutil.Process) -> dict[psutil.Process, float]:
    """Return the processor time of a process and its children."""
    found = {}
    try:
        for each in (process, *process.children(recursive=True)):
            times = each.cpu_times()
            found[each] = float(times.user + times.system)
    except (psutil.Error, subprocess.SubprocessError):
        pass
    return found


def _wait_for_java(processes: dict[psutil.Process, float]) -> None:
    """Wait until all processes of a run have ended: Java outlives Python by a moment."""
    psutil.wait_procs(processes, timeout=30)
