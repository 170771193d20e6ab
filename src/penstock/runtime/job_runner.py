"""Jobs in flight: submits what the engine chooses, and commits what has finished."""

import logging
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from penstock.runtime.backend import Backend
from penstock.runtime.clock import Clock, Stopwatch
from penstock.runtime.delivery import Delivery
from penstock.runtime.engine import Engine
from penstock.runtime.job import Job
from penstock.runtime.job_failures import JobFailures
from penstock.runtime.rows.segment import LostSegmentError
from penstock.runtime.work import Outcome, Work

DECIDING_SHARE = 60
"""A decision among thousands of units takes a while: a train takes at least so many times as long."""
LAST_JOB_S = 5.0
"""How long a job may take to finish when the run ends, and to react to its cancellation."""
_AGAIN_S = 0.2
"""How often a job is cancelled that does not react: it may have been between two jobs of Spark."""

LOG = logging.getLogger("penstock.jobs")

Running = Future[tuple[Outcome, float]]


class JobRunner:
    """Runs an engine's jobs on a backend, several at a time."""

    def __init__(
        self,
        engine: Engine,
        backend: Backend,
        delivery: Delivery,
        clock: Clock,
        in_flight: int,
        on_event: Callable[[str], object],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._backend = backend
        self._delivery = delivery
        self.commit_us = 0
        """Microseconds from the end of a job until its results are there."""
        self.last_job_s = LAST_JOB_S
        self.leaves_jobs = False
        """Whether a job that does not react to its cancellation is left behind when the run ends."""
        self._clock = clock
        self._in_flight = in_flight
        self._pool = ThreadPoolExecutor(in_flight, thread_name_prefix="penstock-job")
        self._running: dict[Running, Job] = {}
        self.failures = JobFailures(engine, backend, on_event, is_stopping)
        self.deciding = Stopwatch()
        """Time spent on choosing units."""

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
            try:
                with self.deciding:
                    units = self._engine.choose(now_us, DECIDING_SHARE * self.deciding.last)
                if not units:
                    break
                job = self._engine.take(units)
            except LostSegmentError as error:
                self.failures.lost_segment(error)
                continue
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
            if self.failures.lost_files(job, error):
                continue
            if error is not None:
                self.failures.handle(job, error)
                continue
            self.failures.succeeded()
            outcome, seconds = each.result()
            LOG.debug("a job took %d rows and %.3f s", job.rows, seconds)
            there_us = self._clock.now_us() + self.commit_us
            for emitted in self._engine.commit(job, outcome, there_us, seconds):
                self._delivery.take(emitted)
        return bool(finished)

    @property
    def rows(self) -> int:
        """Rows of the jobs in flight."""
        return sum(job.rows for job in self._running.values())

    def finish(self) -> None:
        """Finish the jobs in flight; cancel those that take too long, which stay in flight."""
        try:
            if self._running:
                finished, late = wait(self._running, timeout=self.last_job_s)
                self.collect(only=finished)
                self._cancel(late)
        finally:
            self._pool.shutdown(wait=not self.leaves_jobs)

    def _cancel(self, jobs: set[Running]) -> None:
        """Cancel jobs until all have reacted, or the time is over."""
        end = self._clock.now_us() + int(self.last_job_s * 1e6)
        while jobs and self._clock.now_us() < end:
            self._backend.interrupt()
            _, jobs = wait(jobs, timeout=_AGAIN_S)
