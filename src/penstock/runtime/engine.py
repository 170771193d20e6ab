"""The state of a running system and every decision in it. No clock, no Spark: it is told, and says what to run."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, pairwise

import pyarrow as pa

from penstock.errors import RunError
from penstock.language.script import Script
from penstock.language.statements import QueryDef, StreamDef
from penstock.network import Edge, Network, Number
from penstock.plan.columns import hidden_in, is_hidden, numbers
from penstock.plan.group import Group
from penstock.plan.plan import MayGroup, Plan, always
from penstock.plan.reach import Reach, leaving
from penstock.plan.replanning import Planner
from penstock.plan.steps import ARRIVAL, TIME, Columns, Join, Lookup
from penstock.plan.weights import weighed_network
from penstock.policies import Policy, Scheduler, Service, Train, Unit, Waiting, policy_named
from penstock.runtime.admission import Admitted, Arrived, admitted
from penstock.runtime.cost_model import CostModel, moving_average
from penstock.runtime.groups import constants_of, emitted_by, of_members
from penstock.runtime.probes import probed_windows
from penstock.runtime.query_state import Emitted, Job, QueryState
from penstock.runtime.recorder import Recorder, sums_of
from penstock.runtime.result_limits import Limit, ResultLimits
from penstock.runtime.stream_log import Chunk, Queue, StreamLog
from penstock.runtime.unit_state import Taken, UnitState, most_results, rows_of, tasks_of, unit_state
from penstock.spark.job import Outcome, Work

PART_S = 0.02
"""How long a task should work at least; a task costs some 8 ms in itself."""
FIRST_TRAIN, LONGEST_TRAIN = 4, 500
"""Units of a train at most, before and after it was measured what one costs: in a cold JVM that is a lot."""
MOST_ROWS = 500_000
"""Rows one job takes at most, even under exhaustive service."""


class Engine:
    """Streams, queues, queries and the scheduler."""

    def __init__(
        self,
        streams: Mapping[str, StreamDef],
        policy: str | Policy,
        service: Service,
        memory: int | None = None,
        may_group: MayGroup = always,
        quantum_s: float = 0.0,
        slots: int = 1,
        optimize: bool = True,
    ) -> None:
        self.streams = {name: StreamLog(stream) for name, stream in streams.items()}
        self.queries: dict[str, QueryState] = {}
        self.costs = CostModel()
        self.queues: dict[Edge, Queue] = {}
        self.in_flight: list[Job] = []
        self.recorder: Recorder | None = None
        """Counts what happens, while somebody looks."""
        self.idle: set[str] = set()
        """Streams that have been silent too long to hold others back."""
        self._service = service
        self._memory = memory
        self._may_group = may_group
        self._quantum_s = quantum_s
        self.slots = slots
        self.most_rows = float(service.limit(MOST_ROWS) or MOST_ROWS)
        """How many rows a run takes of a queue at most."""
        self.overhead_s = 0.0
        """What jobs took so far beside their rows, as far as is known."""
        self.planner = Planner(self.costs, self.most_rows, leave=not optimize)
        self.probed: dict[str, float] = {}
        self._numbers = 0
        self._ending: set[str] = set()
        self._constants: dict[str, tuple[Group, pa.Table]] = {}
        self.policy = policy_named(policy)
        self.weights: Mapping[str, float] = {}
        """Of queries by name, where they are not 1."""
        self.plan = Plan()
        self._wanted: Mapping[Edge, Columns] = {}
        self.limits = ResultLimits()
        """How many results a job may make."""
        self._longest = LONGEST_TRAIN
        """Units that a job takes at most: fewer for a while after one made too many results."""
        self._served: dict[int, UnitState] = {}
        """What is known of units, by id() while the scheduler holds them: a unit is slow to hash."""
        self._sent: dict[str, list[Queue]] = {}
        """The queues that a stream or an operator sends its rows to."""
        self._windows: dict[str, list[tuple[str, int]]] = {}
        self._scheduler = Scheduler(self.plan.network, self.policy, memory)

    # Queries ------------------------------------------------------------------------------------------------

    def begin(self, script: Script) -> None:
        """Register all queries of a script at once; they see every row."""
        self._set_plan(Plan.of(script, self._may_group))
        for query in script.queries.values():
            self.queries[query.name] = QueryState(query, {item.relation.name: 0 for item in query.streams})

    def create(self, query: QueryDef) -> QueryState:
        """Register a query; it sees the rows that come from now on."""
        if query.name in self.queries and self.queries[query.name].live:
            raise RunError(f"query {query.name} is running already")
        starts = {item.relation.name: self.streams[item.relation.name].next_sequence for item in query.streams}
        self._set_plan(self.plan.with_query(query, starts, self._may_group))
        self.queries[query.name] = QueryState(query, starts, dropped_before=self._dropped(starts))
        return self.queries[query.name]

    def drop(self, name: str) -> QueryState:
        """End a query at what has arrived so far; it goes on until that is worked off."""
        state = self.queries[name]
        if state.status == "running":
            ends = self._set_ends(state)
            state.status = "ending"
            self._ending.add(name)
            plan, copied = self.plan.with_ending(name, state.starts, ends)
            for old, new in copied.items():
                self.queues[new] = self.queues[old].copy()
                for run in self.in_flight:
                    run.copies.setdefault(old, []).append(new)
            self._set_plan(plan)
        return state

    def stop(self, name: str, reason: str) -> None:
        """Stop a query at once: it failed."""
        state = self.queries[name]
        state.status, state.reason = "failed", reason
        self._set_ends(state)
        self._remove(name)

    def end(self, *, worked_off: bool) -> None:
        """Say of the queries that still run how they ended: with everything worked off, or stopped before."""
        for state in self.queries.values():
            if state.live:
                state.status = "ended" if worked_off else "stopped"

    def dropped_for(self, name: str) -> dict[str, int]:
        """Return how many rows of each of its streams drop boxes dropped that a query would have seen."""
        state = self.queries[name]
        until = self._dropped(state.starts) if state.dropped_until is None else state.dropped_until
        return {stream: count - state.dropped_before.get(stream, 0) for stream, count in until.items()}

    def _set_ends(self, state: QueryState) -> dict[str, int]:
        state.dropped_until = self._dropped(state.starts)
        state.ends = {stream: self.streams[stream].next_sequence for stream in state.starts}
        return state.ends

    def _dropped(self, streams: Iterable[str]) -> dict[str, int]:
        return {name: self.streams[name].box.dropped for name in streams}

    def set_policy(self, policy: str | Policy) -> None:
        """Go on with another policy."""
        self.policy = policy_named(policy)
        self._scheduler = Scheduler(self.weighed_network(), self.policy, self._memory)
        self._served.clear()

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Let gains of queries count so many times from now on; those that are not named count once."""
        if weights != self.weights:
            self.weights = dict(weights)
            self._reschedule()

    def weighed_network(self) -> Network:
        """Return the network of the plan with the weights of its queries."""
        return weighed_network(self.plan, self.weights)

    def _reschedule(self) -> None:
        self._scheduler.move_to(self.weighed_network())
        self._served.clear()

    def _remove(self, name: str) -> None:
        self._ending.discard(name)
        self._set_plan(self.plan.without_query(name))

    def _set_plan(self, plan: Plan) -> None:
        """Go on with another plan; a query that joined a group, or left one, changes nothing but the group."""
        before, self.plan = self.plan, plan
        if plan.network is before.network:
            if self.weights:  # those of a group are those of its members
                self._reschedule()
            return
        self._reschedule()
        self.limits.keep(unit.name for unit in self._scheduler.units)
        self.queues = {edge: self.queues.get(edge) or Queue() for edge in plan.network.edges}
        self._wanted = plan.wanted()
        self._sent = {
            name: [self.queues[edge] for edge in edges] for name, edges in plan.network.out_edges.items() if edges
        }
        self._windows = {}
        for name, step in plan.steps.items():
            if isinstance(step, Join):
                for port, each in enumerate(step.ports):
                    self._windows.setdefault(each.stream, []).append((name, port))
        self.planner.move_to(plan)

    def _go_on_with(self, plan: Plan, rates: Mapping[str, float]) -> None:
        """Go on with a plan that differs in the orders of its joins, and with what was measured or is expected."""
        self.plan = plan.measured(self.costs.applied(plan.network, rates))
        self._reschedule()

    def finish_endings(self) -> list[str]:
        """Remove the dropped queries for which nothing waits any more, and return their names."""
        done = []
        for state in [self.queries[name] for name in sorted(self._ending)]:
            if not self._waits_for(state):
                state.status = "ended"
                self._remove(state.name)
                done.append(state.name)
        return done

    def _waits_for(self, state: QueryState) -> bool:
        assert state.ends is not None
        alone, users = self.plan.runs_as(state.name), self.plan.network.users
        operators = {op.name for op in self.plan.network.operators if alone in users[op.name]}
        for run in self.in_flight:
            then, users = run.work.plan.runs_as(state.name), run.work.plan.network.users
            if any(then in users[edge.target] for edge in run.taken):
                return True
        streams = [item.relation.name for item in state.definition.streams]
        for edge, queue in self.queues.items():
            if edge.target not in operators:
                continue
            for chunk in queue.chunks:
                columns = [name for name in hidden_in(chunk.table) if name.startswith("__seq")]
                if len(columns) == len(streams) > 1:
                    marks = [state.ends[name] for name in streams]
                else:
                    marks = [max(state.ends[name] for name in self._streams_at(edge))]
                firsts = [int(numbers(chunk.table, each).min()) for each in sorted(columns)]
                if all(first < mark for first, mark in zip(firsts, marks, strict=False)):
                    return True
        return False

    def _streams_at(self, edge: Edge) -> list[str]:
        """Return the streams whose rows an edge below a join carries."""
        name = edge.source
        while name not in self.streams:
            name = self.plan.network.operator(name).inputs[0]
        return [name]

    # Arrivals -----------------------------------------------------------------------------------------------

    def admit(self, stream: str, arrived: Arrived, chunk_rows: int) -> Admitted:
        """Take rows in: number them, turn the late and malformed away, queue the rest in chunks."""
        log = self.streams[stream]
        passed = admitted(log.definition, arrived, log.next_sequence, log.newest, log.box)
        log.next_sequence, log.newest = passed.next_sequence, passed.newest
        log.box.dropped += passed.dropped
        if log.oldest is None and passed.rows.num_rows:
            log.oldest = int(numbers(passed.rows, TIME).min())
        for start in range(0, passed.rows.num_rows, chunk_rows):
            chunk = self._chunk(passed.rows.slice(start, chunk_rows))
            if self.recorder is not None:
                self.recorder.admitted(stream, chunk)
            for edge in self.plan.network.out_edges.get(stream, ()):
                self.queues[edge].put(chunk)
            if stream in self._windows:
                log.chunks.append(chunk)
        return passed

    def _chunk(self, table: pa.Table) -> Chunk:
        self._numbers += 1
        return Chunk(table, self._numbers)

    def backlog(self, stream: str) -> int:
        """Return the bytes of a stream's rows that wait to be taken up."""
        return max((queue.bytes for queue in self._sent.get(stream, ())), default=0)

    def backlog_rows(self, stream: str) -> int:
        """Return the rows of a stream that wait to be taken up."""
        return max((queue.rows for queue in self._sent.get(stream, ())), default=0)

    def waiting_bytes(self) -> int:
        """Return the bytes in all queues; rows that wait in several are counted once for each source."""
        return sum(map(self.backlog, self._sent))

    def waiting_rows(self) -> int:
        """Return the rows in all queues; those that wait in several are counted once for each source."""
        return sum(max(queue.rows for queue in queues) for queues in self._sent.values())

    def see_memory(self, now_s: float, held: float, mean: float) -> None:
        """Let a policy that watches memory look at it: what is held now, and was on average."""
        self._scheduler.see_memory(now_s, held, mean)
        if self.recorder is not None:
            self.recorder.held(now_s, held)

    def set_memory(self, memory: int) -> None:
        """Go on with another limit."""
        self._memory = memory
        self.set_policy(self.policy)

    @property
    def mode(self) -> str:
        """Normal, or saving memory."""
        return self._scheduler.mode

    @property
    def must_shed(self) -> bool:
        """Whether saving memory was not enough (JC03 §3.4); a policy without such a mode never says so."""
        return self._scheduler.must_shed

    @property
    def round_s(self) -> float:
        """What a job that serves every unit costs before its first row."""
        windows_s = self.costs.window_row_s * sum(self.probed.values())
        return self.costs.setup_s + len(self._scheduler.units) * self.costs.unit_s + windows_s

    def keep(self, shares: Mapping[str, float]) -> None:
        """Set drop boxes: from the next row on, so much is kept of each stream; joins are planned for that."""
        for name, share in shares.items():
            log = self.streams[name]
            log.box.set(share, log.next_sequence)
        self._go_on_with(self.planner.now(self.plan, self.streams), {})

    # What runs next -----------------------------------------------------------------------------------------

    def next_run(self, now_us: int) -> Job | None:
        """Return what the policy runs next, with its rows taken from the queues; None if nothing can run."""
        units = self.choose(now_us)
        return self.take(units) if units else None

    def choose(self, now_us: int, least_s: float = 0.0) -> tuple[Unit, ...]:
        """Return the units that the policy runs next, as one; none if nothing can run.

        Trains take as long as `least_s`, if units wait and there may be more than one in a train at all.
        """
        planned = self.planner.first(self.plan, self.streams)
        if planned is not self.plan:
            self._go_on_with(planned, {})
        most = LONGEST_TRAIN if self.costs.is_measured else FIRST_TRAIN
        quantum_s = max(self._quantum_s, least_s)
        train = Train(self.costs.setup_s, quantum_s, most, least_s, self.costs.pace) if self._quantum_s else None
        return self._scheduler.choose(now_us / 1e6, self._look, as_measured, train)

    def take(self, units: tuple[Unit, ...]) -> Job:
        """Take the rows of units from their queues, and return the run.

        If they could make too many results, fewer rows are taken, or fewer units.
        """
        run = self._taken(units[: self._longest])
        risky = {}
        for unit in run.units:
            careful = self._careful_rows(unit, run)
            if careful is not None:
                risky[unit.id] = careful
        if not risky:
            return run
        self.give_back(run)
        [first, *others] = run.units
        if first.id in risky:
            return self._taken((first,), risky[first.id])
        return self._taken((first, *(unit for unit in others if unit.id not in risky)))

    def _taken(self, units: tuple[Unit, ...], most: int = MOST_ROWS) -> Job:
        taken: dict[Edge, tuple[Chunk, ...]] = {}
        through: set[Edge] = set()
        cut: set[Edge] = set()
        running: list[Unit] = []
        filled = 0.0
        for unit in units:
            served = self._of(unit)
            waiting = sum(lane.queue.rows for lane in served.lanes)
            left = min(self._limit(served, waiting), most)
            filled += min(left, waiting) / served.fitting
            if running and filled > 1:
                break
            running.append(unit)
            through |= unit.through
            for edge, reach, queue in served.lanes:
                chunks = tuple(queue.take(self._bound_of(reach), left))
                if not chunks:
                    continue
                left -= sum(chunk.rows for chunk in chunks)
                taken[edge] = (*taken.get(edge, ()), *chunks)
                latest = max(chunk.last_time for chunk in chunks)
                cut |= {join for join in reach.joins if join != edge and self._bound(join) < latest}
        onward = frozenset(through - cut)
        work = self._work(taken, onward, self._partitions(running, taken))
        multiplying = tuple(unit for unit in running if self._of(unit).multiplies)
        limited = replace(work, limit=self._result_limit(running, taken, work))
        run = Job(tuple(running), taken, limited, multiplying)
        self.in_flight.append(run)
        return run

    def _result_limit(self, units: list[Unit], taken: Taken, work: Work) -> Limit | None:
        """Return how many results a job may make; None if it cannot make more anyway."""
        rows = sum(chunk.rows for chunks in taken.values() for chunk in chunks)
        limit = self.limits.limit([unit.name for unit in units], rows, min(tasks_of(work), self.slots))
        most = sum(most_results(self._of(unit), taken, work) for unit in units)
        return None if most <= limit.of_a_task else limit

    def _careful_rows(self, unit: Unit, run: Job) -> int | None:
        """Return how many rows a run should take of a unit with joins instead; None if it is right as it is."""
        served = self._of(unit)
        rows = rows_of(served, run.taken)
        if run.work.limit is None or not served.joins or rows <= self.limits.careful_rows(unit.name, 1):
            return None
        most = most_results(served, run.taken, run.work, by_keys=True)
        careful = self.limits.careful_rows(unit.name, int(run.work.limit.of_a_task * rows / max(most, 1.0)))
        return careful if careful < rows else None

    def _partitions(self, units: Iterable[Unit], taken: Mapping[Edge, tuple[Chunk, ...]]) -> int:
        """Return into how many parts rows are worth cutting: as many as there are slots, if the work is long."""
        work = 0.0
        for unit in units:
            rows = sum(chunk.rows for edge in unit.entries for chunk in taken.get(edge, ()))
            work = max(work, rows * float(unit.time))
        return min(max(int(work / PART_S), 1), self.slots)

    def _work(self, taken: Mapping[Edge, tuple[Chunk, ...]], through: frozenset[Edge], partitions: int) -> Work:
        together: dict[tuple[int, ...], pa.Table] = {}  # units that take the same rows are given one table
        takes = {}
        for edge, chunks in taken.items():
            key = tuple(map(id, chunks))
            if key not in together:
                # Pieces from before a query that reads more columns lack them, and it drops their rows.
                tables = [chunk.table for chunk in chunks]
                together[key] = pa.concat_tables(tables, promote_options="default")
            takes[edge] = of_members(self.plan, edge, together[key])
        probes, spans = probed_windows(self.plan, self._wanted, self.streams, taken, through)
        reached = {edge.target for edge in (*taken, *through)}
        constants = {
            step.table.name: self._constants_of(step.table.name)
            for step in map(self.plan.steps.__getitem__, reached)
            if isinstance(step, Lookup) and step.table.is_constants
        }
        return Work(self.plan, takes, through, probes, self._wanted, constants, partitions, spans=spans)

    def _constants_of(self, name: str) -> pa.Table:
        group = self.plan.groups[name]
        if name not in self._constants or self._constants[name][0] is not group:
            self._constants[name] = (group, constants_of(group))
        return self._constants[name][1]

    def _look(self, unit: Unit) -> Waiting | None:
        served = self._of(unit)
        ready = 0
        oldest: Chunk | None = None
        waiting = 0
        for _, reach, queue in served.lanes:
            if not queue.chunks:
                continue
            waiting += queue.rows
            some = queue.rows if reach.is_free else queue.ready(self._bound_of(reach))
            if some:
                ready += some
                first = queue.chunks[0]
                if oldest is None or (first.arrival, first.number) < (oldest.arrival, oldest.number):
                    oldest = first
        if oldest is None or any(lane.edge in run.taken for run in self.in_flight for lane in served.lanes):
            return None
        batch = min(ready, self._limit(served, waiting))
        window_rows = sum(self.probed.get(join, 0.0) for join in served.joins) if served.joins else 0.0
        return Waiting(oldest.arrival / 1e6, oldest.number, ready, batch, self.costs.overhead_s(window_rows))

    def _limit(self, served: UnitState, waiting: int) -> int:
        """Return how many rows a run may take, of those that wait."""
        limit = self._service.limit(waiting)
        return served.most if limit is None else min(int(limit), served.most)

    def _of(self, unit: Unit) -> UnitState:
        known = self._served.get(id(unit))
        if known is None:
            fitting = self.limits.most_rows(unit.name, float(unit.whole.S))
            known = unit_state(self.plan, self.queues, unit, fitting, MOST_ROWS)
            self._served[id(unit)] = known
        return known

    # Frontiers ----------------------------------------------------------------------------------------------

    def _bound_of(self, reach: Reach) -> float:
        """Return up to which time rows of an entry may run now.

        If a run makes something besides what lies behind joins, it may go on at any time: it stops before a join
        whose other streams are not there yet.
        """
        if reach.is_free:
            return math.inf
        return max(self._bound(join) for join in reach.joins)

    def _bound(self, join: Edge) -> float:
        """Return up to which time a row of a port may probe: all that precede it must be there.

        Of a stream further left in FROM, rows of the same time precede it, of one further right they do not.
        """
        step = self.plan.join(join.target)
        users = (name for user in self.plan.network.users[join.target] for name in self.plan.served_by(user))
        if all(self.queries[user].ends is not None for user in users):
            return math.inf
        bounds = []
        for other, port in enumerate(step.ports):
            if other != join.port and port.stream not in self.idle:
                watermark = self.streams[port.stream].watermark
                bounds.append(watermark if other < join.port else watermark + 1)
        return min(bounds, default=math.inf)

    def waited_for(self) -> set[str]:
        """Return the streams whose frontiers hold rows back that wait for a join."""
        found: set[str] = set()
        for name, step in self.plan.steps.items():
            if isinstance(step, Join):
                for port in range(len(step.ports)):
                    if self._first_waiting(step, name, port) < math.inf:
                        others = [each.stream for place, each in enumerate(step.ports) if place != port]
                        found.add(min(others, key=lambda stream: self.streams[stream].watermark))
        return found

    def release(self) -> None:
        """Let go of the rows that no window can need any more."""
        for name, log in self.streams.items():
            readers = self._windows.get(name)
            if readers is None:
                log.chunks.clear()
                continue
            if log.chunks:
                passed = min(self._passed(log, join, port) for join, port in readers)
                del log.chunks[:passed]

    def _passed(self, log: StreamLog, join: str, port: int) -> int:
        step = self.plan.join(join)
        low = min(self._earliest_probe(join, other) for other in range(len(step.ports)) if other != port)
        return log.needed_from(step.ports[port].window, low)

    def _earliest_probe(self, join: str, port: int) -> float:
        """Return the earliest time of a row of that port that may still come to probe."""
        step = self.plan.join(join)
        earliest = min(self.streams[step.ports[port].stream].watermark + 1, self._first_waiting(step, join, port))
        return min([earliest, *(run.first_time for run in self.in_flight)])

    def _first_waiting(self, step: Join, join: str, port: int) -> float:
        """Return the earliest time of a row that waits on the way to a port."""
        here = step.ports[port]
        nodes = [here.stream, *here.path]
        earliest = math.inf
        for edge in self.plan.network.in_edges[join]:
            if edge.port == port:
                earliest = min(earliest, self.queues[edge].first_time)
        for source, target in pairwise(nodes):
            for edge in self.plan.network.in_edges[target]:
                if edge.source == source:
                    earliest = min(earliest, self.queues[edge].first_time)
        return earliest

    # What came of it ----------------------------------------------------------------------------------------

    def commit(self, run: Job, outcome: Outcome, now_us: int, seconds: float) -> list[Emitted]:
        """Take in what a job made: rows that wait further on, results for sinks, measures."""
        self.in_flight.remove(run)
        self._measure_results(run, outcome)
        self.costs.record(self.plan.network, outcome, run.rows, seconds, len(run.units))
        self.overhead_s += self.costs.overhead_s(outcome.window_rows) + (len(run.units) - 1) * self.costs.unit_s
        self.planner.ran(run, outcome, seconds)
        if self.recorder is not None:
            self.recorder.ran(self.plan.network, outcome, seconds)
        for (join, _, _), window in run.work.probes.items():
            self.probed[join] = moving_average(self.probed.get(join, window.num_rows), window.num_rows)
        emitted: list[Emitted] = []
        network = run.work.plan.network
        for name, table in outcome.rows.items():
            staying = [edge for edge in network.out_edges.get(name, ()) if edge not in run.work.through]
            if staying and table.num_rows:
                chunk = self._chunk(table)
                if self.recorder is not None:
                    self.recorder.stayed(name, chunk)
                for edge in chain.from_iterable(map(run.onward, staying)):
                    if edge in self.queues:
                        self.queues[edge].put(chunk)
            for query in run.work.plan.roots.get(name, ()):
                group = run.work.plan.groups.get(query)
                ideal = self.costs.ideal_s(network, query)
                if group is None:
                    emitted += self._emit(query, table, now_us, ideal)
                else:
                    emitted += self._emit_all(group, table, now_us, ideal)
        return emitted

    def _measure_results(self, run: Job, outcome: Outcome) -> None:
        """Learn how many results the units of a run make that can make several of a row."""
        self._longest = min(2 * self._longest, LONGEST_TRAIN)
        for unit in run.multiplying:
            entries = [edge for edge in unit.entries if edge in run.taken]
            rows = sum(chunk.rows for edge in entries for chunk in run.taken[edge])
            made = [outcome.rows.get(name) for name in leaving(run.work.plan, entries, run.work.through)]
            tables = [table for table in made if table is not None]
            results, size = sum(table.num_rows for table in tables), sum(table.nbytes for table in tables)
            self.limits.measured(unit.name, rows, results, size)
            self._served.pop(id(unit), None)

    def exceeded(self, run: Job) -> bool:
        """Return a run's rows to their queues: it made too many results. Whether it can be tried with fewer."""
        self.give_back(run)
        if len(run.units) > 1:
            self._longest = max(len(run.units) // 2, 1)
            return True
        self.limits.exceeded(run.units[0].name, run.rows)
        self._served.pop(id(run.units[0]), None)
        limit = run.work.limit
        return run.rows > 1 or (limit is not None and not limit.exact)

    def _emit_all(self, group: Group, table: pa.Table, now_us: int, ideal: float) -> list[Emitted]:
        rows = emitted_by(group, self.queries, table, now_us, ideal, self.recorder)
        return [] if rows is None else [Emitted(group.name, rows, of_group=True)]

    def _emit(self, name: str, table: pa.Table, now_us: int, ideal: float) -> list[Emitted]:
        state = self.queries[name]
        rows = state.seen(table)
        if not rows.num_rows or not state.live:
            return []
        count, total, squares, most = sums_of((now_us - numbers(rows, ARRIVAL)) / 1e6)
        state.outputs += count
        state.response.merge(count, total, squares, most)
        state.slowdown.merge(count, total / ideal, squares / ideal**2, most / ideal)
        if self.recorder is not None:
            self.recorder.emitted(name, count, total, squares, most, ideal)
        return [Emitted(state.name, rows.select([name for name in rows.column_names if not is_hidden(name)]))]

    def give_back(self, run: Job) -> None:
        """Return a run's rows to their queues: it did not happen."""
        self.in_flight.remove(run)
        for edge, chunks in run.taken.items():
            for each in run.onward(edge):
                if each in self.queues:
                    self.queues[each].put_back(chunks)

    def users_of(self, run: Job, operator: str) -> list[str]:
        """Return the queries that cannot do without an operator's output in a run."""
        plan = run.work.plan
        names = (name for user in plan.network.users[operator] for name in plan.served_by(user))
        return [name for name in names if self.queries[name].live]

    def relearn(self, rates: Mapping[str, float]) -> None:
        """Let the scheduler go on with what was measured."""
        self._go_on_with(self.planner.again(self.plan, self.streams), rates)


def as_measured(unit: Unit) -> tuple[Number, Number | None]:
    """Return what is expected of a unit, to a policy that would know the future: here, nobody does."""
    return unit.static, unit.cost
