"""A steady load with `--state`: the number and size of its files and its memory must level off.

    python -m tests.storage.steady --minutes 30

Files of two formats keep coming, beside a generated stream whose rows the state keeps; old input is removed.
The figures of the last third are compared with those of the third before.
"""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from tests.storage.crash.process import RunProcess

EVERY_S = 0.5
KEPT_FILES = 100
FILE_ROWS = 1000
SAMPLE_S = 5.0
MOST_GROWTH = {"files": 1.15, "bytes": 1.15, "python": 1.05}
"""The largest growth from the second third to the last. Files go at checkpoints: their number goes up and down."""

SCRIPT = """
CREATE STREAM packets (id BIGINT, at TIMESTAMP, host INT, size INT)
  FROM files WITH (path = 'in/packets', format = 'parquet', timestamp = 'at');
CREATE STREAM replies (id BIGINT, at TIMESTAMP, host INT, code INT)
  FROM files WITH (path = 'in/replies', format = 'json', timestamp = 'at', lateness = '1 s');
CREATE STREAM made (host INT, v INT) FROM bursty WITH (rate = 5000, host_high = 99, seed = 1);
CREATE QUERY large AS SELECT id, size FROM packets WHERE size > 1400;
CREATE QUERY larger AS SELECT id, size FROM packets WHERE size > 1450;
CREATE QUERY echo AS SELECT p.id, r.code FROM packets [RANGE 5 SECONDS] AS p, replies [ROWS 500] AS r
  WHERE p.host = r.host AND p.size > 1300 AND r.code >= 550;
CREATE QUERY few AS SELECT host, v FROM made WHERE v = 7;
CREATE QUERY twice AS SELECT x.host, x.v FROM made [RANGE 2 SECONDS] AS x, made [ROWS 1000] AS y
  WHERE x.host = y.host AND x.v = 3 AND y.v = 4;
SET publish = '30 s';
"""


class Load:
    """Adds files to a folder, and removes old ones."""

    def __init__(self, folder: Path) -> None:
        self._random = np.random.default_rng(1)
        self._streams = {name: folder / "in" / name for name in ("packets", "replies")}
        self._count = 0
        for place in self._streams.values():
            place.mkdir(parents=True)

    def add(self) -> None:
        """Add a file to each stream."""
        self._count += 1
        now_us = time.time_ns() // 1000
        ids = np.arange(self._count * FILE_ROWS, (self._count + 1) * FILE_ROWS)
        times = now_us + np.arange(FILE_ROWS)
        hosts = self._random.integers(0, 100, FILE_ROWS, np.int32)
        sizes = self._random.integers(40, 1500, FILE_ROWS, np.int32)
        at = pa.array(times, pa.timestamp("us", tz="UTC"))
        rows = pa.table({"id": ids, "at": at, "host": hosts, "size": sizes})
        hidden = self._streams["packets"] / ".new"
        pq.write_table(rows, hidden)
        hidden.rename(hidden.with_name(f"{self._count:09d}.parquet"))
        lines = [
            json.dumps({"id": int(i), "at": int(t) / 1e6, "host": int(h), "code": int(c)})
            for i, t, h, c in zip(ids, times, hosts, sizes % 400 + 200, strict=True)
        ]
        hidden = self._streams["replies"] / ".new"
        hidden.write_text("\n".join(lines) + "\n")
        hidden.rename(hidden.with_name(f"{self._count:09d}.json"))
        for place in self._streams.values():
            for old in sorted(place.glob("0*"))[:-KEPT_FILES]:
                old.unlink()


def sample(state: Path, python: psutil.Process) -> dict[str, float]:
    """The files and bytes of the state, and the memory of Python."""
    sizes = []
    for path in state.rglob("*"):
        try:
            if path.is_file():
                sizes.append(path.stat().st_size)
        except OSError:
            continue
    return {"files": len(sizes), "bytes": sum(sizes), "python": python.memory_info().rss}


def steady(folder: Path, minutes: float) -> dict:
    """Run for so many minutes; return the average figures of the last two thirds."""
    (folder / "script.sql").write_text(SCRIPT, encoding="utf-8")
    load = Load(folder)
    state = folder / "state"
    run = RunProcess(
        folder / "script.sql", folder / "out", folder / "log", folder / "tmp", ["--state", str(state)]
    )
    samples: list[dict[str, float]] = []
    try:
        began = next_s = sampled_s = time.monotonic()
        while time.monotonic() - began < minutes * 60:
            load.add()
            if run.exit_code is not None:
                raise RuntimeError(f"the run ended with {run.exit_code}: {run.last_words()}")
            if run.up_at is not None and time.monotonic() - sampled_s >= SAMPLE_S:
                sampled_s = time.monotonic()
                samples.append(sample(state, psutil.Process(run.pid)))
            next_s += EVERY_S
            time.sleep(max(next_s - time.monotonic(), 0))
        figures = run.figures()
        run.send(signal.SIGTERM)
        asked = time.monotonic()
        code = run.wait(60)
        stopped_s = time.monotonic() - asked
    finally:
        run.clean_up()
    third = len(samples) // 3
    parts = samples[third : 2 * third], samples[-third:]
    means = [{name: mean(each[name] for each in part) for name in MOST_GROWTH} for part in parts]
    return {
        "minutes": minutes,
        "exit_code": code,
        "stopped_s": stopped_s,
        "rows_in": figures.get("rows_in"),
        "waiting_rows": figures.get("waiting_rows"),
        "second_third": means[0],
        "last_third": means[1],
        "growth": {name: means[1][name] / means[0][name] for name in MOST_GROWTH},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    wanted = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="penstock-steady-"))
    try:
        found = steady(folder, wanted.minutes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return 0 if is_level(found) else 1


def is_level(found: dict) -> bool:
    """Whether nothing grew, and the run ended well."""
    return found["exit_code"] == 0 and all(found["growth"][name] <= most for name, most in MOST_GROWTH.items())


if __name__ == "__main__":
    sys.exit(main())
