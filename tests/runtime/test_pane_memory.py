"""Panes and closed windows that wait are in the memory figures, and take their part of the memory limit."""

from datetime import timedelta
from unittest.mock import patch

import pyarrow as pa
import pytest

from penstock.language import Script
from penstock.policies import Exhaustive
from penstock.runtime.admission import Arrived
from penstock.runtime.dispatch import Dispatcher
from penstock.runtime.engine import Engine
from penstock.runtime.loop import Runtime
from penstock.runtime.memory_sizes import queue_limit
from penstock.runtime.options import RunOptions
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.sinks.memory_sink import MemorySink
from tests.runtime.duck import Duck, next_job
from tests.runtime.test_closings import START
from tests.runtime.test_loop import DuckBackend, Tables

STREAM = "CREATE STREAM s (at TIMESTAMP, v INT) FROM files WITH (path = '.', format = 'json', timestamp = 'at');\n"
BY_VALUE = "SELECT v, count(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 HOUR] GROUP BY v"


def rows(first: int, count: int, second: float = 0) -> pa.Table:
    """Rows with different values, all at one time."""
    times = pa.array([START + timedelta(seconds=second)] * count, pa.timestamp("us", "UTC"))
    return pa.table({"at": times, "v": pa.array(range(first, first + count), pa.int32())})


def engine_of(*selects: str, memory: int | None = None) -> Engine:
    queries = (f"CREATE QUERY q{number} AS {select};\n" for number, select in enumerate(selects))
    script = Script.parse(STREAM + "".join(queries))
    engine = Engine(script.streams, "fifo", Exhaustive(), memory)
    engine.begin(script)
    return engine


def work_off(engine: Engine) -> None:
    while (job := next_job(engine, 1)) is not None:
        engine.commit(job, Duck({})(job.work), 1, 0.01)
    engine.release()


def test_what_panes_leave_of_a_limit():
    assert queue_limit(1000, 0) == 1000
    assert queue_limit(1000, 400) == 600
    assert queue_limit(1000, 999) == queue_limit(1000, 5000) == 250


def test_resident_panes_count_and_stored_ones_do_not(tmp_path):
    """A quarter of the limit is for the panes of all logs; older ones become files."""
    engine = engine_of(BY_VALUE, BY_VALUE.replace("GROUP BY v", "WHERE v >= 0 GROUP BY v"), memory=40_000)
    state = engine.state
    assert state.pane_bytes() == 0
    engine.admit("s", Arrived(rows(0, 500), 0), 1000)
    work_off(engine)
    assert state.pane_bytes() == sum(log.bytes for log in state.panes.values()) > 20_000
    engine.write_segments_by(SegmentWriter(tmp_path))
    for part in range(1, 5):
        engine.admit("s", Arrived(rows(500 * part, 500), 0), 1000)
        work_off(engine)
        assert state.pane_bytes() <= 10_000
    assert sum(log.rows for log in state.panes.values()) == 2 * 2500


def test_closed_windows_of_several_queries_wait_and_count():
    """A window is in the queue of one operator, unlike a row that several operators read."""
    other = BY_VALUE.replace("1 HOUR", "2 HOURS").replace("n FROM", "m FROM")
    engine = engine_of(BY_VALUE, other)
    engine.admit("s", Arrived(rows(0, 3), 0), 10)
    work_off(engine)
    assert engine.state.waiting_bytes() == engine.state.waiting_rows() == 0
    engine.set_watermark("s", None, ended=True)
    engine.settle(2)
    sizes = [queue.bytes for queue in engine.queues.values() if queue.rows]
    assert len(sizes) == 2
    assert engine.state.waiting_bytes() == sum(sizes) > 0
    assert engine.state.waiting_rows() == 2


class Slow(Tables):
    """A source that gives a table when nothing waits, and notes how many rows it is asked for then."""

    running: Runtime

    def __init__(self, tables):
        super().__init__(tables)
        self.asked = []
        self.summaries = []

    def poll(self, now_us, most_rows):
        if self.running.engine.state.waiting_rows() == 0 and not self.running.engine.state.in_flight:
            self.summaries.append(self.running.update_summary())
            self.asked.append((self.summaries[-1].pane_bytes, most_rows))
            yield from super().poll(now_us, most_rows)


class OneQuery(DuckBackend):
    def result_schema(self, query, plan):
        return pa.schema([("v", pa.int32()), ("n", pa.int64())])


MEMORY = 60_000


@pytest.fixture(scope="module")
def run():
    """A run whose panes become larger than its memory: its source, its summary, and what policies were told."""
    text = f"{STREAM}CREATE QUERY q AS {BY_VALUE}; SET memory = '60KB'; SET chunk_rows = 1000; SET shed = false;"
    script, sink, told = Script.parse(text), MemorySink(), []
    source = Slow([rows(200 * part, 200) for part in range(12)])
    running = source.running = Runtime(script, OneQuery(source), [sink], RunOptions.of(script, drain=True))
    with patch.object(Dispatcher, "observe_memory", lambda dispatcher, *figures: told.append(figures)):
        summary = running.run()
    assert sink.results["q"].num_rows == 2400
    return source, summary, told


def test_streams_are_asked_for_less_where_panes_take_memory_and_are_never_stopped(run):
    source, _, _ = run
    (none, most), *_, (panes, least) = source.asked
    assert (none, len(source.asked)) == (0, 12)
    assert panes > MEMORY
    assert 0.1 * most < least < 0.3 * most


def test_policies_are_told_of_panes(run):
    """Of panes that are larger than the limit, three quarters of the limit count."""
    _, _, told = run
    assert max(held for _, held, _ in told) >= 0.75 * MEMORY
    assert max(mean for _, _, mean in told) >= 0.75 * MEMORY
    assert max(held for _, held, _ in told) < MEMORY


def test_summaries_have_panes(run):
    source, last, _ = run
    largest = source.summaries[-1]
    stream = largest.streams["s"]
    assert stream.kept_bytes == stream.pane_bytes == largest.pane_bytes > MEMORY
    assert (last.pane_bytes, last.streams["s"].kept_bytes) == (0, 0)
    assert last.peak_pane_bytes > largest.pane_bytes
    assert last.as_dict()["peak_pane_bytes"] == last.peak_pane_bytes
    assert last.peak_bytes < MEMORY
