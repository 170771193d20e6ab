"""Dispatch: which units run next, and which of their rows one job takes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from penstock.network import Edge, Network
from penstock.plan.group import Group
from penstock.plan.steps import Lookup
from penstock.policies import Policy, Scheduler, Service, Train, Unit, Waiting, as_measured
from penstock.runtime.chunk import Chunk
from penstock.runtime.cost_model import CostModel
from penstock.runtime.groups import constants_of, of_members
from penstock.runtime.job import Job
from penstock.runtime.probes import probed_windows
from penstock.runtime.result_limits import Limit, ResultLimits
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import Taken, UnitState, most_results, rows_of, tasks_of, unit_state
from penstock.runtime.watermarks import probe_until, ready_until
from penstock.runtime.work import Outcome, Work

PART_S = 0.02
"""The least time that a task should take; starting one costs some 8 ms."""
FIRST_TRAIN, LONGEST_TRAIN = 4, 500
"""Units of a train at most, before and after the cost of one was measured. In a cold JVM each costs a lot."""
MOST_ROWS = 500_000
"""Rows that one job takes at most, even under exhaustive service."""


class Dispatcher:
    """Asks the policy which units run next, and takes their rows from the queues."""

    def __init__(
        self,
        state: RuntimeState,
        costs: CostModel,
        limits: ResultLimits,
        service: Service,
        quantum_s: float = 0.0,
        slots: int = 1,
    ) -> None:
        self.limits = limits
        self._state = state
        self._costs = costs
        self._service = service
        self._quantum_s = quantum_s
        self._slots = slots
        self._longest = LONGEST_TRAIN
        """Units that a job takes at most: fewer for a while after one made too many results."""
        self._units: dict[int, UnitState] = {}
        """By the id() of a unit that the scheduler holds: a unit is slow to hash."""
        self._constants: dict[str, tuple[Group, pa.Table]] = {}
        self._scheduler: Scheduler

    # Policy -------------------------------------------------------------------------------------------------

    def schedule(self, network: Network, policy: Policy, memory: int | None) -> None:
        """Continue with another policy or memory limit."""
        self._scheduler = Scheduler(network, policy, memory)
        self._units.clear()

    def move_to(self, network: Network) -> None:
        """Continue with another network, or with other costs, rates or weights."""
        self._scheduler.move_to(network)
        self._units.clear()

    def forget_removed(self) -> None:
        """Forget what is known of units that are gone."""
        self.limits.keep(unit.name for unit in self._scheduler.units)

    def observe_memory(self, now_s: float, held: float, mean: float) -> None:
        """Tell the policy the bytes held now and on average."""
        self._scheduler.see_memory(now_s, held, mean)

    @property
    def mode(self) -> str:
        """Normal, or saving memory."""
        return self._scheduler.mode

    @property
    def must_shed(self) -> bool:
        """Whether saving memory was not enough (JC03 §3.4); False for policies without a saving mode."""
        return self._scheduler.must_shed

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self._scheduler.units)

    # Choosing -----------------------------------------------------------------------------------------------

    def choose(self, now_us: int, least_s: float) -> tuple[Unit, ...]:
        """Return the units of the next job; none if nothing can run.

        Where trains are allowed, one takes at least `least_s` seconds if enough units wait.
        """
        most = LONGEST_TRAIN if self._costs.is_measured else FIRST_TRAIN
        quantum_s = max(self._quantum_s, least_s)
        train = Train(self._costs.setup_s, quantum_s, most, least_s, self._costs.pace) if self._quantum_s else None
        return self._scheduler.choose(now_us / 1e6, self._waiting, as_measured, train)

    def _waiting(self, unit: Unit) -> Waiting | None:
        """Return what waits for a unit; None if nothing can run now."""
        served = self._of(unit)
        ready = 0
        oldest: Chunk | None = None
        waiting = 0
        for _, reach, queue in served.lanes:
            if not queue.chunks:
                continue
            waiting += queue.rows
            some = queue.rows if reach.is_free else queue.ready(ready_until(self._state, reach))
            if some:
                ready += some
                first = queue.chunks[0]
                if oldest is None or (first.arrival, first.number) < (oldest.arrival, oldest.number):
                    oldest = first
        if oldest is None or any(lane.edge in job.taken for job in self._state.in_flight for lane in served.lanes):
            return None
        batch = min(ready, self._most_rows(served, waiting))
        known = self._costs.window_rows
        window_rows = sum(known.get(join, 0.0) for join in served.joins) if served.joins else 0.0
        return Waiting(oldest.arrival / 1e6, oldest.number, ready, batch, self._costs.overhead_s(window_rows))

    def _most_rows(self, served: UnitState, waiting: int) -> int:
        """Return how many rows a job may take of a unit, of those that wait."""
        limit = self._service.limit(waiting)
        return served.most if limit is None else min(int(limit), served.most)

    def _of(self, unit: Unit) -> UnitState:
        known = self._units.get(id(unit))
        if known is None:
            fitting = self.limits.most_rows(unit.name, float(unit.whole.S))
            known = unit_state(self._state.plan, self._state.queues, unit, fitting, MOST_ROWS)
            self._units[id(unit)] = known
        return known

    # Taking -------------------------------------------------------------------------------------------------

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
        for edge, chunks in job.taken.items():
            for each in job.onward(edge):
                if each in self._state.queues:
                    self._state.queues[each].put_back(chunks)

    def _taken(self, units: tuple[Unit, ...], most: int = MOST_ROWS) -> Job:
        taken: dict[Edge, tuple[Chunk, ...]] = {}
        through: set[Edge] = set()
        cut: set[Edge] = set()
        running: list[Unit] = []
        filled = 0.0
        for unit in units:
            served = self._of(unit)
            waiting = sum(lane.queue.rows for lane in served.lanes)
            left = min(self._most_rows(served, waiting), most)
            filled += min(left, waiting) / served.fitting
            if running and filled > 1:
                break
            running.append(unit)
            through |= unit.through
            for edge, reach, queue in served.lanes:
                chunks = tuple(queue.take(ready_until(self._state, reach), left))
                if not chunks:
                    continue
                left -= sum(chunk.rows for chunk in chunks)
                taken[edge] = (*taken.get(edge, ()), *chunks)
                latest = max(chunk.last_time for chunk in chunks)
                cut |= {join for join in reach.joins if join != edge and probe_until(self._state, join) < latest}
        work = self._work(taken, frozenset(through - cut), self._partitions(running, taken))
        multiplying = tuple(unit for unit in running if self._of(unit).multiplies)
        limited = replace(work, limit=self._result_limit(running, taken, work))
        job = Job(tuple(running), taken, limited, multiplying)
        self._state.in_flight.append(job)
        return job

    def _work(self, taken: Mapping[Edge, tuple[Chunk, ...]], through: frozenset[Edge], partitions: int) -> Work:
        state = self._state
        together: dict[tuple[int, ...], pa.Table] = {}  # units that take the same rows are given one table
        takes = {}
        for edge, chunks in taken.items():
            key = tuple(map(id, chunks))
            if key not in together:
                # Chunks from before a query that reads more columns lack them, and it drops their rows.
                tables = [chunk.table for chunk in chunks]
                together[key] = pa.concat_tables(tables, promote_options="default")
            takes[edge] = of_members(state.plan, edge, together[key])
        probes, spans = probed_windows(state.plan, state.wanted, state.streams, taken, through)
        reached = {edge.target for edge in (*taken, *through)}
        constants = {
            step.table.name: self._constants_of(step.table.name)
            for step in map(state.plan.steps.__getitem__, reached)
            if isinstance(step, Lookup) and step.table.is_constants
        }
        return Work(state.plan, takes, through, probes, state.wanted, constants, partitions, spans=spans)

    def _constants_of(self, name: str) -> pa.Table:
        group = self._state.plan.groups[name]
        if name not in self._constants or self._constants[name][0] is not group:
            self._constants[name] = (group, constants_of(group))
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
        rows = sum(chunk.rows for chunks in taken.values() for chunk in chunks)
        limit = self.limits.limit([unit.name for unit in units], rows, min(tasks_of(work), self._slots))
        most = sum(most_results(self._of(unit), taken, work) for unit in units)
        return None if most <= limit.of_a_task else limit

    def _careful_rows(self, unit: Unit, job: Job) -> int | None:
        """Return how many rows a job should take of a unit with joins instead; None if all are safe."""
        served = self._of(unit)
        rows = rows_of(served, job.taken)
        if job.work.limit is None or not served.joins or rows <= self.limits.careful_rows(unit.name, 1):
            return None
        most = most_results(served, job.taken, job.work, by_keys=True)
        careful = self.limits.careful_rows(unit.name, int(job.work.limit.of_a_task * rows / max(most, 1.0)))
        return careful if careful < rows else None

    def finished(self, job: Job, outcome: Outcome) -> None:
        """Learn how many results a job's units make, where they can make several of a row."""
        self._longest = min(2 * self._longest, LONGEST_TRAIN)
        for unit, rows, results, size in job.results_by_unit(outcome):
            self.limits.measured(unit.name, rows, results, size)
            self._units.pop(id(unit), None)

    def exceeded(self, job: Job) -> bool:
        """Return a job's rows to their queues: it made too many results. Whether it can be tried with fewer."""
        self.give_back(job)
        if len(job.units) > 1:
            self._longest = max(len(job.units) // 2, 1)
            return True
        self.limits.exceeded(job.units[0].name, job.rows)
        self._units.pop(id(job.units[0]), None)
        limit = job.work.limit
        return job.rows > 1 or (limit is not None and not limit.exact)
