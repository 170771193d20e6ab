"""Small runs with a state in one process: real loop, store and parquet sink; DuckDB does the jobs, in order.

Streams are folders of parquet files, each of which is read by a poll. `expected` computes the results from the
files in plain Python. A `Camera` copies the state and the results at fault points: what a killed process leaves.
"""

import json
import re
import shutil
from collections import Counter
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.language import Script
from penstock.runtime.admission import Arrived
from penstock.runtime.listeners import Listeners
from penstock.runtime.loop import Runtime
from penstock.runtime.options import RunOptions
from penstock.sinks.parquet_sink import ParquetSink
from penstock.storage import faults
from penstock.storage.started import StartedState
from tests.runtime.duck import Duck

SECOND = 1_000_000
STREAMS = """
CREATE STREAM a (id INT, k INT, at TIMESTAMP) FROM files WITH (path = 'a', format = 'parquet', timestamp = 'at');
CREATE STREAM b (id INT, k INT, at TIMESTAMP) FROM files WITH (path = 'b', format = 'parquet', timestamp = 'at');
"""
LOW = "CREATE QUERY low AS SELECT id, k FROM a WHERE k < 3;\n"
PAIRS = """CREATE QUERY pairs AS
  SELECT a.id AS a_id, b.id AS b_id FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k;
"""
SCRIPT = STREAMS + LOW + PAIRS


class Inline:
    """Does what a thread would do, at once: runs repeat themselves."""

    def __init__(self, *arguments, **keywords) -> None:
        pass

    def submit(self, function, *arguments) -> Future:
        done: Future = Future()
        try:
            done.set_result(function(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, **keywords) -> None:
        pass


class HandClock:
    """Goes on by a millisecond whenever it is asked, so that commits fall between polls."""

    def __init__(self, start_us: int = 1_000_000_000, step_us: int = 1000) -> None:
        self.us, self.step_us = start_us, step_us

    def now_us(self) -> int:
        self.us += self.step_us
        return self.us

    def wait(self, seconds: float) -> None:
        self.us += int(seconds * 1e6)


class FolderSource:
    """Reads a folder of parquet files in the order of names, a file a poll; `most` files in this run."""

    buffer_bytes = held_bytes = 0

    def __init__(self, folder: Path, position, most: int | None = None) -> None:
        self._files = sorted(folder.glob("*.parquet"))
        self._read = 0 if position is None else position["given"]
        self._until = len(self._files) if most is None else min(self._read + most, len(self._files))
        self._told = None

    @property
    def ended(self) -> bool:
        return self._read >= self._until

    def poll(self, now_us, most_rows):
        if not self.ended:
            rows = pq.read_table(self._files[self._read])
            self._read += 1
            yield Arrived(rows, now_us)

    def watermark(self, now_us):
        return None

    def offered(self, now_us):
        return None

    def position(self, *, whole):
        told, self._told = self._told, self._read
        return {"given": self._read} if whole or told != self._read else {}

    def stop(self, now_us):
        self._until = self._read

    def close(self):
        pass


class Backend:
    """DuckDB instead of Spark. Rows are in row logs or, with `stores`, in segments."""

    slots, result_bytes, errors = 1, 1e9, (OSError,)

    def __init__(self, run, store) -> None:
        self._run, self._duck = run, Duck({})
        self.segments = None
        if run.stores:
            self.segments = store.segment_writer(always=True)

    def run(self, work):
        self._run.on_job(work)
        return self._duck(work)

    def open_source(self, stream, position=None):
        return self._run.source(stream, position)

    def result_schema(self, query, plan):
        selected = re.search(r"SELECT (.*?) FROM", query.sql, re.DOTALL)[1]
        return pa.schema(
            [(re.split(r" AS |\.", column)[-1].strip(), pa.int32()) for column in selected.split(",")]
        )

    def may_group(self, template):
        return False

    def explain(self, error):
        return str(error)

    def unreadable_file(self, error):
        return None

    def can_write(self, folder):
        return False

    def check_alive(self):
        pass

    def interrupt(self):
        pass


@dataclass
class SmallRun:
    """A run of a script on files in `place`, with its state and results there."""

    place: Path
    data: Path
    script: str = SCRIPT
    files: int | None = None
    """Files of each stream that are read before the run ends without draining what waits; None for all."""
    stores: bool = False
    drain: bool = True
    out: bool = True
    take_over: bool = False
    sinks: tuple = ()
    events: list[str] = field(default_factory=list)
    clock: HandClock = field(default_factory=HandClock)
    on_job: object = staticmethod(lambda work: None)
    source_of: object = None
    summary: object = None

    @property
    def state_path(self) -> Path:
        return self.place / "state"

    @property
    def out_path(self) -> Path:
        return self.place / "out"

    def source(self, stream, position):
        made = self.source_of or (
            lambda stream, position: FolderSource(self.data / stream.name, position, self.files)
        )
        return made(stream, position)

    @contextmanager
    def opened(self):
        """Yield the runtime; whatever happens, the state and the output folder are released."""
        script = Script.parse(self.script, "script.sql", self.data)
        with ExitStack() as stack:
            stack.enter_context(patch("penstock.runtime.job_runner.ThreadPoolExecutor", Inline))
            stack.enter_context(patch("penstock.runtime.publishing.ThreadPoolExecutor", Inline))
            started = StartedState.open(self.state_path, script, take_over=self.take_over)
            stack.callback(started.folder.owner.release)
            sinks = list(self.sinks)
            if self.out:
                sinks.append(self.files_sink(started))
                stack.callback(sinks[-1].release)
            options = RunOptions.of(started.script, drain=self.drain, publish_us=0)
            store = started.store(options, self.events.append)
            self.clock.us = max(self.clock.us, started.now_us)
            listeners = Listeners(on_event=self.events.append)
            runtime = Runtime(started.script, Backend(self, store), sinks, options, listeners, self.clock, store)
            self.events += started.folder.notes
            runtime.apply(started.changes)
            runtime.store = store
            yield runtime

    def files_sink(self, started) -> ParquetSink:
        started.check_results(self.out_path)
        return ParquetSink(
            self.out_path,
            state=started.folder.id,
            goes_on=started.results is not None,
            take_over=self.take_over,
        )

    def go(self):
        """Run to the end; return the summary."""
        with self.opened() as runtime:
            return runtime.run()


def make_files(folder: Path, seed: int, files: int = 12, rows: int = 6) -> Path:
    """Make the files of both streams; times increase, but some rows of `a` are late."""
    random = Random(seed)
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        for number in range(files):
            times = sorted(number * 2 * SECOND + random.randrange(2 * SECOND) for _ in range(rows))
            if name == "a" and number % 4 == 3:
                times[-1] = 1
            table = pa.table(
                {
                    "id": pa.array(range(number * rows, (number + 1) * rows), pa.int32()),
                    "k": pa.array([random.randrange(5) for _ in times], pa.int32()),
                    "at": pa.array(times, pa.timestamp("us", "UTC")),
                }
            )
            pq.write_table(table, folder / name / f"{number:04d}.parquet")
    return folder


def rows_of(data: Path, stream: str) -> tuple[list[tuple[int, int, int]], list[int]]:
    """Return the rows (id, k, time) of a stream that are not late, and the ids of those that are."""
    kept, late, newest = [], [], None
    for path in sorted((data / stream).glob("*.parquet")):
        table = pq.read_table(path)
        times = table.column("at").cast(pa.int64()).to_pylist()
        for id_, k, at in zip(table.column("id").to_pylist(), table.column("k").to_pylist(), times, strict=True):
            if newest is not None and at < newest:
                late.append(id_)
            else:
                kept.append((id_, k, at))
                newest = at
    return kept, late


def expected(data: Path) -> dict[str, Counter]:
    """Return what the queries of `SCRIPT` give, each row with its count, and the late rows of each stream."""
    (a, late_a), (b, late_b) = rows_of(data, "a"), rows_of(data, "b")
    pairs = [(x, y) for x, kx, tx in a for y, ky, ty in b if kx == ky and abs(tx - ty) <= 10 * SECOND]
    return {
        "low": Counter((id_, k) for id_, k, _ in a if k < 3),
        "pairs": Counter(pairs),
        "late a": Counter(late_a),
        "late b": Counter(late_b),
    }


def found(place: Path) -> dict[str, Counter]:
    """Return the results in an output folder as any reader of its files finds them, and the rejected rows."""
    out = place / "out"
    results: dict[str, Counter] = {}
    for query in ("low", "pairs"):
        paths = [*(out / query).glob("*.parquet"), *(out / "_recent" / query).glob("*.parquet")]
        tables = [pq.read_table(path) for path in paths]
        results[query] = Counter(tuple(row.values()) for table in tables for row in table.to_pylist())
    for stream in ("a", "b"):
        lines = [
            line for path in (out / "_rejected" / stream).glob("*.json") for line in path.read_text().splitlines()
        ]
        results[f"late {stream}"] = Counter(json.loads(line)["id"] for line in lines)
    return results


class Camera:
    """Copies a place at each time that a run reaches one of some fault points."""

    def __init__(self, place: Path, album: Path, points, every: int = 1) -> None:
        self._place, self._album, self._points, self._every = place, album, set(points), every
        self._counts: Counter = Counter()
        self.taken: list[tuple[str, Path]] = []
        self.told = lambda: None
        """Called after each picture."""

    def reached(self, point: str) -> None:
        self._counts[point] += 1
        if point in self._points and self._counts[point] % self._every == 0:
            copy = self._album / f"{len(self.taken):04d}-{point}"
            shutil.copytree(self._place, copy)
            self.taken.append((point, copy))
            self.told()

    @contextmanager
    def rolling(self):
        with patch.object(faults, "armed", [self]):
            yield self


def copied(place: Path, to: Path) -> Path:
    """Copy a state with its results."""
    shutil.copytree(place, to)
    return to


def documents(place: Path, folder: str) -> list[Path]:
    """Return the entries (`journal`) or checkpoints (`checkpoint`) of a state, oldest first."""
    return sorted((place / "state" / folder).glob("[0-9]*.json"))


def photographed(folder: Path, data: Path, files: int, *, stores: bool) -> tuple[Path, list[Path]]:
    """Run twice on some files. Return the place, and what the second run leaves if it is killed after an entry."""
    place = folder / "place"
    place.mkdir()
    SmallRun(place, data, files=files, drain=False, stores=stores).go()
    camera = Camera(place, folder / "pictures", ["entry.durable"])
    with camera.rolling():
        SmallRun(place, data, files=files, drain=False, stores=stores).go()
    return place, [picture for _, picture in camera.taken]
