"""Rows of a job: which rows of the chosen units one job takes, and how many results it may make."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from penstock.network import Edge
from penstock.plan.aggregate_steps import VARIANTS
from penstock.plan.group import Group
from penstock.plan.steps import POSITION, Lookup
from penstock.policies import Unit
from penstock.runtime.chunk import Chunk
from penstock.runtime.group_rows import constants_of, of_members, variants_of
from penstock.runtime.job import Job
from penstock.runtime.job_panes import closing_panes, older_panes, rows_of_chunks
from penstock.runtime.join_progress import probe_until, ready_until
from penstock.runtime.probes import probed_windows
from penstock.runtime.result_limits import Limit
from penstock.runtime.rows.job_input import InputRows
from penstock.runtime.rows.positions import with_positions
from penstock.runtime.rows.segment import LostSegmentError
from penstock.runtime.scaling import boxes_of_rows
from penstock.runtime.seen_rows import needs_numbers
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import (
    MOST_STORED_ROWS,
    Taken,
    UnitStates,
    most_results,
    rows_of,
    tasks_of,
)
from penstock.runtime.work import Outcome, Work
from penstock.runtime.write_decision import MOST_WRITTEN, WriteDecision

PART_S = 0.02
"""The least time that a task should take; starting one costs some 8 ms."""
LONGEST_TRAIN = 500
"""Units of a job at most."""


class JobRows:
    """Takes the rows of units from their queues, and returns them if a job fails."""

    def __init__(self, state: RuntimeState, units: UnitStates, slots: int) -> None:
        self._state = state
        self._units = units
        self._slots = slots
        self._longest = LONGEST_TRAIN
        """Units that a job takes at most: fewer for a while after one made too many results."""
        self._constants: dict[str, tuple[Group, pa.Table]] = {}
        self.writing = WriteDecision(state, units)

    def take(self, units: tuple[Unit, ...]) -> Job:
        """Take the rows of units from their queues, and return the job.

        If they could make too many results, fewer rows are taken, or fewer units.
        """
        job = self._taken(units[: self._longest])
        risky = {}
        for unit in job.units:
            careful = self._careful_rows(unit, job)
            if careful is not None:
                risky[unit.id] = careful
        if not risky:
            return job
        self.give_back(job)
        [first, *others] = job.units
        if first.id in risky:
            return self._taken((first,), risky[first.id])
        return self._taken((first, *(unit for unit in others if unit.id not in risky)))

    def give_back(self, job: Job) -> None:
        """Return a job's rows to their queues: it did not happen."""
        self._state.in_flight.remove(job)
        if job.work.target is not None:
            job.work.target.remove()
        for edge, chunks in job.taken.items():
            for each in job.onward(edge):
                if each in self._state.queues:
                    self._state.queues[each].put_back(chunks)

    def _taken(self, units: tuple[Unit, ...], most: int = MOST_STORED_ROWS) -> Job:
        taken: dict[Edge, tuple[Chunk, ...]] = {}
        try:
            return self._take_into(taken, units, most)
        except LostSegmentError:
            for edge, chunks in taken.items():
                self._state.queues[edge].put_back(chunks)
            raise

    def _take_into(self, taken: dict[Edge, tuple[Chunk, ...]], units: tuple[Unit, ...], most: int) -> Job:
        through: set[Edge] = set()
        cut: set[Edge] = set()
        running: list[Unit] = []
        filled = 0.0
        written: str | None = None  # the operator whose output executors write: then no unit has another
        for unit in units:
            served = self._units.of(unit)
            waiting = sum(lane.queue.rows for lane in served.lanes)
            left = min(self._units.most_rows(served, waiting), most)
            writes = self.writing.would_write(unit, served, waiting)
            share = sum(self._units.of(each).output == served.output for each in units) if writes else 1
            left_stored = min(self._units.most_stored_rows(unit, served, waiting, writes=writes), most // share)
            filled += min(left, waiting) / served.fitting
            if running and (served.output != written if written is not None else filled > 1 or writes):
                break
            if writes:
                written = served.output
            running.append(unit)
            through |= unit.through
            for edge, reach, queue in served.lanes:
                chunks = tuple(queue.take(ready_until(self._state, reach), left, left_stored))
                if not chunks:
                    continue
                left -= sum(chunk.rows for chunk in chunks if not chunk.is_stored)
                left_stored -= sum(chunk.rows for chunk in chunks)
                taken[edge] = (*taken.get(edge, ()), *chunks)
                cut |= {join for join in reach.joins if join != edge and not self._may_probe(join, chunks)}
        work = self._work(taken, frozenset(through - cut), self._partitions(running, taken))
        if (len(running) == 1 or written is not None) and not cut:
            work = replace(work, target=self.writing.target(running, taken))
        stored = any(chunk.is_stored for chunks in taken.values() for chunk in chunks)
        counted = tuple(unit for unit in running if stored or self._units.of(unit).multiplies)
        most_merged = min(self._units.limits.results(unit.name) for unit in running) // 2
        merged = older_panes(self._state, taken, work.through, most_merged)
        work = replace(work, merged={name: rows_of_chunks(chunks) for name, chunks in merged.items()})
        limited = replace(work, limit=self._result_limit(running, taken, work))
        job = Job(tuple(running), taken, limited, counted, merged)
        self._state.in_flight.append(job)
        return job

    def _may_probe(self, join: Edge, chunks: Sequence[Chunk]) -> bool:
        """Whether all rows of chunks may probe a join now."""
        until = probe_until(self._state, join)
        return all(chunk.ready(until) == chunk.rows for chunk in chunks)

    def _work(self, taken: Mapping[Edge, tuple[Chunk, ...]], through: frozenset[Edge], partitions: int) -> Work:
        state = self._state
        together: dict[tuple[int, ...], InputRows] = {}  # units that take the same rows are given one value
        takes = {}
        for edge, chunks in taken.items():
            counted = POSITION in state.wanted[edge] and edge.source in state.streams
            key = (*map(id, chunks), counted)
            if key not in together:
                together[key] = with_positions(chunks) if counted else InputRows.of(chunks)
            takes[edge] = of_members(state.plan, edge, together[key])
        probed = probed_windows(state.plan, state.wanted, state.streams, taken, through)
        reached = {edge.target for edge in (*taken, *through)}
        constants = {
            step.table.name: self._constants_of(step.table.name)
            for step in map(state.plan.steps.__getitem__, reached)
            if isinstance(step, Lookup) and step.table.is_constants
        }
        numbered = needs_numbers(state, taken, through, probed.symmetric)
        return Work(
            state.plan,
            takes,
            through,
            probed.windows,
            state.wanted,
            constants,
            partitions,
            spans=probed.spans,
            symmetric=probed.symmetric,
            numbered=numbered,
            closing=closing_panes(state, takes),
            boxes=boxes_of_rows(state, taken, through),
        )

    def _constants_of(self, name: str) -> pa.Table:
        group = self._state.plan.groups[name.removesuffix(VARIANTS)]
        if name not in self._constants or self._constants[name][0] is not group:
            made = variants_of(group) if name.endswith(VARIANTS) else constants_of(group)
            self._constants[name] = (group, made)
        return self._constants[name][1]

    def _partitions(self, units: Iterable[Unit], taken: Mapping[Edge, tuple[Chunk, ...]]) -> int:
        """Return into how many partitions rows are cut: up to one per slot, if the work is long."""
        work = 0.0
        for unit in units:
            rows = sum(chunk.rows for edge in unit.entries for chunk in taken.get(edge, ()))
            work = max(work, rows * float(unit.time))
        return min(max(int(work / PART_S), 1), self._slots)

    # Result limits ------------------------------------------------------------------------------------------

    def _result_limit(self, units: list[Unit], taken: Taken, work: Work) -> Limit | None:
        """Return how many results a job may make; None if it cannot make more anyway."""
        if work.target is not None:
            return Limit(MOST_WRITTEN, min(tasks_of(work), self._slots)) if work.probes else None
        rows = sum(chunk.rows for chunks in taken.values() for chunk in chunks)
        limit = self._units.limits.limit([unit.name for unit in units], rows, min(tasks_of(work), self._slots))
        most = sum(most_results(self._units.of(unit), taken, work) for unit in units)
        most += sum(older.num_rows for older in work.merged.values())
        return None if most <= limit.of_a_task else limit

    def _careful_rows(self, unit: Unit, job: Job) -> int | None:
        """Return how many rows a job should take of a unit with joins instead; None if all are safe.

        Stored rows are not cut before they are tried: a part of a file costs as much to read as all of it.
        """
        served = self._units.of(unit)
        if any(chunk.is_stored for chunks in job.taken.values() for chunk in chunks):
            return None
        rows = rows_of(served, job.taken)
        if (
            job.work.limit is None
            or job.work.target is not None
            or not served.joins
            or rows <= self._units.limits.careful_rows(unit.name, 1)
        ):
            return None
        most = most_results(served, job.taken, job.work, by_keys=True)
        careful = self._units.limits.careful_rows(unit.name, int(job.work.limit.of_a_task * rows / max(most, 1.0)))
        return careful if careful < rows else None

    def finished(self, job: Job, outcome: Outcome) -> None:
        """Learn how many results a job's units make, where they can make several of a row."""
        self._longest = min(2 * self._longest, LONGEST_TRAIN)
        for unit, rows, results, size in job.results_by_unit(outcome):
            self._units.limits.measured(unit.name, rows, results, size)
            self._units.forget(unit)

    def exceeded(self, job: Job) -> bool:
        """Return a job's rows to their queues: it made too many results. Whether it can be tried with fewer."""
        self.give_back(job)
        if len(job.units) > 1:
            self._longest = max(len(job.units) // 2, 1)
            return True
        self._units.limits.exceeded(job.units[0].name, job.rows)
        self._units.forget(job.units[0])
        limit = job.work.limit
        return job.rows > 1 or (job.work.target is None and limit is not None and not limit.exact)
