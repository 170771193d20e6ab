"""Jobs in flight: submits what the engine chooses, commits what finished, and finds who made a job fail."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from penstock.errors import RunError
from penstock.runtime.backend import Backend
from penstock.runtime.clock import Clock, Stopwatch
from penstock.runtime.culprits import Attempt, culprits, too_many_of_one_row, users
from penstock.runtime.engine import Engine
from penstock.runtime.job import Job
from penstock.runtime.result_limits import TooManyResults
from penstock.runtime.sink import Sink
from penstock.runtime.work import Outcome, Work

DECIDING_SHARE = 60
"""A decision among thousands of units takes a while: a train takes at least so many times as long."""
GIVE_UP = 3
"""Failed jobs in a row, with no query to blame, after which the run ends."""
LAST_JOB_S = 5.0
"""How long a job may take to finish when the run ends, and to react to its cancellation."""

Running = Future[tuple[Outcome, float]]


class JobRunner:
    """Runs an engine's jobs on a backend, several at a time."""

    def __init__(
        self,
        engine: Engine,
        backend: Backend,
        sinks: Sequence[Sink],
        clock: Clock,
        in_flight: int,
        on_event: Callable[[str], object],
    ) -> None:
        self._engine = engine
        self._backend = backend
        self._sinks = sinks
        self._clock = clock
        self._in_flight = in_flight
        self._on_event = on_event
        self._pool = ThreadPoolExecutor(in_flight, thread_name_prefix="penstock-job")
        self._running: dict[Running, Job] = {}
        self._failures = 0
        self.deciding = Stopwatch()
        """Time spent on choosing units."""
        self.stopping = False
        """Whether the run ends: then nobody looks for the culprits of a failed job."""

    def __bool__(self) -> bool:
        """Whether a job is in flight."""
        return bool(self._running)

    @property
    def has_slot(self) -> bool:
        """Whether another job may start."""
        return len(self._running) < self._in_flight

    def submit(self, now_us: int) -> bool:
        """Start jobs while there are slots and rows; return whether one was started."""
        some = False
        while self.has_slot:
            with self.deciding:
                units = self._engine.choose(now_us, DECIDING_SHARE * self.deciding.last)
            if not units:
                break
            job = self._engine.take(units)
            self._running[self._pool.submit(self._timed, job.work)] = job
            some = True
        return some

    def _timed(self, work: Work) -> tuple[Outcome, float]:
        start = self._clock.now_us()
        outcome = self._backend.run(work)
        return outcome, (self._clock.now_us() - start) / 1e6

    def wait(self, seconds: float) -> None:
        """Wait until a job has finished, at most so long."""
        wait(self._running, timeout=seconds, return_when=FIRST_COMPLETED)

    def collect(self, only: "set[Running] | None" = None) -> bool:
        """Commit the jobs that have finished, and write their results; return whether there was one."""
        finished = [each for each in self._running if (each.done() if only is None else each in only)]
        for each in finished:
            job = self._running.pop(each)
            error = each.exception()
            if error is not None:
                self._failed(job, error)
                continue
            self._failures = 0
            outcome, seconds = each.result()
            for emitted in self._engine.commit(job, outcome, self._clock.now_us(), seconds):
                for sink in self._sinks:
                    (sink.emit_group if emitted.of_group else sink.emit)(emitted.name, emitted.rows)
        return bool(finished)

    def finish(self) -> int:
        """Finish the jobs in flight, cancel those that take too long; return the rows of the latter."""
        try:
            if self._running:
                finished, late = wait(self._running, timeout=LAST_JOB_S)
                if late:
                    self._backend.interrupt()
                    wait(late, timeout=LAST_JOB_S)
                self.collect(only=finished)
        finally:
            self._pool.shutdown()
        return sum(job.rows for job in self._running.values())

    # Failures -----------------------------------------------------------------------------------------------

    def _failed(self, job: Job, error: BaseException) -> None:
        """Find out which queries made a job fail, and stop them."""
        if isinstance(error, TooManyResults):
            self._made_too_many(job)
            return
        self._engine.give_back(job)
        if not isinstance(error, Exception):
            raise error
        if self.stopping:
            return
        self._failures += 1
        found = culprits(self._engine.state, job, Attempt(self._backend))
        if found:
            self._stop_queries(found)
        elif self._failures >= GIVE_UP:
            reason = self._backend.explain(error)
            raise RunError(f"a job failed {GIVE_UP} times, and no query alone is to blame: {reason}")

    def _made_too_many(self, job: Job) -> None:
        """Try a job again with fewer rows; with a single row, stop the queries for which that is too much."""
        if self._engine.exceeded(job) or self.stopping:
            return
        reason = too_many_of_one_row(job)
        found = culprits(self._engine.state, job, Attempt(self._backend, too_many=reason))
        self._stop_queries(found or dict.fromkeys(users(self._engine.state, job), reason))

    def _stop_queries(self, reasons: Mapping[str, str]) -> None:
        self._backend.check_alive()
        for name, reason in reasons.items():
            self._engine.stop(name, reason)
            self._on_event(f"query {name} stopped: {reason}")
