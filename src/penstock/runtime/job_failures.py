"""Failed jobs: which queries are stopped, what is tried again, and when the run gives up."""

import logging
from collections.abc import Callable, Mapping

from penstock.errors import RunError
from penstock.runtime.backend import Backend
from penstock.runtime.culprits import Attempt, culprits, too_many_of_one_row, users
from penstock.runtime.engine import Engine
from penstock.runtime.job import Job
from penstock.runtime.result_limits import TooManyResults
from penstock.runtime.rows.segment import LostSegmentError, Segment

LOG = logging.getLogger("penstock.jobs")
GIVE_UP = 3
"""Failed jobs in a row, with no query to blame, after which the run ends."""


class JobFailures:
    """Decides what follows from a failed job. While the run is stopping, nothing does."""

    def __init__(
        self,
        engine: Engine,
        backend: Backend,
        on_event: Callable[[str], object],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._engine = engine
        self._backend = backend
        self._on_event = on_event
        self._is_stopping = is_stopping
        self._in_a_row = 0

    def succeeded(self) -> None:
        """Count failures anew: a job has worked."""
        self._in_a_row = 0

    def lost_files(self, job: Job, error: BaseException | None) -> bool:
        """Check the files that a job read. If some are lost, nothing of the job counts, and it is tried without.

        Spark reads a file silently that was replaced, so this is checked after every job. Errors of jobs with
        lost files are not held against queries. Return whether files are lost.
        """
        lost: dict[Segment, str] = {}
        unreadable = None if error is None else self._backend.unreadable_file(error)
        for stream, segment in dict.fromkeys(job.files):
            trouble = segment.trouble()
            if trouble is None and segment.path == unreadable:
                trouble = f"cannot be read: {self._backend.explain(error or OSError())}"
            if trouble is not None:
                lost[segment] = stream
            if trouble is not None and segment not in self._engine.state.lost:
                self._tell_lost(segment, trouble)
        if lost:
            self._engine.lose_files(job, lost)
        return bool(lost)

    def lost_segment(self, error: LostSegmentError) -> None:
        """Continue without a file that could not be read while rows were chosen."""
        segment = error.segment
        self._tell_lost(segment, segment.trouble() or f"cannot be read: {error}")
        self._engine.lose_files(None, {segment: segment.stream})

    def _tell_lost(self, segment: Segment, trouble: str) -> None:
        what = f"stream {segment.stream}: {segment.path.name} {trouble}"
        self._on_event(f"{what}: its {segment.rows:,} rows are lost to queries that have not read them")

    def handle(self, job: Job, error: BaseException) -> None:
        """Find out which queries made a job fail, and stop them."""
        if isinstance(error, TooManyResults):
            self._made_too_many(job)
            return
        self._engine.give_back(job)
        if not isinstance(error, Exception):
            raise error
        if self._is_stopping():
            return
        LOG.warning("a job failed: %s", self._backend.explain(error))
        if isinstance(error, RunError):  # no query is to blame, and it would be the same again
            raise error
        self._in_a_row += 1
        found = culprits(self._engine.state, job, Attempt(self._backend))
        if found:
            self._stop_queries(found)
        elif self._in_a_row >= GIVE_UP:
            reason = self._backend.explain(error)
            raise RunError(f"a job failed {GIVE_UP} times, and no query alone is to blame: {reason}")

    def _made_too_many(self, job: Job) -> None:
        """Try a job again with fewer rows; with a single row, stop the queries for which that is too much."""
        if self._engine.exceeded(job) or self._is_stopping():
            return
        reason = too_many_of_one_row(job)
        found = culprits(self._engine.state, job, Attempt(self._backend, too_many=reason))
        self._stop_queries(found or dict.fromkeys(users(self._engine.state, job), reason))

    def _stop_queries(self, reasons: Mapping[str, str]) -> None:
        self._backend.check_alive()
        for name, reason in reasons.items():
            self._engine.stop(name, reason)
            self._on_event(f"query {name} stopped: {reason}")
