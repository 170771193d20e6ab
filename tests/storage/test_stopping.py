"""SIGTERM and Ctrl-C: a run with a state ends within seconds, with 0, and the next one has the right results."""

import os
import signal
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.storage.crash.process import RunProcess

pytestmark = pytest.mark.slow

LIMIT_S = 5.0
FILES, ROWS = 3, 1_200_000
START_US = 1_767_225_600_000_000
SLOW = {
    "hashed": "sha{}(repeat(s, 60){}) LIKE 'a%' AND sha{}(repeat(s, 50){}) LIKE '%7'",
    "low": "v < 20",
}
MANY = 120
"""Queries whose results wait to be published."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Parquet files with millions of rows, and large files of JSON."""
    folder = tmp_path_factory.mktemp("inputs")
    chance = np.random.default_rng(7)
    for kind in ("big", "side"):
        (folder / kind).mkdir()
        rows = ROWS if kind == "big" else ROWS // 20
        for number in range(FILES):
            ids = np.arange(number * rows, (number + 1) * rows)
            times = START_US + ids * (100 if kind == "big" else 2000)
            table = {
                "id": ids,
                "at": pa.array(times, pa.timestamp("us", tz="UTC")),
                "v": chance.integers(0, 1000, rows).astype("int32"),
                "k": chance.integers(0, 5000, rows).astype("int32"),
                "s": pa.array([f"x{each}" for each in chance.integers(0, 10**6, rows)]),
            }
            pq.write_table(pa.table(table), folder / kind / f"f{number}.parquet")
    (folder / "json").mkdir()
    with (folder / "json" / "f.json").open("w") as file:
        file.writelines(
            f'{{"id": {each}, "s": "a\\u00e4{each % 77}", "v": {each % 1000}}}\n' for each in range(1_500_000)
        )
    return folder


def stream(inputs, kind):
    columns = "id BIGINT, at TIMESTAMP, v INT, k INT, s STRING"
    path = f"path = '{inputs / kind}', format = 'parquet', timestamp = 'at'"
    return f"CREATE STREAM {kind} ({columns}) FROM files WITH ({path});\n"


def slow_script(inputs):
    """Filters that take many seconds, and a join of two streams."""
    spark = {name: text.format(2, ", 256", 2, ", 256") for name, text in SLOW.items()}
    queries = [f"CREATE QUERY {name} AS SELECT id, v FROM big WHERE {text};\n" for name, text in spark.items()]
    join = (
        "CREATE QUERY joined AS SELECT b.id AS big_id, c.id AS side_id\n"
        "  FROM big [RANGE 10 SECONDS] AS b, side [RANGE 10 SECONDS] AS c WHERE b.k = c.k AND b.v = c.v;\n"
    )
    return stream(inputs, "big") + stream(inputs, "side") + "".join(queries) + join


def slow_results(inputs):
    """What these queries must return, as DuckDB computes it."""
    big, side = (f"'{inputs / kind}/*.parquet'" for kind in ("big", "side"))
    found = {name: f"SELECT id, v FROM {big} WHERE {text.format(256, '', 256, '')}" for name, text in SLOW.items()}
    found["joined"] = (
        f"SELECT b.id AS big_id, c.id AS side_id FROM {big} AS b JOIN {side} AS c ON b.k = c.k AND b.v = c.v "
        "WHERE abs(epoch_us(b.at) - epoch_us(c.at)) <= 10000000"
    )
    return found


class Runs:
    """Runs of one script, one after another, on one state."""

    def __init__(self, folder, text):
        self.out = folder / "out"
        self._folder = folder
        self._script = folder / "script.sql"
        self._script.write_text(text)
        self._count = 0
        self.seconds = {}

    def start(self, *options):
        self._count += 1
        log, state = self._folder / f"{self._count}.log", ["--state", str(self._folder / "state")]
        return RunProcess(self._script, self.out, log, self._folder / "tmp", [*state, *options])

    def stop(self, name, run, number=signal.SIGTERM, *, group=False):
        """Send a signal; check that the run ends in time, and cleanly."""
        began = time.monotonic()
        run.watch()
        assert run.exit_code is None, run.last_words()
        (os.killpg if group else os.kill)(run._process.pid, number)
        code = run.wait(30)
        self.seconds[name] = time.monotonic() - began
        try:
            assert code == 0, (name, code, run.last_words())
            assert self.seconds[name] < LIMIT_S, (name, self.seconds)
            assert not any("Traceback" in line.get("text", "") for line in run.lines()), run.log.read_text()
            assert run.wait_for_java(), "Java outlives the run"
        finally:
            run.clean_up()

    def drain(self):
        run = self.start("--drain")
        try:
            assert run.wait(300) == 0, run.last_words()
        finally:
            run.clean_up()

    def check(self, expected):
        """Compare the results with what DuckDB computes."""
        with duckdb.connect() as duck:
            for name, query in expected.items():
                found = f"SELECT * FROM '{self.out / name}/*.parquet'"
                counts = [
                    duck.execute(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchone()[0]
                    for one, other in ((query, found), (found, query))
                ]
                assert counts == [0, 0], (name, counts)
                assert duck.execute(f"SELECT count(*) FROM ({query})").fetchone()[0], name


def test_while_a_job_of_many_seconds_runs(tmp_path, inputs):
    runs = Runs(tmp_path, slow_script(inputs))
    for name, options in {
        "job": {},
        "job, Ctrl-C": {"number": signal.SIGINT},
        "job, all processes": {"group": True},
    }.items():
        run = runs.start()
        assert run.wait_until(3, from_up=True)
        runs.stop(name, run, **options)
    runs.drain()
    runs.check(slow_results(inputs))


def test_while_it_starts(tmp_path, inputs):
    runs = Runs(tmp_path, slow_script(inputs))
    for wanted in ("starting Spark", "checking "):
        for number in (signal.SIGTERM, signal.SIGINT):
            run = runs.start()
            while not any(line.get("text", "").startswith(wanted) for line in run.lines()):
                time.sleep(0.02)
                assert run.exit_code is None, run.last_words()
            time.sleep(0.5 if wanted == "starting Spark" else 0.0)
            runs.stop(f"{wanted} {number.name}", run, number)
    runs.drain()
    runs.check(slow_results(inputs))


def test_while_results_of_many_queries_wait_to_be_published(tmp_path, inputs):
    queries = {f"q{each}": f"k = {each} AND v > {each % 7}" for each in range(MANY)}
    text = "".join(
        f"CREATE QUERY {name} AS SELECT id, v FROM side WHERE {each};\n" for name, each in queries.items()
    )
    runs = Runs(tmp_path, stream(inputs, "side") + text)
    run = runs.start()
    until = time.monotonic() + 120
    while not run.figures().get("rows_out") and time.monotonic() < until:
        time.sleep(0.1)
    runs.stop("unpublished results", run)
    runs.drain()
    side = f"'{inputs / 'side'}/*.parquet'"
    runs.check({name: f"SELECT id, v FROM {side} WHERE {each}" for name, each in queries.items()})


def test_while_large_text_files_are_read(tmp_path, inputs):
    """Reading them is one step of the loop: the run ends at its last commit, and nothing is rejected."""
    path = inputs / "json"
    text = (
        f"CREATE STREAM j (id BIGINT, s STRING, v INT) FROM files WITH (path = '{path}', format = 'json');\n"
        "CREATE QUERY some AS SELECT id, s FROM j WHERE v = 3;\n"
    )
    runs = Runs(tmp_path, text)
    for name, group in {"reading text": False, "reading text, all processes": True}.items():
        run = runs.start()
        assert run.wait_until(1, from_up=True)
        runs.stop(name, run, group=group)
    runs.drain()
    runs.check({"some": f"SELECT id, s FROM read_json('{path}/f.json') WHERE v = 3"})
    assert not (runs.out / "_rejected").exists()
