"""Sources that go on after a kill: Structured Streaming, generated, sockets, files that were read in part."""

import socket
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from penstock.sinks.read import read
from tests.storage.crash.process import RunProcess

pytestmark = pytest.mark.slow

STRUCTURED = """
CREATE STREAM s (value BIGINT, timestamp TIMESTAMP)
  FROM structured WITH (format = 'rate', rowsPerSecond = 2000, timestamp = 'timestamp');
CREATE QUERY thirds AS SELECT value FROM s WHERE value % 3 = 0;
CREATE QUERY pairs AS SELECT x.value AS one, y.value AS other FROM s [RANGE 1 SECOND] AS x, s [RANGE 1 SECOND] AS y
  WHERE x.value + 1 = y.value AND x.value % 10 = 0;
SET rows = '{rows}';
SET publish = '500 ms';
"""
GENERATED = """
CREATE STREAM g (k INT, v INT) FROM poisson WITH (rate = 2000, rows = 24000, k_high = 50, seed = 3);
CREATE STREAM h (k INT, w INT) FROM bursty WITH (rate = 300, rows = 4000, k_high = 50, seed = 4);
CREATE QUERY large AS SELECT k, v FROM g WHERE v > 50;
CREATE QUERY met AS SELECT g.k, v, w FROM g [ROWS 20] AS g, h [RANGE 200 MILLISECONDS] AS h WHERE g.k = h.k;
"""


class Runs:
    """Runs of one script with one state, one after another."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder, self.out, self.state = folder, folder / "out", folder / "state"
        self.script = folder / "script.sql"
        self.script.write_text(text, encoding="utf-8")
        self.count = 0

    def start(self, *options: str, fault: str | None = None) -> RunProcess:
        self.count += 1
        state = ["--state", str(self.state)]
        log, temporary = self.folder / f"log{self.count}", self.folder / "tmp"
        return RunProcess(self.script, self.out, log, temporary, [*state, *options], fault)

    def killed_at(self, fault: str, *options: str) -> None:
        """Run until the run kills itself at a fault point."""
        run = self.start(*options, fault=fault)
        try:
            assert run.wait(90) == -9, run.last_words()
            assert run.wait_for_java()
        finally:
            run.clean_up()

    def drained(self, *options: str) -> None:
        """Run to the end."""
        run = self.start("--drain", *options)
        try:
            assert run.wait(120) == 0, run.last_words()
        finally:
            run.clean_up()

    def rows(self, query: str) -> list[tuple]:
        """The results of a query, sorted."""
        return sorted(tuple(row.values()) for row in read(self.out, query).to_pylist())


@pytest.mark.parametrize("rows", ["auto", "stored"])
def test_structured_streaming_goes_on_where_it_was(tmp_path, rows):
    runs = Runs(tmp_path, STRUCTURED.format(rows=rows))
    for fault in ("entry.durable:6", "reveal.before:3", "results.written:5"):
        runs.killed_at(fault)
    runs.drained("--seconds", "3")
    values = [value for (value,) in runs.rows("thirds")]
    assert len(values) > 1000
    assert values == list(range(0, values[-1] + 1, 3))  # none is missing, none is there twice
    last = values[-1]
    pairs = [(one, other) for one, other in runs.rows("pairs") if other <= last]
    assert pairs == [(one, one + 1) for one in range(0, last, 10)]
    before = landed(runs)
    for _ in range(2):  # a file goes one checkpoint after the last that needed it
        runs.drained("--seconds", "3")
    assert not before & landed(runs), "batches that nothing needs are still there"


def landed(runs: Runs) -> set[str]:
    """The batches that are in the state."""
    return {path.name for path in (runs.state / "landings" / "landing-s").glob("batch=*")}


def test_generated_streams_go_on_where_they_were(tmp_path):
    """Times between runs do not count, so that the results are those of one run."""
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    whole, runs = Runs(tmp_path / "one", GENERATED), Runs(tmp_path / "many", GENERATED)
    whole.drained()
    for fault in ("entry.durable:5", "rows.written:9", "reveal.before:4"):
        runs.killed_at(fault)
    runs.drained()
    assert len(whole.rows("large")) > 1000
    for query in ("large", "met"):
        assert Counter(runs.rows(query)) == Counter(whole.rows(query)), query


def test_of_a_socket_what_was_committed_is_there_once(tmp_path):
    """Lines that were sent and not committed are lost with the process; none is there twice."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    runs = Runs(
        tmp_path,
        f"CREATE STREAM s (id BIGINT) FROM socket WITH (port = {port}, format = 'json');\n"
        "CREATE QUERY all_of_it AS SELECT id FROM s;\nSET publish = '500 ms';",
    )
    ended = threading.Event()
    sender = threading.Thread(target=_send, args=(port, ended), daemon=True)
    sender.start()
    runs.killed_at("entry.durable:8")
    before = runs.rows("all_of_it")
    runs.killed_at("reveal.before:6")
    runs.drained("--seconds", "4")
    ended.set()
    sender.join()
    ids = [found for (found,) in runs.rows("all_of_it")]
    assert len(ids) == len(set(ids)) > 100
    assert set(before) <= {(found,) for found in ids}


def _send(port: int, ended: threading.Event) -> None:
    """Send lines with rising numbers, to one run after another."""
    number = 0
    while not ended.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port)) as client:
                while not ended.is_set():
                    client.sendall("".join(f'{{"id": {number + i}}}\n' for i in range(20)).encode())
                    number += 20
                    time.sleep(0.02)
        except OSError:
            time.sleep(0.05)


def test_a_file_that_was_read_in_part_must_be_there(tmp_path):
    """Where the rows of other files are is not known then: nothing is guessed."""
    text = (
        f"CREATE STREAM s (id BIGINT) FROM files WITH (path = '{tmp_path}/in', format = 'json');\n"
        "CREATE QUERY all_of_it AS SELECT id FROM s;\nSET memory = '6MB'; SET rows = 'resident';"
    )
    folder = tmp_path / "in"
    folder.mkdir()
    count = 1_500_000  # the driver reads a part of a file at once
    for number in range(2):
        ids = range(number * count, (number + 1) * count)
        (folder / f"{number}.json").write_text("".join(f'{{"id": {i}}}\n' for i in ids))
    runs = Runs(tmp_path, text)
    runs.killed_at("entry.durable:2")
    first = folder / "0.json"
    kept = first.rename(tmp_path / "kept.json")
    run = runs.start("--drain")
    try:
        assert run.wait(90) == 1
        assert "0.json is gone; it had " in run.last_words()
    finally:
        run.clean_up()
    kept.rename(first)
    runs.drained()
    assert [found for (found,) in runs.rows("all_of_it")] == list(range(2 * count))
