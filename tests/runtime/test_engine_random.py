"""The engine on random scripts, data and interleavings, with DuckDB for the jobs: results equal the oracle's."""

from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.language import Script
from penstock.plan.columns import hidden_in
from penstock.plan.steps import Join
from penstock.policies import POLICIES, Exhaustive, Limited
from penstock.runtime import file_admission
from penstock.runtime.admission import Arrived
from penstock.runtime.engine import Engine
from penstock.runtime.group_rows import split
from penstock.runtime.result_limits import ResultLimits
from penstock.runtime.rows import window_cache
from penstock.runtime.rows.segment import ArrivedFiles
from penstock.runtime.rows.time_index import TimeIndexBuilder
from penstock.spark.sources.parquet_segments import Footer, names_in, segment_of
from tests.oracle.datafiles import arrow_table
from tests.oracle.generator import cases, with_variants
from tests.oracle.model import Case, column_list
from tests.oracle.oracle import difference, expected
from tests.oracle.results import sorted_rows
from tests.oracle.shape_parts import MILLISECOND, query, stream, timed
from tests.runtime.duck import Duck, next_job

RUNNABLE = list(POLICIES)
MORE = ["bsd.every(2)", "hnr.level('operator')", "hr.clustered(3)", "hnr.shared('sum')", "chain.level('query')"]
POLICY = st.sampled_from(RUNNABLE + MORE)


class Drive:
    """Lets one thing after another happen to an engine, as a random generator says."""

    def __init__(self, case, random: Random, policy: str, folder: Path) -> None:
        self.case, self.random, self.folder = case, random, folder
        self.stored = random.choice([0.0, 0.5, 1.0])
        definitions = [
            f"CREATE STREAM {s.name} ({column_list(s.columns)}) FROM files WITH "
            f"(path = 'x', format = 'json', timestamp = 'ts', lateness = '{s.lateness_us} us');"
            for s in case.streams
        ] + [f"CREATE TABLE {t.name} ({column_list(t.columns)}) FROM csv WITH (path = 'x');" for t in case.tables]
        self.script = Script.parse(case.script(definitions))
        service = random.choice([Exhaustive(), Limited(1), Limited(7)])
        self.engine = Engine(self.script.streams, policy, service, quantum_s=random.choice([0.0, 0.1, 100.0]))
        self.most = random.choice([None, None, 3, 20, 100])
        if self.most is not None:
            self.engine.units.limits = ResultLimits(most_bytes=1e12, most_results=self.most)
        self.duck = Duck({t.name: arrow_table(t.columns, t.rows, "UTC") for t in case.tables})
        self.rows = {s.name: arrow_table(s.columns, s.rows, "UTC") for s in case.streams}
        self.results: dict[str, list[tuple]] = {query.name: [] for query in case.queries}
        self.uncreated = list(self.script.queries)
        self.kept: set[str] = set()
        self.runs = []
        self.now = 0

    def happen(self) -> None:
        choices = [self.admit, self.admit, self.start, self.start, self.finish, self.finish, self.end_stream]
        self.random.choice([*choices, self.create, self.drop, self.change, self.fail, self.reorder])()
        self.now += self.random.randrange(1, 1000)
        self.settle()

    def settle(self) -> None:
        self.engine.settle(self.now, self.random.randrange(1, 12))
        self.engine.finish_endings()
        self.engine.release()

    def admit(self) -> None:
        name = self.random.choice(list(self.rows))
        count = self.random.randrange(1, 12)
        part, self.rows[name] = self.rows[name].slice(0, count), self.rows[name].slice(count)
        if part.num_rows:
            self.engine.admit(name, self.arrived(name, part), self.random.randrange(1, 12))

    def arrived(self, name: str, part: pa.Table) -> Arrived | ArrivedFiles:
        """Let rows arrive in memory, or in files in which they stay."""
        if self.random.random() >= self.stored:
            return Arrived(part, self.now)
        segments = []
        while part.num_rows:
            count = self.random.randrange(1, 12)
            path = self.folder / f"{name}-{len(list(self.folder.iterdir()))}.parquet"
            pq.write_table(part.slice(0, count), path, row_group_size=self.random.randrange(1, 8))
            stream, footer = self.script.streams[name], Footer.of(path)
            self.names = names_in(footer, stream.columns)
            assert self.names is not None
            segments.append(segment_of(path, footer, stream, self.names))
            part = part.slice(count)
        return ArrivedFiles(tuple(segments), self.now, self.names)

    def end_stream(self) -> None:
        name = self.random.choice(list(self.rows))
        self.engine.streams[name].ended = self.rows[name].num_rows == 0

    def start(self) -> None:
        if len(self.runs) < 3:
            run = next_job(self.engine, self.now)
            if run is not None:
                self.runs.append(run)

    def finish(self) -> None:
        if self.runs:
            run = self.runs.pop(self.random.randrange(len(self.runs)))
            outcome = self.duck(run.work)
            if self.too_many(run, outcome) and self.engine.exceeded(run):
                return
            if run not in self.engine.state.in_flight:  # one row made too many, and here nobody minds
                self.engine.state.in_flight.append(run)
                for edge, chunks in run.taken.items():
                    for each in run.onward(edge):
                        if each in self.engine.queues:
                            self.engine.queues[each].take(float("inf"), sum(chunk.rows for chunk in chunks))
            for emitted in self.engine.commit(run, outcome, self.now, 0.01):
                assert not hidden_in(emitted.rows)
                of_each = split(emitted.rows) if emitted.of_group else [(emitted.name, emitted.rows)]
                for name, rows in of_each:
                    self.results[name] += zip(*[column.to_pylist() for column in rows.columns], strict=True)

    def too_many(self, run, outcome) -> bool:
        """Whether a job passes its limit; one without a limit never makes more than fit."""
        made = sum(table.num_rows for table in outcome.rows.values())
        if run.work.limit is None:
            assert made <= (self.most or 5_000_000), "a job that nobody guards"
            return False
        limit = run.work.limit
        assert run.rows == 1 or not limit.exact
        return made > (limit.results if limit.exact else limit.of_a_task)

    def reorder(self) -> None:
        """Let rows probe in any other order: nothing depends on it."""
        for name, step in self.engine.plan.steps.items():
            if isinstance(step, Join):
                ports = range(len(step.ports))
                others = [[each for each in ports if each != port] for port in ports]
                orders = tuple(tuple(self.random.sample(each, len(each))) for each in others)
                self.engine.state.plan = self.engine.plan.ordered(name, orders)

    def fail(self) -> None:
        if self.runs and self.random.random() < 0.3:
            self.engine.give_back(self.runs.pop())

    def begin(self) -> None:
        self.engine.begin(self.script)
        self.uncreated = []

    def create(self) -> None:
        if self.uncreated:
            self.engine.create(self.script.queries[self.uncreated.pop()])

    def keep(self, name: str) -> None:
        """Create a query that is never dropped."""
        self.uncreated.remove(name)
        self.kept.add(name)
        self.engine.create(self.script.queries[name])

    def drop(self) -> None:
        running = [name for name, state in self.engine.queries.items() if state.status == "running"]
        running = [name for name in running if name not in self.kept]
        if running and self.random.random() < 0.2:
            self.engine.drop(self.random.choice(running))

    def change(self) -> None:
        if self.random.random() < 0.3:
            self.engine.set_policy(self.random.choice([*RUNNABLE, *MORE]))
        self.engine.learn(dict.fromkeys(self.rows, 100.0))

    def drain(self) -> None:
        for _ in range(100_000):
            self.admit()
            self.end_stream()
            self.start()
            self.finish()
            self.now += 10
            self.settle()
            idle = not self.runs and not self.engine.state.waiting_rows()
            if idle and all(self.engine.streams[name].ended for name in self.rows):
                return
        raise AssertionError("the engine does not come to an end")

    def sequences(self, stream: str, first: int, end: int) -> tuple[int, int]:
        """The oracle numbers only rows that have a time."""
        if stream not in self.rows:  # rows of derived streams all have one
            return first, end
        data = self.case.stream(stream)
        place = [name for name, _ in data.columns].index("ts")
        known = [row[place] is not None for row in data.rows]
        return sum(known[:first]), sum(known[:end])


def check(case, seed: int, policy: str, variants: int = 1) -> None:
    random = Random(seed)
    case = with_variants(case, random, variants)
    small_blocks = partial(TimeIndexBuilder, random.choice([1, 3, 4096]))
    in_memory = random.choice([0, 1000, window_cache.MOST_BYTES])
    with (
        TemporaryDirectory() as folder,
        patch.object(file_admission, "TimeIndexBuilder", small_blocks),
        patch.object(window_cache, "MOST_BYTES", in_memory),
    ):
        run(Drive(case, random, policy, Path(folder)), case, random, policy, seed)


def run(drive: Drive, case, random: Random, policy: str, seed: int) -> None:
    begun = random.random()
    if begun < 0.4:
        drive.begin()
    elif begun < 0.7:
        while drive.uncreated:
            drive.create()
    for _ in range(random.randrange(60)):
        drive.happen()
    while drive.uncreated:
        drive.create()
    drive.drain()
    for name, state in drive.engine.queries.items():
        ends = state.ends or {s: drive.engine.streams[s].next_sequence for s in state.starts}
        ranges = {s: drive.sequences(s, first, ends[s]) for s, first in state.starts.items()}
        wanted = expected(case, name, ranges)
        got = sorted_rows([tuple(_plain(value) for value in row) for row in drive.results[name]])
        assert difference(wanted, got) == "", (name, policy, seed, ranges)
        assert drive.engine.recorder.queries[name].response.count == len(got)
        assert state.status == ("ended" if state.ends else "running")
    assert all(log.rows == 0 for log in drive.engine.streams.values()), "windows that nobody needs are kept"


def _plain(value):
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") and value.tzinfo else value


@settings(max_examples=20, deadline=None)
@given(case=cases(max_rows=25, combined=20_000), seed=st.integers(0, 2**32), policy=POLICY)
def test_results_do_not_depend_on_what_happens_when(case, seed, policy):
    check(case, seed, policy)


def joins_of_two(random: Random) -> Case:
    """Two streams, or one with itself, joined by equal keys: windows of time and of rows, rows out of order."""
    streams = []
    for name in ("a", "b"):
        jitter = random.choice([0, 0, 300 * MILLISECOND])
        rows = [
            (at, random.choice([None, 1, 2, 3]), number)
            for number, at in enumerate(timed(random, random.randrange(5, 60), jitter))
        ]
        columns = [("ts", "TIMESTAMP"), ("k", "INT"), ("v", "INT")]
        streams.append(stream(name, columns, rows, random, timestamp="ts", lateness_us=jitter // 2))
    queries = []
    for number in range(2):
        kinds = [(f"RANGE {random.randrange(2_000_000)}", f"ROWS {random.randrange(1, 9)}") for _ in "xy"]
        sizes = [random.choice(each) for each in kinds]
        left, right = random.choice([("a", "b"), ("b", "a"), ("a", "a")])
        where = random.choice(["x.k = y.k", "x.k = y.k AND x.v > 5", "x.k = y.k AND x.v < y.v"])
        sources = f"{left} [{sizes[0]}] AS x, {right} [{sizes[1]}] AS y"
        queries.append(query(f"q{number}", "x.v AS v, y.v AS w", sources, where))
    return Case(streams, [], queries)


def test_both_streams_of_a_join_in_one_job(tmp_path):
    """Of stored rows, a job takes both streams: it gets only the rows of windows that it does not take."""
    random = Random(22)
    met = [drive_joins(random, tmp_path / str(number)) for number in range(15)]
    assert sum(met) > 15, "hardly any job took both streams"


def drive_joins(random: Random, folder: Path) -> int:
    """Check a script; return how many jobs took both streams of a join, and had other rows in the windows."""
    folder.mkdir()
    case, policy = joins_of_two(random), random.choice(["hnr", "bsd", "fifo", "greedy", "segment"])
    drive = Drive(case, random, policy, folder)
    drive.stored = random.choice([0.9, 1.0])
    met = []

    def noted(work):
        met.extend(any(other.num_rows for other in both.others) for both in work.symmetric.values())
        return duck(work)

    duck, drive.duck = drive.duck, noted
    run(drive, case, random, policy, 22)
    return sum(met)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(case=cases(max_rows=30, combined=30_000), seed=st.integers(0, 2**32), policy=POLICY)
def test_results_do_not_depend_on_what_happens_when_tried_often(case, seed, policy):
    check(case, seed, policy, variants=3)
