"""The fluid what-if model: the engine under one policy alone, in plain Python, to see what the policy would do.

The network, the `Scheduler` and its trains are the engine's, and jobs cost c0 + b + w·window + n·cost as measured.
Of n rows an operator makes n · selectivity, fractions included. So the model is deterministic and knows only
averages.

It leaves out: a queue is served from one whole row on; rows never wait for other streams; a probe reads the
average number of rows; several jobs in flight are one machine that is as many times faster; rows are kept as sums,
the newest of a long queue together.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple

from penstock.network import Edge, Network
from penstock.policies import Exhaustive, Scheduler, Service, Train, Unit, Waiting, as_measured
from penstock.qos import IntervalStatistics, ResultSums

_FLOWS = 16
"""Parts of a queue that are kept apart."""
_LEAST_ROWS = 1.0 - 1e-9


class Flow(NamedTuple):
    """Rows as sums: how many, when the first arrived, the sums of arrivals and of their squares, in seconds."""

    rows: float
    first: float
    total: float
    squares: float

    @classmethod
    def at(cls, rows: float, mean: float, first: float | None = None) -> "Flow":
        """Return rows that arrived at a time, on average."""
        return cls(rows, mean if first is None else first, rows * mean, rows * mean * mean)

    def times(self, factor: float) -> "Flow":
        """Return so many times the rows."""
        return Flow(self.rows * factor, self.first, self.total * factor, self.squares * factor)

    def with_flow(self, other: "Flow") -> "Flow":
        """Return both as one."""
        return Flow(
            self.rows + other.rows,
            min(self.first, other.first),
            self.total + other.total,
            self.squares + other.squares,
        )


class FluidQueue:
    """A queue of the model."""

    __slots__ = ("flows", "number", "rows")

    def __init__(self) -> None:
        self.flows: deque[Flow] = deque()
        self.rows = 0.0
        self.number = 0

    def put(self, flow: Flow, number: int) -> None:
        """Add rows at the end."""
        if not self.flows:
            self.number = number
        self.flows.append(self.flows.pop().with_flow(flow) if len(self.flows) == _FLOWS else flow)
        self.rows += flow.rows

    def take(self, most: float) -> Flow:
        """Remove and return the oldest rows, at most so many; there is one at least."""
        taken: Flow | None = None
        while self.flows and most > 0:
            flow = self.flows.popleft()
            if flow.rows > most:
                self.flows.appendleft(flow.times(1 - most / flow.rows))
                flow = flow.times(most / flow.rows)
            taken = flow if taken is None else taken.with_flow(flow)
            most -= flow.rows
        assert taken is not None
        self.rows = sum(flow.rows for flow in self.flows)
        return taken


class _Result(NamedTuple):
    """Results of a query: how many of a row, their weight and their ideal time."""

    rows: float
    weight: float
    ideal: float


@dataclass(frozen=True)
class ModelInputs:
    """What is known of the engine when models begin; the same for all policies."""

    network: Network
    setup_s: float
    unit_s: float = 0.0
    window_row_s: float = 0.0
    pace: float = 1.0
    ideals: Mapping[str, float] = field(default_factory=dict)
    """T of queries, where it is not the network's."""
    windows: Mapping[str, float] = field(default_factory=dict)
    """Rows that a probe of each join reads."""
    service: Service = field(default_factory=Exhaustive)
    quantum_s: float = 0.0
    longest_train: int = 500
    """Units of a train at most."""
    most_rows: float = 500_000
    """Rows that a job takes of a unit at most."""
    in_flight: int = 1
    memory: int | None = None
    row_bytes: Mapping[str, float] = field(default_factory=dict)
    """Bytes of a row of each stream and operator."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weights of queries that are not 1."""

    @cached_property
    def leads(self) -> Mapping[Edge, list[_Result]]:
        """For each queue, what comes of a row that waits there."""
        ideals = {name: ideal for queries in self.results_of.values() for name, _, ideal in queries}
        return {
            edge: [
                _Result(float(self.network.S(path)), self.weights.get(path.query, 1.0), ideals[path.query])
                for path in self.network.suffixes[edge]
            ]
            for edge in self.network.edges
        }

    @cached_property
    def results_of(self) -> Mapping[str, list[tuple[str, float, float]]]:
        """For each root, its queries with their weights and ideal times."""
        found: dict[str, list[tuple[str, float, float]]] = {}
        for query in self.network.queries:
            ideal = self.ideals.get(query.name) or float(self.network.T(query.name))
            found.setdefault(query.root, []).append((query.name, self.weights.get(query.name, 1.0), ideal))
        return found


class AdmittedFlow(NamedTuple):
    """Rows of a stream, and when they are admitted."""

    stream: str
    flow: Flow
    at: float


class _Lane(NamedTuple):
    """What becomes of a row that waits at an entry of a unit: its cost, its results, and what stays where."""

    edge: Edge
    queue: FluidQueue
    cost_s: float
    results: list[_Result]
    stays: list[tuple[Edge, float]]


class _UnitState(NamedTuple):
    """A unit: its entries, and what a run of it alone costs before its first row."""

    lanes: list[_Lane]
    overhead_s: float


@dataclass
class _Job:
    """A job that runs: when it ends, and what it will have made."""

    end: float
    results: list[tuple[_Result, Flow]] = field(default_factory=list)
    stays: list[tuple[Edge, Flow]] = field(default_factory=list)


class FluidModel:
    """The engine under one policy; times are in seconds, from any beginning on.

    >>> inputs = ModelInputs(Network.chains([[(1.0, 0.5)]]), setup_s=2.0)
    >>> model = FluidModel(inputs, "fifo", now=0.0)
    >>> interval = model.advance(10.0, [AdmittedFlow("s", Flow.at(4, 0.0), 0.0)])
    >>> interval.results.count, interval.results.avg_response
    (2.0, 6.0)
    """

    def __init__(self, inputs: ModelInputs, policy: str, now: float) -> None:
        self.inputs = inputs
        self.now = now
        self.queues: dict[Edge, FluidQueue] = {edge: FluidQueue() for edge in inputs.network.edges}
        self._scheduler = Scheduler(inputs.network, policy, inputs.memory)
        self._served: dict[int, _UnitState] = {}
        self._train = (
            Train(inputs.setup_s, inputs.quantum_s, inputs.longest_train, 0, inputs.pace)
            if inputs.quantum_s
            else None
        )
        self._job: _Job | None = None
        self._numbers = 0
        self._sent = {
            source: [self.queues[edge] for edge in edges]
            for source, edges in inputs.network.out_edges.items()
            if edges
        }
        self._held = dict.fromkeys(self._sent, 0.0)
        """Bytes that wait behind each stream and operator, once for all its queues."""
        self._began = self._since = now
        self._whole_byte_seconds = 0.0
        self._clear()

    def _clear(self) -> None:
        self._results: list[tuple[_Result, Flow, float]] = []
        self._byte_seconds, self._peak = 0.0, 0.0
        self.jobs = 0
        """Jobs begun since the last reading."""

    def put(self, edge: Edge, flow: Flow) -> None:
        """Add rows to a queue."""
        self._numbers += 1
        self.queues[edge].put(flow, self._numbers)
        self._touched(edge.source)

    def advance(
        self, until: float, arrivals: Sequence[AdmittedFlow], most_jobs: float = math.inf
    ) -> IntervalStatistics | None:
        """Run up to a time with what is admitted by then, and return the statistics of the interval.

        None if that takes more than `most_jobs`: then the model is somewhere in between.
        """
        coming = deque(arrivals)
        while self.jobs <= most_jobs:
            if self._job is None and not (coming and coming[0].at <= self.now) and self._start():
                continue
            end = until if self._job is None else self._job.end
            if coming and coming[0].at <= min(end, until):
                self._admit(coming.popleft())
            elif self._job is not None and end <= until:
                self._finish(self._job)
            else:
                self._move(until)
                return self._interval()
        return None

    def _admit(self, arriving: AdmittedFlow) -> None:
        self._move(arriving.at)
        self._numbers += 1
        for queue in self._sent.get(arriving.stream, ()):
            queue.put(arriving.flow, self._numbers)
        self._touched(arriving.stream)

    def _start(self) -> bool:
        """Start the job that the policy chooses, if there is something to do."""
        mean = self._whole_byte_seconds / max(self.now - self._began, 1e-9)
        held = sum(self._held.values())
        self._peak = max(self._peak, held)
        self._scheduler.see_memory(self.now, held, mean)
        units = self._scheduler.choose(self.now, self._look, as_measured, self._train)
        if not units:
            return False
        self.jobs += 1
        job = _Job(self.now)
        seconds = self.inputs.setup_s + sum(self._run(unit, job) for unit in units)
        job.end += seconds / self.inputs.in_flight
        self._job = job
        return True

    def _run(self, unit: Unit, job: _Job) -> float:
        """Take the rows of a unit, and return what they add to the time of the job."""
        served = self._of(unit)
        seconds = served.overhead_s - self.inputs.setup_s
        left = self._limit(sum(lane.queue.rows for lane in served.lanes))
        for edge, queue, cost_s, results, stays in served.lanes:
            if left > 0 and queue.rows >= _LEAST_ROWS:
                flow = queue.take(left)
                self._touched(edge.source)
                left -= flow.rows
                seconds += flow.rows * cost_s * self.inputs.pace
                job.results += [(result, flow) for result in results]
                job.stays += [(onward, flow.times(rows)) for onward, rows in stays]
        return seconds

    def _finish(self, job: _Job) -> None:
        self._move(job.end)
        self._job = None
        self._results += [(result, flow, job.end) for result, flow in job.results]
        for edge, flow in job.stays:
            self.put(edge, flow)

    def _look(self, unit: Unit) -> Waiting | None:
        served = self._of(unit)
        rows, first, number = 0.0, math.inf, 0
        for lane in served.lanes:
            queue = lane.queue
            if queue.rows >= _LEAST_ROWS:
                rows += queue.rows
                if queue.flows[0].first < first:
                    first, number = queue.flows[0].first, queue.number
        return Waiting(first, number, rows, self._limit(rows), served.overhead_s) if rows else None

    def _limit(self, waiting: float) -> float:
        limit = self.inputs.service.limit(waiting)
        return min(waiting, self.inputs.most_rows if limit is None else float(limit))

    def _of(self, unit: Unit) -> _UnitState:
        known = self._served.get(id(unit))
        if known is None:
            inputs = self.inputs
            lanes = [self._lane(edge, unit) for edge in unit.entries]
            reached = {edge.target for edge in (*unit.entries, *unit.through)}
            window_rows = sum(inputs.windows.get(name, 0.0) for name in reached)
            overhead = inputs.setup_s + inputs.unit_s + inputs.window_row_s * window_rows
            known = self._served[id(unit)] = _UnitState(lanes, overhead)
        return known

    def _lane(self, entry: Edge, unit: Unit) -> _Lane:
        network = self.inputs.network
        lane = _Lane(entry, self.queues[entry], 0.0, [], [])
        cost = 0.0
        reached = [(entry, 1.0)]
        while reached:
            edge, rows = reached.pop()
            cost += rows * float(network.costs[edge])
            made = rows * float(network.fanout[edge])
            lane.results.extend(_Result(made, *rest) for _, *rest in self.inputs.results_of.get(edge.target, ()))
            for onward in network.out_edges.get(edge.target, ()):
                (reached if onward in unit.through else lane.stays).append((onward, made))
        return lane._replace(cost_s=cost)

    # Statistics ---------------------------------------------------------------------------------------------

    def _touched(self, source: str) -> None:
        rows = max((queue.rows for queue in self._sent.get(source, ())), default=0.0)
        self._held[source] = rows * self.inputs.row_bytes.get(source, 1.0)

    def _move(self, to: float) -> None:
        """Let time pass, in which what waits is held."""
        held = sum(self._held.values())
        self._peak = max(self._peak, held)
        self._byte_seconds += held * (to - self.now)
        self._whole_byte_seconds += held * (to - self.now)
        self.now = to

    def _interval(self) -> IntervalStatistics:
        firsts = [queue.flows[0].first for queue in self.queues.values() if queue.rows >= _LEAST_ROWS]
        seconds = max(self.now - self._since, 1e-9)
        found = IntervalStatistics(
            now=self.now,
            seconds=seconds,
            results=_summed(self._results),
            memory=self._byte_seconds / seconds,
            peak=self._peak,
            waiting=sum(max(queue.rows for queue in queues) for queues in self._sent.values()),
            oldest=self.now - min(firsts) if firsts else 0.0,
            pending=_summed(self._pending()),
        )
        self._since = self.now
        self._clear()
        return found

    def _pending(self) -> Iterator[tuple[_Result, Flow, float]]:
        """Yield the results that are expected of what waits, as if they came now."""
        for edge, queue in self.queues.items():
            if queue.flows:
                whole = reduce(Flow.with_flow, queue.flows)
                yield from ((result, whole, self.now) for result in self.inputs.leads[edge])


def _summed(results: Iterable[tuple[_Result, Flow, float]]) -> ResultSums:
    count = response = squares = slowdown = slow_squares = most = most_slow = 0.0
    for (rows, weight, ideal), flow, end in results:
        if weight:
            waited = weight * rows * (flow.rows * end - flow.total)
            square = weight * rows * (flow.rows * end * end - 2 * end * flow.total + flow.squares)
            count, response, squares = count + weight * rows * flow.rows, response + waited, squares + square
            slowdown, slow_squares = slowdown + waited / ideal, slow_squares + square / ideal**2
            most, most_slow = max(most, end - flow.first), max(most_slow, (end - flow.first) / ideal)
    return ResultSums(count, response, most, squares, slowdown, most_slow, slow_squares)
