"""The loop: admit what arrives, ask the policy, run one unit as one job, emit, record."""

import contextlib
import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PenstockError, RunError
from penstock.language.script import Script
from penstock.language.statements import Drop, QueryDef, Setting, Statement
from penstock.policies import Exhaustive, Limited, Policy
from penstock.qos import Goals
from penstock.qos.settings import SETTINGS as CHOOSING
from penstock.qos.what_if import WhatIf
from penstock.runtime.checks import check_script, policy_settings
from penstock.runtime.clock import Clock, Stopwatch, WallClock
from penstock.runtime.engine import Engine
from penstock.runtime.failures import culprits, too_many_of_one_row, users
from penstock.runtime.load_control import LOOK_US, RunCounters, Shedding
from penstock.runtime.memory_limit import (
    CHUNK_ROWS,
    CHUNK_US,
    FILLED,
    buffer_bytes,
    check_memory,
    reserved_bytes,
    room_rows,
    row_bytes,
)
from penstock.runtime.policy_control import PolicyControl
from penstock.runtime.query_state import Job
from penstock.runtime.refresh import Refresh
from penstock.runtime.rejections import Rejections
from penstock.runtime.result_limits import ResultLimits, TooManyResults
from penstock.runtime.summary import Counts, Summary, join_summaries, query_summary, stream_summary
from penstock.sinks.sink import Sink
from penstock.spark.driver_memory import RESULTS_SHARE
from penstock.spark.job import JobBuilder, Outcome, Work
from penstock.spark.prepare import loaded_tables
from penstock.spark.query_checks import QueryChecks
from penstock.spark.session import check_alive, explained, heap_of, slots_of
from penstock.spark.sources import Source, opened_source
from penstock.spark.sources.source import Surroundings

POLICY = "bsd"
MEMORY = 256 * 1024 * 1024
QUANTUM_US = 500_000
PUBLISH_US = 5_000_000
IN_FLIGHT = 1
_NAP_S, _BUSY_NAP_S = 0.01, 0.03
_RELEARN_US, _LENT_S = 1_000_000, 0.1
_PUBLISH_ANYWAY_US = 60_000_000
_GIVE_UP = 3
_LAST_JOB_S = 5.0
_TOLD_S = 5.0
_ONLY_QUERIES = "while a script runs, queries can be created and dropped; streams and tables cannot"


@dataclass
class _Request:
    statements: list[Statement]
    said: list[str] = field(default_factory=list)
    done: "Future[list[str]]" = field(default_factory=Future)


class Runtime:
    """A running script. `run` is the loop; everything else may be called from other threads."""

    def __init__(
        self,
        script: Script,
        spark: SparkSession,
        sinks: list[Sink],
        scratch: Path,
        *,
        policy: str | Policy | None = None,
        qos: Goals | str | Mapping[str, float] | None = None,
        selector: str | None = None,
        drain: bool = False,
        seconds: float | None = None,
        chunk_rows: int | None = None,
        batch_rows: int | None = None,
        in_flight: int | None = None,
        clock: Clock | None = None,
        on_event: Callable[[str], object] | None = None,
        on_tick: Callable[[Summary], object] | None = None,
        on_stage: Callable[[str], object] | None = None,
    ) -> None:
        check_script(script, policy, drain=drain, seconds=seconds)
        settings = script.settings
        self.script = script
        self._spark = spark
        self._sinks = sinks
        self._drain = drain
        self._seconds = seconds
        self._chunk_rows = chunk_rows or settings.get("chunk_rows", CHUNK_ROWS)
        self._memory = settings.get("memory", MEMORY)
        batch = batch_rows or settings.get("batch_rows")
        service = Exhaustive() if batch is None else Limited(batch)
        quantum_s = settings.get("quantum", QUANTUM_US) / 1e6
        self._clock = clock or WallClock()
        self._on_event = on_event or (lambda text: None)
        self._on_tick = on_tick or (lambda summary: None)
        self._in_flight = in_flight or settings.get("in_flight", IN_FLIGHT)
        self._around = Surroundings(
            spark, script.folder, drain, seconds, self._chunk_rows, settings.get("chunk_time", CHUNK_US), scratch,
            self._on_event, buffer_bytes(self._memory, len(script.streams)),
        )  # fmt: skip
        if "memory" in settings:
            self._check_memory(self._memory)
        tell = on_stage or (lambda text: None)
        if script.tables:
            tell(f"reading {'table' if len(script.tables) == 1 else 'tables'} {', '.join(script.tables)}")
        self._frames = loaded_tables(self._around, script.tables)
        self._checks = QueryChecks(self._frames, script.name, grouping=settings.get("groups", True))
        self.engine = Engine(
            script.streams,
            policy or settings.get("policy", POLICY),
            service,
            settings.get("memory"),
            self._checks.may_group,
            quantum_s,
            slots_of(spark),
            settings.get("optimize", True),
        )
        self.engine.limits = ResultLimits(heap_of(spark) * RESULTS_SHARE / self._in_flight)
        self._selecting = PolicyControl(
            self.engine,
            policy_settings(script, qos, selector),
            WhatIf(self.engine, service, quantum_s, self._in_flight, settings.get("memory")),
            self._on_event,
            pinned=policy is not None,
        )
        self._sheds = settings.get("shed", "memory" in settings and not drain)
        self._shedding = Shedding(self.engine, self._in_flight)
        count = len(script.queries)
        tell(f"checking {count:,} {'query' if count == 1 else 'queries'}")
        self.engine.begin(script)
        told = time.monotonic()
        for place, query in enumerate(script.queries.values()):
            if time.monotonic() - told > _TOLD_S:
                tell(f"checked {place:,} of {count:,} queries")
                told = time.monotonic()
            self._open(query)
        self._counts = {name: Counts(Rejections(name)) for name in script.streams}
        self._requests: deque[_Request] = deque()
        self._settling: deque[Future[None]] = deque()
        self._stopping = threading.Event()
        self._finishing = False
        self._jobs: dict[Future[tuple[Outcome, float]], Job] = {}
        self._failures = 0
        self._started = self._now = self._clock.now_us()
        self._relearned = self._published = self._looked = self._started
        self._napped_us = 0
        self._refresh = Refresh(self._tick)
        self._choosing, self._learning, self._relearning = Stopwatch(), Stopwatch(), Stopwatch()
        self._publish_us = settings.get("publish", PUBLISH_US)
        self._publish_took_us = 0
        self._publisher = ThreadPoolExecutor(1, thread_name_prefix="penstock-publish")
        self._publishing: Future[object] | None = None
        self._peak = 0
        self._abandoned = 0
        self._memory_sum, self._memory_looks = 0.0, 0
        self._sources: dict[str, Source] = {}
        self._latest = self._summary()

    # From other threads -------------------------------------------------------------------------------------

    def execute(self, sql: str, timeout: float = 60.0) -> list[str]:
        """Carry out CREATE QUERY, DROP QUERY and SET while the script runs; return what happened.

        A query that is created sees the rows that arrive from then on; the text says from which sequence number.
        """
        statements = list(self.script.read_statements(sql))
        for statement in statements:
            if not isinstance(statement, QueryDef | Drop | Setting):
                raise RunError(_ONLY_QUERIES)
        return self.request(statements).result(timeout)

    def request(self, statements: list[Statement]) -> "Future[list[str]]":
        """Hand statements to the loop."""
        request = _Request(list(statements))
        self._requests.append(request)
        return request.done

    def settle(self) -> "Future[None]":
        """Ask to be told when everything that has arrived by now is worked off, as far as it can be.

        Rows that wait for another stream to come as far as they are wait on.
        """
        asked: Future[None] = Future()
        self._settling.append(asked)
        return asked

    def stop(self) -> None:
        """End the run soon: the job that runs is finished, what waits is abandoned and counted."""
        self._stopping.set()

    # The loop -----------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Run until the streams end (draining), the time is over, or `stop` is called."""
        # What thousands of queries are made of stays until the end: a full collection would look at all of it
        # for most of a second
        gc.freeze()
        try:
            for name, stream in self.script.streams.items():
                self._sources[name] = opened_source(stream, self._around)
            self._started = self._relearned = self._looked = self._clock.now_us()
            self._refresh.begin(self._started)
            if self.engine.policy.clairvoyant:
                name = self.engine.policy.name
                self._on_event(f"policy {name} knows the future; here it takes what was measured")
            self._selecting.begin(self._started)
            self._publish()
            with ThreadPoolExecutor(self._in_flight, thread_name_prefix="penstock-job") as pool:
                try:
                    self._loop(pool)
                finally:
                    self._leave()
            self._publisher.shutdown()
            self.engine.end(worked_off=self._done())
            for sink in self._sinks:
                sink.close()
        finally:
            gc.unfreeze()
            for source in self._sources.values():
                with contextlib.suppress(PySparkException, OSError):
                    source.close()
            self._refuse_requests()
        return self.look()

    def _loop(self, pool: ThreadPoolExecutor) -> None:
        while not self._stopping.is_set():
            self._now = self._clock.now_us()
            asked = list(self._settling)
            self._obey()
            if self._over_time():
                return
            admitted = self._admit()
            committed = self._collect()
            for name in self.engine.finish_endings():
                self._on_event(f"query {name} ended")
            with self._learning:
                if (admitted or committed) and len(self._jobs) < self._in_flight:
                    self.engine.release()
                    self._learn()
            self._watch()
            submitted = self._submit(pool)
            if self._done():
                self._tell(asked)
                return
            if not (admitted or committed or submitted):
                if not self._jobs:
                    self._tell(asked)
                self._rest()

    def _tell(self, asked: "list[Future[None]]") -> None:
        for each in asked:
            self._settling.remove(each)
            each.set_result(None)

    def _over_time(self) -> bool:
        """Whether the time is over; when draining, the streams end then and the rest is worked off."""
        if self._seconds is None or self._finishing or self._now - self._started < self._seconds * 1e6:
            return False
        if not self._drain:
            return True
        self._finishing = True
        for source in self._sources.values():
            source.stop(self._now)
        return False

    def _rest(self) -> None:
        if self._jobs:
            wait(self._jobs, timeout=_BUSY_NAP_S, return_when=FIRST_COMPLETED)
        elif self._held_up():
            return
        else:
            start = self._clock.now_us()
            self._clock.wait(_NAP_S)
            self._napped_us += self._clock.now_us() - start

    def _done(self) -> bool:
        if self._jobs or self._requests:
            return False
        if not any(state.live for state in self.engine.queries.values()) and self.engine.queries:
            failed = all(state.status == "failed" for state in self.engine.queries.values())
            return failed or self._drain
        return all(source.ended for source in self._sources.values()) and not self.engine.waiting_rows()

    def _leave(self) -> None:
        """Finish the jobs that run; what takes too long is interrupted, and what waits is counted."""
        if self._jobs:
            finished, late = wait(self._jobs, timeout=_LAST_JOB_S)
            if late:
                self._spark.interruptAll()
                wait(late, timeout=_LAST_JOB_S)
            self._now = self._clock.now_us()
            with contextlib.suppress(PenstockError):
                self._collect(only=finished)
        self._abandoned = self.engine.waiting_rows() + sum(run.rows for run in self._jobs.values())

    # Arrivals -----------------------------------------------------------------------------------------------

    def _admit(self) -> bool:
        """Ask every source that has room for its rows, for as many as have room."""
        some = False
        for name, source in self._sources.items():
            most = self._room(name)
            self._counts[name].held = most < 1
            if most >= 1:
                some = self._poll(name, source, most) or some
        if some:
            self._peak = max(self._peak, self._held())
        return some

    def _held(self) -> int:
        """Return the bytes that wait: in queues, and in what sources have taken from outside."""
        return self.engine.waiting_bytes() + sum(source.held_bytes for source in self._sources.values())

    def _room(self, name: str) -> int:
        """Return how many rows of a stream have room: in its share of the memory, and in what is left of all."""
        counts, log = self._counts[name], self.engine.streams[name]
        buffers = (source.buffer_bytes for source in self._sources.values())
        limit = FILLED * self._memory - reserved_bytes(self._memory, buffers)
        left = min(limit / len(self._sources) - self.engine.backlog(name), limit - self.engine.waiting_bytes())
        fitting = room_rows(left, counts.bytes_a_row or row_bytes(log.definition), log.box.keep)
        least = 0 if self.engine.waiting_bytes() else 1  # where nothing waits, a row has room however large it is
        return max(min(fitting, 4 * self._chunk_rows), least)

    def _held_up(self) -> bool:
        """If rows wait for a stream that is held back itself, read that one anyway: nothing else could go on."""
        blocking = self.engine.waited_for()
        held = [name for name in blocking if self._counts[name].held and not self._sources[name].ended]
        if not held:
            return False
        furthest_back = min(held, key=lambda name: self.engine.streams[name].watermark)
        return self._poll(furthest_back, self._sources[furthest_back], self._chunk_rows)

    def _poll(self, name: str, source: Source, most_rows: int) -> bool:
        log, counts = self.engine.streams[name], self._counts[name]
        if log.ended:
            return False
        some = False
        for arrived in source.poll(self._now, most_rows):
            passed = self.engine.admit(name, arrived, self._chunk_rows)
            some = some or bool(arrived.rows.num_rows)
            counts.rows += arrived.rows.num_rows
            counts.kept += passed.rows.num_rows
            counts.bytes += passed.rows.nbytes
            if passed.rejected.num_rows:
                for text in counts.rejections.take(passed.rejected):
                    self._on_event(text)
                for sink in self._sinks:
                    sink.reject(name, passed.rejected)
            self._refresh.at(self._clock.now_us())  # one file after another may take many seconds
        log.source_watermark = source.watermark(self._now)
        log.ended = source.ended
        self._mind_silence(name, some)
        return some

    def _mind_silence(self, name: str, some: bool) -> None:
        idle_us = self.script.streams[name].idle_us
        counts = self._counts[name]
        if some or counts.silent_since is None:
            counts.silent_since = self._now
            self.engine.idle.discard(name)
        elif idle_us is not None and not self._drain and self._now - counts.silent_since >= idle_us:
            self.engine.idle.add(name)

    # Jobs ---------------------------------------------------------------------------------------------------

    def _submit(self, pool: ThreadPoolExecutor) -> bool:
        some = False
        while len(self._jobs) < self._in_flight:
            with self._choosing:
                # A decision among thousands takes a while: not more than a sixtieth of what it decides about
                units = self.engine.choose(self._now, 60 * self._choosing.last)
            if not units:
                break
            run = self.engine.take(units)
            self._jobs[pool.submit(self._timed, run.work)] = run
            some = True
        return some

    def _timed(self, work: Work) -> tuple[Outcome, float]:
        start = self._clock.now_us()
        outcome = self._execute(work)
        return outcome, (self._clock.now_us() - start) / 1e6

    def _execute(self, work: Work) -> Outcome:
        return JobBuilder(self._frames, work).run()

    def _collect(self, only: "set[Future[tuple[Outcome, float]]] | None" = None) -> bool:
        """Take in the jobs that have finished."""
        finished = [job for job in self._jobs if (job.done() if only is None else job in only)]
        for job in finished:
            run = self._jobs.pop(job)
            error = job.exception()
            if error is not None:
                self._failed(run, error)
                continue
            self._failures = 0
            outcome, seconds = job.result()
            for emitted in self.engine.commit(run, outcome, self._clock.now_us(), seconds):
                for sink in self._sinks:
                    (sink.emit_group if emitted.of_group else sink.emit)(emitted.name, emitted.rows)
        return bool(finished)

    def _failed(self, run: Job, error: BaseException) -> None:
        """Find out whose fault a failed job was, and stop those queries."""
        if not isinstance(error, TooManyResults):
            self.engine.give_back(run)
        if not isinstance(error, Exception):
            raise error
        if isinstance(error, TooManyResults):
            self._made_too_many(run)
            return
        if self._stopping.is_set():
            return
        self._failures += 1
        found = culprits(self.engine, run, self._execute)
        if found:
            self._stop_queries(found)
        elif self._failures >= _GIVE_UP:
            raise RunError(f"a job failed {_GIVE_UP} times, and no query alone is to blame: {explained(error)}")

    def _made_too_many(self, run: Job) -> None:
        """Try a run again with fewer rows; if there is but one, stop the queries for which that is too much."""
        if self.engine.exceeded(run) or self._stopping.is_set():
            return
        reason = too_many_of_one_row(run)
        found = culprits(self.engine, run, self._execute, reason)
        self._stop_queries(found or dict.fromkeys(users(self.engine, run), reason))

    def _stop_queries(self, reasons: Mapping[str, str]) -> None:
        check_alive(self._spark)
        for name, reason in reasons.items():
            self.engine.stop(name, reason)
            self._on_event(f"query {name} stopped: {reason}")

    # What is asked for --------------------------------------------------------------------------------------

    def _obey(self) -> None:
        """Carry out what was asked for, in order; a query's name is free again when its namesake has ended."""
        while self._requests:
            request = self._requests[0]
            try:
                while request.statements:
                    if self._must_wait(request.statements[0]):
                        return
                    request.said.append(self._carry_out(request.statements.pop(0)))
                    self._on_event(request.said[-1])
                self.look()
                request.done.set_result(request.said)
            except PenstockError as error:
                request.done.set_exception(error)
            self._requests.popleft()

    def _must_wait(self, statement: Statement) -> bool:
        state = self.engine.queries.get(statement.name)
        return isinstance(statement, QueryDef) and state is not None and state.status == "ending"

    def _carry_out(self, statement: Statement) -> str:
        if isinstance(statement, QueryDef):
            said = self._create(statement)
        elif isinstance(statement, Drop):
            name = next((name for name in self.engine.queries if name.lower() == statement.name.lower()), None)
            if name is None or name not in self.script.queries:
                raise RunError(f"there is no running query {statement.name!r} to drop")
            if self.engine.queries[name].live:
                said = f"query {name} ends before {_places(self.engine.drop(name).ends or {})}"
            else:
                said = f"query {name} had stopped already"
        elif isinstance(statement, Setting) and statement.name == "memory":
            said = self._set_memory(statement.value)
        elif isinstance(statement, Setting) and statement.name == "shed":
            said = self._set_shed(statement.value)
        elif isinstance(statement, Setting) and statement.name in CHOOSING:
            said = self._selecting.set(statement.name, statement.value)
        elif isinstance(statement, Setting):
            raise RunError(f"setting {statement.name!r} cannot be changed while a script runs")
        else:
            raise RunError(_ONLY_QUERIES)
        self.script = self.script.with_statements([statement])
        return said

    def _set_memory(self, memory: int) -> str:
        """Go on with another limit; one that is too small is refused, and nothing changes."""
        self._check_memory(memory)
        self._memory = memory
        self.engine.set_memory(memory)
        return f"memory {memory:,} bytes"

    def _set_shed(self, sheds: bool) -> str:
        """Go on with shedding on or off; drop boxes open when it goes off."""
        self._sheds = sheds
        if not sheds:
            self._shedding = Shedding(self.engine, self._in_flight)
            self.engine.keep(dict.fromkeys(self.engine.streams, 1.0))
        return f"shedding {'on' if sheds else 'off: everything is kept'}"

    def _check_memory(self, memory: int) -> None:
        check_memory(memory, self.script.streams.values(), self._chunk_rows, self._around.chunk_us)

    def _create(self, query: QueryDef) -> str:
        self._open(query)
        return f"query {query.name} begins at {_places(self.engine.create(query).starts)}"

    def _open(self, query: QueryDef) -> None:
        """Let Spark check a query, and make the place for its results."""
        schema = self._checks.schema_of(query, self.engine.plan)
        for sink in self._sinks:
            sink.open(query.name, schema)

    def _refuse_requests(self) -> None:
        while self._requests:
            self._requests.popleft().done.set_exception(RunError("the run has ended"))
        while self._settling:
            self._settling.popleft().set_exception(RunError("the run has ended"))

    # Measures -----------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Let the scheduler see the memory and, for a four-hundredth of the time at most, what was measured.

        A tenth of a second is lent to it: at the beginning there is most to learn.
        """
        held = self._held()
        self._peak = max(self._peak, held)
        self._memory_sum += held
        self._memory_looks += 1
        self.engine.see_memory(self._now / 1e6, held, self._memory_sum / self._memory_looks)
        if self._sheds and self._now - self._looked >= LOOK_US:
            self._looked = self._now
            self._mind_load(held)
        passed = max((self._now - self._started) / 1e6, 1e-3)
        is_due = self._now - self._relearned >= _RELEARN_US and self.engine.costs.is_measured
        would_be = self._relearning.seconds + self._relearning.last
        if is_due and would_be <= _LENT_S + passed / 400:
            with self._relearning:
                self.engine.relearn({name: counts.rows / passed for name, counts in self._counts.items()})
            self._relearned = self._now
        while self.engine.planner.changes:
            self._on_event(self.engine.planner.changes.pop(0))

    def _mind_load(self, held: int) -> None:
        """Let load shedding look at what sources offer, what is held, and how much of the time jobs run."""
        offered = {name: source.offered(self._now) for name, source in self._sources.items()}
        paced = {name: count for name, count in offered.items() if count is not None}
        if not paced:
            return
        said = self._shedding.look(
            RunCounters(
                now_s=self._now / 1e6,
                offered=paced,
                served={name: self._counts[name].kept - self.engine.backlog_rows(name) for name in paced},
                bytes_a_row={name: self._counts[name].bytes_a_row for name in paced},
                held=held,
                limit=self._memory,
                behind=any(self._counts[name].held for name in paced),
                worked_s=self.engine.costs.busy_s,
                overhead_s=self.engine.overhead_s,
                awake_s=(self._now - self._started - self._napped_us) / 1e6,
            )
        )
        if said is not None:
            self._on_event(said)

    def _watch(self) -> None:
        self._selecting.look(self._now)
        # Thousands of queries take a while to publish: a tenth of the time, or once a minute
        wait_us = max(self._publish_us, min(10 * self._publish_took_us, _PUBLISH_ANYWAY_US))
        if self._publish_us and self._now - self._published >= wait_us:
            self._publish()
        self._refresh.at(self._clock.now_us())

    def _tick(self) -> None:
        self._on_tick(self.look())

    def _publish(self) -> None:
        """Let sinks publish, beside the loop: it can take seconds for thousands of queries."""
        if self._publishing is None or self._publishing.done():
            if self._publishing is not None:
                self._publishing.result()
            self._published = self._now
            self._publishing = self._publisher.submit(self._publish_all)

    def _publish_all(self) -> None:
        start = self._clock.now_us()
        for sink in self._sinks:
            sink.publish()
        self._publish_took_us = self._clock.now_us() - start

    def look(self) -> Summary:
        """Look at how the run stands, and remember it for whoever asks from another thread."""
        self._latest = self._summary()
        return self._latest

    def summary(self) -> Summary:
        """Return how the run stood when it was last looked at, some moments ago."""
        return self._latest

    def _summary(self) -> Summary:
        now = self._clock.now_us()
        passed = max((now - self._started) / 1e6, 1e-6)
        engine = self.engine
        span_s = max((log.span_s for log in engine.streams.values()), default=0.0)
        return Summary(
            policy=engine.policy.name,
            mode=engine.mode,
            seconds=passed,
            jobs=engine.costs.jobs,
            deciding=(self._choosing.seconds + self._learning.seconds) / passed,
            utilization=min(engine.costs.busy_s / passed / self._in_flight, 1.0),
            waiting_rows=engine.waiting_rows(),
            waiting_bytes=self._held(),
            peak_bytes=self._peak,
            abandoned_rows=self._abandoned,
            setup_s=engine.costs.overhead_s(0) if engine.costs.is_measured else None,
            stream_seconds=span_s,
            demand=engine.costs.busy_s / max(span_s, 1e-6),
            streams={name: stream_summary(engine, name, counts, now) for name, counts in self._counts.items()},
            queries={name: query_summary(engine, name) for name in engine.queries},
            joins=join_summaries(engine),
            shedding=self._shedding.summary,
            qos=self._selecting.summary(now),
        )


def _places(sequences: Mapping[str, int]) -> str:
    return ", ".join(f"{stream} {sequence}" for stream, sequence in sequences.items())
