"""The engine: a state machine. It is told what happened and says what to run. It has no clock and no Spark."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from penstock.language.script import Script
from penstock.language.statements import QueryDef, StreamDef
from penstock.network import Edge, Network
from penstock.plan.plan import MayGroup, Plan, always
from penstock.plan.replanning import Planner
from penstock.plan.weights import weighed_network
from penstock.policies import Policy, Service, Unit, policy_named
from penstock.runtime import closings, derived_streams, join_progress
from penstock.runtime.admission import Admitted, Arrived, admitted
from penstock.runtime.change import Change
from penstock.runtime.chunk import Place
from penstock.runtime.commit import FinishedJob, emit_results, queue_rows
from penstock.runtime.cost_model import CostModel
from penstock.runtime.defaults import CHUNK_ROWS
from penstock.runtime.dispatch import Dispatcher
from penstock.runtime.file_admission import admitted_files
from penstock.runtime.job import Emitted, Job
from penstock.runtime.job_panes import store_panes
from penstock.runtime.job_rows import JobRows
from penstock.runtime.query_lifecycle import QueryLifecycle
from penstock.runtime.query_state import QueryState
from penstock.runtime.queues import Queue
from penstock.runtime.recorder import Recorder
from penstock.runtime.result_limits import ResultLimits
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.segment import ArrivedFiles, Segment
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.runtime.state import RuntimeState
from penstock.runtime.stream_log import StreamLog
from penstock.runtime.unit_state import MOST_ROWS, UnitStates
from penstock.runtime.work import Outcome


class Engine:
    """Streams, queues, queries and the scheduler. Only its methods change its state."""

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
        limits: ResultLimits | None = None,
    ) -> None:
        self.state = RuntimeState(streams)
        self.costs = CostModel()
        self.recorder = Recorder(streams)
        self.policy = policy_named(policy)
        self.weights: Mapping[str, float] = {}
        """Weights of queries that are not 1."""
        self.most_rows = float(service.limit(MOST_ROWS) or MOST_ROWS)
        """Rows that a job takes of a queue at most."""
        self.planner = Planner(self.costs, self.most_rows, fixed=not optimize)
        self._memory = memory
        self._may_group = may_group
        self._queries = QueryLifecycle(self.state, may_group)
        self.units = UnitStates(self.state, limits or ResultLimits(), service)
        self.dispatcher = Dispatcher(self.state, self.costs, self.units, quantum_s)
        self._job_rows = JobRows(self.state, self.units, slots)
        self._segments: SegmentWriter | None = None
        self.history: list[Change] = []
        """What was changed since the script began: queries and settings, in order."""
        self.dispatcher.schedule(self.plan.network, self.policy, memory)

    # The state, to read -------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan of all queries."""
        return self.state.plan

    @property
    def streams(self) -> Mapping[str, StreamLog]:
        """The log of each stream."""
        return self.state.streams

    @property
    def queries(self) -> Mapping[str, QueryState]:
        """All queries so far."""
        return self.state.queries

    @property
    def queues(self) -> Mapping[Edge, Queue]:
        """What waits at each edge."""
        return self.state.queues

    @property
    def mode(self) -> str:
        """Normal, or saving memory."""
        return self.dispatcher.mode

    @property
    def round_s(self) -> float:
        """Cost of a job that serves every unit, without its rows."""
        windows_s = self.costs.window_row_s * sum(self.costs.window_rows.values())
        return self.costs.setup_s + self.dispatcher.units * self.costs.unit_s + windows_s

    def dropped_rows(self, query: str) -> dict[str, int]:
        """Return how many rows of each of its streams drop boxes dropped that a query would have seen."""
        return self._queries.dropped_rows(query)

    def waited_for(self) -> set[str]:
        """Return the streams whose watermarks hold back rows that wait for a join."""
        return join_progress.waited_for(self.state)

    # Queries ------------------------------------------------------------------------------------------------

    def begin(self, script: Script) -> None:
        """Register all queries of a script at once; they see every row."""
        for query in script.queries.values():
            starts = {item.relation.name: 0 for item in query.streams}
            self.state.add_streams(query)
            self.state.queries[query.name] = QueryState(query, starts)
            self.recorder.query_created(query.name)
        self._count_derived()
        self._set_plan(Plan.of(script, self._may_group))

    def create(self, query: QueryDef) -> QueryState:
        """Register a query; it sees the rows that arrive from now on."""
        plan = self._queries.create(query)
        self.recorder.query_created(query.name)
        self._count_derived()
        self._set_plan(plan)
        self.history.append(Change.created(self.queries[query.name]))
        return self.queries[query.name]

    def drop(self, name: str) -> QueryState:
        """End a query at what has arrived so far; it continues until that is drained."""
        state = self.queries[name]
        if state.status == "running":
            self._set_plan(self._queries.drop(name))
            self.history.append(Change.dropped_query(state))
        return state

    def stop(self, name: str, reason: str) -> None:
        """Stop a query at once: it failed."""
        self._set_plan(self._queries.stop(name, reason))
        self.history.append(Change.stopped(self.queries[name]))

    def finish_endings(self) -> list[str]:
        """Remove the dropped queries for which nothing waits any more, and return their names."""
        ended = []
        for name, plan in self._queries.drained():
            self._set_plan(plan)
            self.history.append(Change("ended", name))
            ended.append(name)
        return ended

    def begin_again(self, script: Script, history: Iterable[Change], queries: Mapping[str, QueryDef]) -> None:
        """Register the queries of a script, and repeat what was changed since; `queries` were created meanwhile.

        They are given by `Change.key`. The plan is then the same, with the same names of operators.
        """
        self.begin(script)
        for change in history:
            self.history.append(change)
            match change.kind:
                case "create":
                    query = queries[change.key]
                    plan = self._queries.create(query, change.since, dict(change.dropped))
                    self.recorder.query_created(query.name)
                case "drop":
                    end = change.windows.get(change.name)
                    plan = self._queries.drop(change.name, dict(change.ends), dict(change.dropped), end)
                case "stop":
                    plan = self._queries.stop(change.name, change.reason)
                    state = self.queries[change.name]
                    state.ends, state.dropped_until = dict(change.ends), dict(change.dropped)
                    state.end_window = change.windows.get(change.name)
                case "ended":
                    plan = self._queries.ended(change.name)
                case _:
                    continue
            self.state.plan = plan
        self._count_derived()
        self.state.set_plan(self.plan)
        self._reschedule()
        self.planner.move_to(self.plan)

    def _count_derived(self) -> None:
        """Count the rows of derived streams, too."""
        for name in self.streams:
            self.recorder.add_stream(name)

    def end(self, *, drained: bool) -> None:
        """Set the final status of the queries that still run."""
        self._queries.end(drained=drained)

    def _set_plan(self, plan: Plan) -> None:
        """Continue with another plan. A query that joins or leaves a group changes only the group."""
        before = self.plan.network
        if plan.network is before:
            self.state.plan = plan
            self.state.count_rows()
            if self.weights:  # a group's weight follows from its members'
                self._reschedule()
            return
        self.state.set_plan(plan)
        self._reschedule()
        self.dispatcher.forget_removed()
        self.planner.move_to(plan)

    # Settings -----------------------------------------------------------------------------------------------

    def set_policy(self, policy: str | Policy) -> None:
        """Continue with another policy."""
        self.policy = policy_named(policy)
        self.dispatcher.schedule(self.weighed_network(), self.policy, self._memory)

    def set_memory(self, memory: int) -> None:
        """Continue with another memory limit."""
        self._memory = memory
        self.set_policy(self.policy)

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Multiply the gain of these queries by their weights from now on."""
        if weights != self.weights:
            self.weights = dict(weights)
            self._reschedule()

    def weighed_network(self) -> Network:
        """Return the network of the plan with the weights of its queries."""
        return weighed_network(self.plan, self.weights)

    def _reschedule(self) -> None:
        self.dispatcher.move_to(self.weighed_network())

    # Arrivals ---------------------------------------------------------------------------------------------

    def admit(self, stream: str, arrived: Arrived | ArrivedFiles, chunk_rows: int) -> Admitted:
        """Number arrived rows, reject late and malformed ones, drop some, and queue the rest in chunks.

        The rows of files stay there. They are one chunk: a part of a file cannot be read without the rest.
        """
        log = self.state.streams[stream]
        number = admitted_files if isinstance(arrived, ArrivedFiles) else admitted
        passed = number(log.definition, arrived, log.next_sequence, log.newest, log.box)  # type: ignore[arg-type]
        log.advance(passed)
        if self._segments is not None and passed.stored is not None:
            self._segments.own(passed.stored.segments)
        for place in self._places(log.definition, passed, chunk_rows):
            chunk = self.state.chunk(stream, place, log.place(place))
            self.recorder.queued(stream, chunk, is_stream=True)
            for edge in self.plan.network.out_edges.get(stream, ()):
                self.state.queues[edge].put(chunk)
            if stream in self.state.windows:
                log.chunks.append(chunk)
        return passed

    def _places(self, stream: StreamDef, passed: Admitted, chunk_rows: int) -> Iterator[Place]:
        """Yield the places of admitted rows, one for each chunk."""
        if passed.stored is not None:
            yield passed.stored
        for start in range(0, passed.rows.num_rows, chunk_rows):
            rows = passed.rows.slice(start, chunk_rows)
            stores = self._segments is not None and self._segments.always
            yield self._segments.stored(stream, [rows]) if stores and self._segments else ResidentRows(rows)

    def set_watermark(self, stream: str, watermark: int | None, *, ended: bool) -> None:
        """Take the watermark that a source knows, if it knows one, and whether the stream has ended."""
        log = self.state.streams[stream]
        log.source_watermark, log.ended = watermark, ended

    def settle(self, now_us: int, chunk_rows: int = CHUNK_ROWS) -> bool:
        """Close the windows, and number the rows of derived streams, that nothing can change any more.

        Return whether there were some.
        """
        some = self._close_windows(now_us)
        for name, step in derived_streams.derived_in_order(self.state):
            arrived = derived_streams.take_ordered(self.state, name, step)
            if arrived is not None:
                self.recorder.admitted(name, self.admit(name, arrived, chunk_rows))
                some = True
            some = self._close_windows(now_us) or some
        return some

    def _close_windows(self, now_us: int) -> bool:
        """Close windows, and find out what the first ones of each operator cost: policies weigh them by that."""
        closed = closings.close_windows(self.state, now_us)
        for edge in closed:
            if edge.target not in self.costs.window_parts:
                self.costs.closed(edge.target, *closings.windows_and_parts(self.state, edge))
        return bool(closed)

    def set_silent(self, stream: str, since_us: int | None) -> None:
        """Let a stream that has been silent since then hold nothing back; None: it has sent again."""
        if since_us is None:
            self.state.silent.pop(stream, None)
        else:
            self.state.silent[stream] = since_us

    def observe_memory(self, now_s: float, held: float, panes: float = 0.0) -> None:
        """Take the bytes that wait now, for the statistics and for policies that save memory.

        Of the memory limit, `panes` bytes are taken by partial aggregates.
        """
        self.dispatcher.observe_memory(now_s, held + panes, self.recorder.memory(now_s, held) + panes)

    def set_keep(self, shares: Mapping[str, float]) -> None:
        """Set drop boxes: from the next row on, keep these shares of streams. Joins are replanned for them."""
        for name, share in shares.items():
            log = self.state.streams[name]
            log.box.set(share, log.next_sequence)
        self._continue_with(self.planner.for_shares(self.plan, self.streams), {})

    # What runs next -----------------------------------------------------------------------------------------

    def choose(self, now_us: int, least_s: float = 0.0) -> tuple[Unit, ...]:
        """Return the units of the next job; none if nothing can run.

        Where trains are allowed, one takes at least `least_s` seconds if enough units wait.
        """
        planned = self.planner.first(self.plan, self.streams)
        if planned is not self.plan:
            self._continue_with(planned, {})
        return self.dispatcher.choose(now_us, least_s)

    def write_segments_by(self, writer: SegmentWriter | None) -> None:
        """Let rows that the driver holds become segments where they are many."""
        self._segments = writer

    def write_results_to(self, folder: Callable[[], Path] | None) -> None:
        """Let executors write results to this folder, where there are many of them."""
        self._job_rows.writing.folder = folder

    def take(self, units: tuple[Unit, ...]) -> Job:
        """Take the rows of units from their queues, and return the job."""
        return self._job_rows.take(units)

    # What came of it ----------------------------------------------------------------------------------------

    def commit(self, job: Job, outcome: Outcome, now_us: int, seconds: float) -> list[Emitted]:
        """Take what a job made: rows go to queues, results are returned, everybody learns from it."""
        self.state.in_flight.remove(job)
        self.state.changed.update(each for edge in job.taken for each in job.onward(edge))
        finished = FinishedJob(job, outcome, now_us, seconds)
        self._job_rows.finished(job, outcome)
        self.costs.record(self.plan.network, outcome, job.rows, seconds, len(job.units))
        for join, window in job.work.windows:
            self.costs.probed(join, window.num_rows)
        for name, closing in job.work.closing.items():
            [edge] = job.work.plan.network.in_edges[name]
            self.costs.closed(name, sum(chunk.rows for chunk in job.taken[edge]), closing.num_rows)
        self.planner.finished(finished.joins)
        self.recorder.finished(self.plan.network, outcome, seconds)
        queue_rows(self.state, finished, self.recorder)
        ideal_s = partial(self.costs.ideal_s, job.work.plan.network)
        return list(emit_results(self.state, finished, ideal_s, self.recorder))

    def give_back(self, job: Job) -> None:
        """Return a job's rows to their queues: it did not happen."""
        self._job_rows.give_back(job)

    def lose_files(self, job: Job | None, lost: Mapping[Segment, str]) -> None:
        """Remove the rows of files that are lost, given their streams; the other rows of the job can run again."""
        if job is not None:
            self._job_rows.give_back(job)
        self.state.remove_files(lost.keys())
        for segment, stream in lost.items():
            if segment not in self.state.lost:
                self.recorder.lost(stream, segment.rows)
        self.state.lost |= lost.keys()

    def exceeded(self, job: Job) -> bool:
        """Return a job's rows to their queues: it made too many results. Whether it can be tried with fewer."""
        return self._job_rows.exceeded(job)

    def release(self) -> None:
        """Release the rows that no window can need any more; store the oldest where logs are long."""
        join_progress.release(self.state)
        closings.release(self.state)
        if self._segments is not None:
            store_panes(self.state, self._segments, self._memory)
            self._segments.sweep(self.state)
            for log in self.state.streams.values():
                log.chunks = self._segments.shortened(log.definition, log.chunks)

    def learn(self, rates: Mapping[str, float]) -> None:
        """Give the scheduler and the joins what was measured, with these rates of streams."""
        self._continue_with(self.planner.again(self.plan, self.streams), rates)

    def _continue_with(self, plan: Plan, rates: Mapping[str, float]) -> None:
        """Continue with a plan that differs in probe orders, and with measured or expected costs."""
        self.state.plan = plan.measured(self.costs.applied(plan.network, rates))
        self._reschedule()
