"""The loop: admit what arrives, ask the policy, run units as jobs, emit results, record."""

import gc
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress

from penstock.errors import PenstockError, RunEndedError
from penstock.language.script import Script
from penstock.language.statements import QueryDef, Statement, StreamDef
from penstock.runtime.backend import Backend, BackendEndedError
from penstock.runtime.clock import Clock, Stopwatch, WallClock
from penstock.runtime.delivery import Delivery
from penstock.runtime.derived_types import DerivedTypes
from penstock.runtime.engine import Engine
from penstock.runtime.intake import Intake
from penstock.runtime.job_runner import JobRunner
from penstock.runtime.listeners import Listeners
from penstock.runtime.load_control import LoadControl
from penstock.runtime.options import RunOptions
from penstock.runtime.policy_control import PolicyControl
from penstock.runtime.publishing import Publisher
from penstock.runtime.requests import Requests
from penstock.runtime.result_limits import ResultLimits
from penstock.runtime.rows.segment import LostSegmentError
from penstock.runtime.sink import Sink
from penstock.runtime.source import Source
from penstock.runtime.store import Store
from penstock.runtime.summary import Summary, Times, summarize
from penstock.runtime.summary_refresh import Refresh
from penstock.runtime.what_if_view import what_if_beside

_NAP_S, _BUSY_NAP_S = 0.01, 0.03
_LEARN_US = 1_000_000
"""How often the scheduler gets what was measured."""
_LENT_S, _LEARNING_SHARE = 0.1, 1 / 400
"""Time for that: a share, and a little more at the beginning, when there is most to learn."""
_PROGRESS_S = 5.0
LAST_JOB_OF_STATE_S = 1.0
"""With a state, a job that takes longer when the run ends is abandoned: the next run does it again."""
HURRY_S = 2.0
"""With a state, publishing ends so long after a run was stopped: the next run does the rest."""


class Runtime:
    """A running script. `run` is the loop; the methods before it may be called from other threads."""

    def __init__(
        self,
        script: Script,
        backend: Backend,
        sinks: Sequence[Sink],
        options: RunOptions,
        listeners: Listeners | None = None,
        clock: Clock | None = None,
        store: Store | None = None,
    ) -> None:
        self._backend = backend
        self._types = DerivedTypes(backend.result_schema)
        script = self._types.of_script(script)
        self._sinks = sinks
        self._store = store
        delivery = Delivery(sinks, store)
        self._options = options
        self._listeners = listeners or Listeners()
        self._clock = clock or WallClock()
        on_event, on_warning = self._listeners.event, self._listeners.warning
        self.engine = Engine(
            script.streams,
            options.policy,
            options.service,
            options.memory_limit,
            backend.may_group,
            options.quantum_s,
            backend.slots,
            options.optimize,
            ResultLimits(backend.result_bytes / options.in_flight),
        )
        self.engine.write_segments_by(backend.segments)
        self._refresh = Refresh(lambda: self._listeners.on_tick(self.update_summary()))
        self._intake = Intake(
            self.engine, options, delivery, on_warning, lambda: self._refresh.at(self._clock.now_us())
        )
        self._stopping = threading.Event()
        self._jobs = JobRunner(
            self.engine, backend, delivery, self._clock, options.in_flight, on_warning, self._stopping.is_set
        )
        self._load = LoadControl(script, self.engine, self._intake, options, on_event)
        self._policy_control = PolicyControl(
            self.engine,
            options.choice,
            what_if_beside(
                self.engine, options.service, options.quantum_s, options.in_flight, options.memory_limit
            ),
            on_event,
            pinned=options.pinned,
        )
        self._requests = Requests(
            script,
            self.engine,
            self._policy_control,
            self._load,
            self._types.of_query,
            self._open_query,
            on_event,
            self.update_summary,
        )
        self._publisher = Publisher(sinks, self._clock, options.publish_us)
        self._streams_stopped = False
        self._napped_us = 0
        self._housekeeping, self._learning = Stopwatch(), Stopwatch()
        self._abandoned = 0
        self._intake.may_read = lambda: not self._requests.hold and (store is None or store.has_room())
        self._begin_queries(script)
        if store is not None:
            store.restore_rows(self.engine, self._listeners.on_stage)
            self._jobs.last_job_s, self._jobs.leaves_jobs = LAST_JOB_OF_STATE_S, True
        self._started = self._now = self._learned = self._clock.now_us()
        self._latest = self._summary()

    def _begin_queries(self, script: Script) -> None:
        """Check all queries, prepare sinks for them, and say how far that is."""
        count = len(script.queries)
        on_stage = self._listeners.on_stage
        on_stage(f"checking {count:,} {'query' if count == 1 else 'queries'}")
        if self._store is None or not self._store.restore_queries(self.engine, self._types):
            self.engine.begin(script)
        told = time.monotonic()
        for place, query in enumerate(self._live_queries()):
            if time.monotonic() - told > _PROGRESS_S:
                on_stage(f"checked {place:,} of {count:,} queries")
                told = time.monotonic()
            self._open_query(query)

    def _live_queries(self) -> list[QueryDef]:
        """Return the queries that make results; after a restart some may have ended or failed."""
        return [state.definition for state in self.engine.queries.values() if state.live]

    def _open_query(self, query: QueryDef) -> None:
        schema = self._backend.result_schema(query, self.engine.plan)
        for sink in self._sinks:
            sink.open(query.name, schema)

    # From other threads -------------------------------------------------------------------------------------

    @property
    def script(self) -> Script:
        """The script, with what was created, dropped and set since."""
        return self._requests.script

    def execute(self, sql: str, timeout: float | None = 60.0) -> list[str]:
        """Carry out CREATE QUERY, DROP QUERY and SET while the script runs; return a message for each.

        A query that is created sees the rows that arrive from then on; the message has the sequence numbers.
        """
        return self._requests.add(list(self.script.read_statements(sql))).result(timeout)

    def apply(self, statements: Iterable[Statement]) -> None:
        """Have statements carried out when the run begins; a statement that fails is reported and left out."""
        for statement in statements:
            self._requests.add([statement]).add_done_callback(self._tell_failure)

    def _tell_failure(self, done: "Future[list[str]]") -> None:
        error = done.exception()
        if error is not None and not isinstance(error, RunEndedError):  # the next run carries it out
            self._listeners.warning(f"change not applied: {error}")

    def settle(self) -> "Future[None]":
        """Ask to be told when everything that has arrived by now is drained as far as possible.

        Rows that wait for the watermark of another stream continue to wait.
        """
        return self._requests.add_settle()

    def stop(self) -> None:
        """End the run soon: the current job is finished, waiting rows are abandoned and counted."""
        self._stopping.set()

    def summary(self) -> Summary:
        """Return the state of the run as of a moment ago."""
        return self._latest

    # The loop -----------------------------------------------------------------------------------------------

    def run(self) -> Summary:
        """Run until the streams end (draining), the time is over, or `stop` is called."""
        # The objects of thousands of queries live until the end. Without this, each full garbage collection would
        # visit them for most of a second.
        gc.freeze()
        try:
            self._intake.open(self.script, self._open_source)
            if self._store is not None:
                self._store.begin(self.engine, self._intake.positions, self._sinks, self._clock.now_us())
            self._begin()
            try:
                is_whole = self._loop_or_stop()
            finally:
                self._shutdown()
            if is_whole:
                self._close()
            else:
                self._publisher.close()
        finally:
            gc.unfreeze()
            self._intake.close(self._backend.errors)
            self._requests.refuse_all()
            if self._store is not None:
                self._store.release()
        return self.update_summary()

    def _open_source(self, stream: StreamDef) -> Source:
        position = None if self._store is None else self._store.position_of(stream.name)
        return self._backend.open_source(stream, position)

    def _close(self) -> None:
        """Make all results visible; with a state, what a later run can do need not be done now."""
        done = self._is_done()
        if self._store is not None:
            self._store.commit(self._clock.now_us())
        self._publisher.close()
        self.engine.end(drained=done)
        for sink in self._sinks:
            sink.close()
        if self._store is not None:
            self._store.close(self._clock.now_us())

    def _begin(self) -> None:
        self._let_executors_write()
        self._started = self._learned = self._clock.now_us()
        self._load.begin(self._started)
        self._refresh.begin(self._started)
        if self.engine.policy.clairvoyant:
            name = self.engine.policy.name
            self._listeners.event(f"policy {name} knows the future; a run uses measured values instead")
        self._policy_control.begin(self._started)
        self._publisher.publish(self._started)

    def _let_executors_write(self) -> None:
        """Let executors write results, if there is one sink that takes files and they reach its folder."""
        if len(self._sinks) == 1 and self._sinks[0].takes_files:
            folder = self._sinks[0].results_folder
            if self._backend.can_write(folder()):
                self.engine.write_results_to(folder)

    def _loop_or_stop(self) -> bool:
        """Loop, and return True; with a state, return False if Spark ended when the run was stopped.

        A signal to all processes ends Spark, too. The run then ends at its last commit.
        """
        try:
            self._loop()
        except Exception as error:
            is_own = isinstance(error, PenstockError) and not isinstance(error, BackendEndedError)
            if self._store is None or is_own or not self._stopping.is_set():
                raise
            self._listeners.warning(f"Spark ended first, so the run ends at its last commit ({error})")
            return False
        return True

    def _loop(self) -> None:
        while not self._stopping.is_set():
            self._now = self._clock.now_us()
            settling = self._requests.settling
            self._requests.handle()
            if self._is_over_time():
                if not self._options.drain:
                    return
                self._stop_streams()
            admitted = self._intake.admit(self._now)
            committed = self._jobs.collect()
            self.engine.settle(self._now, self._options.chunk_rows)
            ended = self.engine.finish_endings()
            for name in ended:
                self._listeners.event(f"query {name} ended")
            if (admitted or committed) and self._jobs.has_slot:
                self._keep_house()
            self._commit_if_due()
            self._policy_control.sample(self._now)
            self._publisher.publish_if_due(self._now)
            self._refresh.at(self._clock.now_us())
            submitted = self._jobs.submit(self._now)
            if self._is_done():
                self._requests.settle(settling)
                return
            if not (admitted or committed or ended or submitted or self._admit_blocked()):
                if not self._jobs:
                    self._requests.settle(settling)
                self._idle()

    def _commit_if_due(self) -> None:
        """With a state, commit what happened: no job takes rows before that."""
        if self._store is not None:
            self._store.commit_if_due(self._clock.now_us(), has_slot=self._jobs.has_slot)
            self._jobs.commit_us = int(self._store.commit_s * 1e6)

    def _is_over_time(self) -> bool:
        seconds = self._options.seconds
        return seconds is not None and not self._streams_stopped and self._now - self._started >= seconds * 1e6

    def _stop_streams(self) -> None:
        """End the streams; the rest is drained."""
        self._streams_stopped = True
        self._intake.stop(self._now)

    def _admit_blocked(self) -> bool:
        """If all wait for a stream that has no room, read that one anyway; return whether rows came."""
        if self._store is not None and not self._store.has_room():
            if not self._jobs:
                self._store.make_room(self._now)
            return False
        blocked = None if self._jobs else self._intake.blocked()
        return blocked is not None and self._intake.admit_blocked(blocked, self._now)

    def _idle(self) -> None:
        """Wait for a job or for a moment."""
        if self._jobs:
            self._jobs.wait(_BUSY_NAP_S)
            return
        start = self._clock.now_us()
        self._clock.wait(_NAP_S)
        self._napped_us += self._clock.now_us() - start

    def _is_done(self) -> bool:
        if self._jobs or self._requests:
            return False
        states = self.engine.queries.values()
        if states and not any(state.live for state in states):
            return all(state.status == "failed" for state in states) or self._options.drain
        return self._intake.ended and not self.engine.state.waiting_rows()

    def _shutdown(self) -> None:
        """Finish the current jobs, and count the rows that are abandoned."""
        if self._store is not None and not self._is_done():
            for sink in self._sinks:
                sink.hurry(HURRY_S)
        with suppress(PenstockError):
            self._jobs.finish()
        if self._store is None:
            self._abandoned = self.engine.state.waiting_rows() + self._jobs.rows

    def _keep_house(self) -> None:
        """Release rows, sample memory and load, and now and then let the scheduler learn."""
        with self._housekeeping:
            try:
                self.engine.release()
                self._load.sample(self._now, self._now - self._started - self._napped_us)
                self._learn()
            except LostSegmentError as error:
                self._jobs.failures.lost_segment(error)
        for message in self.engine.planner.take_changes():
            self._listeners.event(message)

    def _learn(self) -> None:
        passed_s = max((self._now - self._started) / 1e6, 1e-3)
        is_due = self._now - self._learned >= _LEARN_US and self.engine.costs.is_measured
        would_take_s = self._learning.seconds + self._learning.last
        if is_due and would_take_s <= _LENT_S + passed_s * _LEARNING_SHARE:
            with self._learning:
                counts = self.engine.recorder.streams
                self.engine.learn({name: each.rows / passed_s for name, each in counts.items()})
            self._learned = self._now

    # Summary ------------------------------------------------------------------------------------------------

    def update_summary(self) -> Summary:
        """Return the state of the run, and remember it for whoever asks from another thread."""
        self._latest = self._summary()
        return self._latest

    def _summary(self) -> Summary:
        now = self._clock.now_us()
        before_s = 0.0 if self._store is None else self._store.seconds
        times = Times(
            now_us=now,
            seconds=max(before_s + (now - self._started) / 1e6, 1e-6),
            deciding_s=self._jobs.deciding.seconds + self._housekeeping.seconds,
            in_flight=self._options.in_flight,
        )
        return summarize(
            self.engine,
            self._intake,
            times,
            abandoned_rows=self._abandoned,
            shedding=self._load.summary,
            qos=self._policy_control.summary(now),
        )
