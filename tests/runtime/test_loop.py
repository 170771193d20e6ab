"""The loop without Spark: DuckDB does the jobs, a list of tables is the source."""

import threading

import pyarrow as pa
import pytest

from penstock.errors import RunError
from penstock.language import Script
from penstock.runtime.admission import Arrived
from penstock.runtime.listeners import Listeners
from penstock.runtime.loop import Runtime
from penstock.runtime.options import RunOptions
from penstock.sinks.memory_sink import MemorySink
from tests.runtime.duck import Duck

SCRIPT = """
CREATE STREAM s (v INT) FROM poisson WITH (rate = 10, rows = 10);
CREATE QUERY low AS SELECT v FROM s WHERE v < 3;
CREATE QUERY twice AS SELECT v * 2 AS w FROM s;
"""


class Tables:
    """A source that gives one table per poll; `before` is called with the number of the poll."""

    buffer_bytes = held_bytes = 0

    def __init__(self, tables, before=lambda number: None):
        self._tables = list(tables)
        self._before = before
        self._polls = 0
        self.closed = False

    @property
    def ended(self):
        return not self._tables

    def poll(self, now_us, most_rows):
        self._polls += 1
        self._before(self._polls)
        if self._tables:
            yield Arrived(self._tables.pop(0), now_us)

    def watermark(self, now_us):
        return None

    def offered(self, now_us):
        return None

    def stop(self, now_us):
        self._tables.clear()

    def close(self):
        self.closed = True


class DuckBackend:
    """Runs work on DuckDB, or raises what `fail` returns."""

    slots, result_bytes, errors, segments = 1, 1e9, (OSError,), None

    def __init__(self, source, fail=lambda work: None):
        self.source = source
        self.jobs = 0
        self._fail = fail
        self._duck = Duck({})

    def run(self, work):
        self.jobs += 1
        error = self._fail(work)
        if error is not None:
            raise error
        return self._duck(work)

    def open_source(self, stream, position=None):
        return self.source

    def result_schema(self, query, plan):
        return pa.schema([("v" if query.name == "low" else "w", pa.int32())])

    def may_group(self, template):
        return False

    def explain(self, error):
        return str(error)

    def unreadable_file(self, error):
        return None

    def check_alive(self):
        pass

    def interrupt(self):
        pass


def table(*values):
    return pa.table({"v": pa.array(values, pa.int32())})


def runtime(backend, *sinks, listeners=None, **options):
    script = Script.parse(SCRIPT)
    return Runtime(script, backend, sinks, RunOptions.of(script, **options), listeners)


def test_a_run_is_drained_without_spark():
    sink, events = MemorySink(), []
    backend = DuckBackend(Tables([table(1, 2, 3), table(4, 0)]))
    summary = runtime(backend, sink, listeners=Listeners(on_event=events.append), drain=True).run()
    assert sorted(sink.results["low"]["v"].to_pylist()) == [0, 1, 2]
    assert sorted(sink.results["twice"]["w"].to_pylist()) == [0, 2, 4, 6, 8]
    assert (summary.rows_in, summary.rows_out, summary.abandoned_rows) == (5, 8, 0)
    assert {query.status for query in summary.queries.values()} == {"ended"}
    assert backend.source.closed
    assert events == []


def test_a_query_that_fails_is_found_and_the_other_goes_on():
    def fail(work):
        reached = work.only or {edge.target for edge in (*work.takes, *work.through)}
        return ValueError("boom") if any("twice" in work.plan.network.users[name] for name in reached) else None

    sink, events = MemorySink(), []
    backend = DuckBackend(Tables([table(1, 2, 3)]), fail)
    summary = runtime(backend, sink, listeners=Listeners(on_event=events.append), drain=True).run()
    assert events == ["query twice stopped: boom"]
    assert (summary.failed, summary.queries["twice"].reason) == (("twice",), "boom")
    assert sink.results["low"]["v"].to_pylist() == [1, 2]
    assert sink.results["twice"].num_rows == 0


def test_a_job_that_fails_while_the_run_is_stopped_has_no_consequences():
    """`stop` comes during a poll, after the loop has looked whether it should go on."""
    raised = threading.Event()

    def fail(work):
        raised.set()
        return ValueError("boom")

    def before(number):
        if number == 2:
            assert raised.wait(10)
            running.stop()

    backend = DuckBackend(Tables([table(1), table(2), table(3)], before), fail)
    running = runtime(backend, MemorySink())
    summary = running.run()
    assert {query.status for query in summary.queries.values()} == {"stopped"}
    assert backend.jobs <= 2
    assert summary.abandoned_rows == 2


def test_rows_of_jobs_in_flight_are_abandoned_even_if_a_sink_fails():
    class Full(MemorySink):
        def emit(self, query, rows):
            raise RunError("disk full")

    backend = DuckBackend(Tables([table(1, 2, 3)]))
    with pytest.raises(RunError, match="disk full"):
        runtime(backend, Full(), drain=True).run()
    assert backend.source.closed


JOINED = """
CREATE STREAM a (v INT, at TIMESTAMP) FROM files WITH (path = '.', format = 'csv', timestamp = 'at');
CREATE STREAM b (v INT, at TIMESTAMP) FROM files WITH (path = '.', format = 'csv', timestamp = 'at');
CREATE QUERY both AS SELECT a.v FROM a [RANGE 1 HOUR], b [RANGE 1 HOUR] WHERE a.v = b.v;
SET memory = '20KB';
SET chunk_rows = 100;
"""


class JoinedBackend(DuckBackend):
    """Has a source for each stream."""

    def open_source(self, stream, position=None):
        return self.source[stream.name]

    def result_schema(self, query, plan):
        return pa.schema([("v", pa.int32())])


def test_a_run_has_not_settled_while_a_stream_without_room_must_be_read():
    """The rows of `a` fill the memory and wait for `b`, which is read all the same."""
    rows = pa.table(
        {"v": pa.array(range(2000), pa.int32()), "at": pa.array(range(2000), pa.timestamp("us", "UTC"))}
    )
    script, sink, found = Script.parse(JOINED), MemorySink(), []
    backend = JoinedBackend({name: Tables([rows]) for name in "ab"})
    running = Runtime(script, backend, [sink], RunOptions.of(script, drain=True))
    running.settle().add_done_callback(lambda done: found.append(sink.results["both"].num_rows))
    running.run()
    assert found == [2000]
