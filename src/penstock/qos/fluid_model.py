"""The fluid what-if model: the engine under one policy alone, in plain Python.

The network, the `Scheduler` and its trains are the engine's. Jobs cost c0 + b + w·window + n·cost as measured
(`ModelInputs`). From n rows an operator makes n · selectivity rows, fractions included. So the model is
deterministic and knows only averages.

Simplifications:

- A queue is served when it holds at least one whole row.
- Rows never wait for other streams.
- A probe reads the average number of rows.
- Several jobs in flight are one machine that is as many times faster.
- Rows are kept as sums (`Flow`).
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from penstock.network import Edge
from penstock.policies import Scheduler, Train, Unit, Waiting, as_measured
from penstock.qos.fluid_queue import Flow, FluidQueue
from penstock.qos.interval_statistics import IntervalStatistics, ResultSums
from penstock.qos.model_inputs import ModelInputs, ResultsPerRow

_LEAST_ROWS = 1.0 - 1e-9


class AdmittedFlow(NamedTuple):
    """Rows of a stream, and the time at which they are admitted."""

    stream: str
    flow: Flow
    at: float


class _Entry(NamedTuple):
    """An entry of a unit: cost and results per row, and the queues that they go to."""

    edge: Edge
    queue: FluidQueue
    cost_s: float
    results: list[ResultsPerRow]
    onward: list[tuple[Edge, float]]


class _UnitState(NamedTuple):
    """A unit: its entries, and the cost of a run of it alone before the first row."""

    entries: list[_Entry]
    overhead_s: float


@dataclass
class _Job:
    """A running job: its end, its results and the rows that it will put into queues."""

    end: float
    results: list[tuple[ResultsPerRow, Flow]] = field(default_factory=list)
    onward: list[tuple[Edge, Flow]] = field(default_factory=list)


class FluidModel:
    """The engine under one policy. Times are in seconds since any origin.

    >>> from penstock.network import Network
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
        self._units: dict[int, _UnitState] = {}
        self._train = (
            Train(inputs.setup_s, inputs.quantum_s, inputs.longest_train, 0, inputs.pace)
            if inputs.quantum_s
            else None
        )
        self._job: _Job | None = None
        self._numbers = 0
        self._queues_by_source = {
            source: [self.queues[edge] for edge in edges]
            for source, edges in inputs.network.out_edges.items()
            if edges
        }
        self._held = dict.fromkeys(self._queues_by_source, 0.0)
        """Waiting bytes sent by each stream and operator, counted once for all its queues."""
        self._began = self._since = now
        self._whole_byte_seconds = 0.0
        self._start_interval()

    def _start_interval(self) -> None:
        self._results: list[tuple[ResultsPerRow, Flow, float]] = []
        self._byte_seconds, self._peak = 0.0, 0.0
        self.jobs = 0
        """Jobs started in this interval."""

    def put(self, edge: Edge, flow: Flow) -> None:
        """Add rows to a queue."""
        self._numbers += 1
        self.queues[edge].put(flow, self._numbers)
        self._update_held(edge.source)

    def advance(
        self, until: float, arrivals: Sequence[AdmittedFlow], most_jobs: float = math.inf
    ) -> IntervalStatistics | None:
        """Run until a time with the rows admitted by then, and return the statistics of the interval.

        None if that takes more than `most_jobs`: the model has then stopped before that time.
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
        for queue in self._queues_by_source.get(arriving.stream, ()):
            queue.put(arriving.flow, self._numbers)
        self._update_held(arriving.stream)

    def _start(self) -> bool:
        """Start the job that the policy chooses, if rows wait. Return whether there is one."""
        mean = self._whole_byte_seconds / max(self.now - self._began, 1e-9)
        held = sum(self._held.values())
        self._peak = max(self._peak, held)
        self._scheduler.see_memory(self.now, held, mean)
        units = self._scheduler.choose(self.now, self._waiting, as_measured, self._train)
        if not units:
            return False
        self.jobs += 1
        job = _Job(self.now)
        seconds = self.inputs.setup_s + sum(self._run(unit, job) for unit in units)
        job.end += seconds / self.inputs.in_flight
        self._job = job
        return True

    def _run(self, unit: Unit, job: _Job) -> float:
        """Take the rows of a unit, and return the seconds that they add to the job."""
        served = self._unit_state(unit)
        seconds = served.overhead_s - self.inputs.setup_s
        left = self._limit(sum(entry.queue.rows for entry in served.entries))
        for edge, queue, cost_s, results, onward in served.entries:
            if left > 0 and queue.rows >= _LEAST_ROWS:
                flow = queue.take(left)
                self._update_held(edge.source)
                left -= flow.rows
                seconds += flow.rows * cost_s * self.inputs.pace
                job.results += [(result, flow) for result in results]
                job.onward += [(target, flow.times(rows)) for target, rows in onward]
        return seconds

    def _finish(self, job: _Job) -> None:
        self._move(job.end)
        self._job = None
        self._results += [(result, flow, job.end) for result, flow in job.results]
        for edge, flow in job.onward:
            self.put(edge, flow)

    def _waiting(self, unit: Unit) -> Waiting | None:
        served = self._unit_state(unit)
        rows, first, number = 0.0, math.inf, 0
        for entry in served.entries:
            queue = entry.queue
            if queue.rows >= _LEAST_ROWS:
                rows += queue.rows
                if queue.flows[0].first < first:
                    first, number = queue.flows[0].first, queue.number
        return Waiting(first, number, rows, self._limit(rows), served.overhead_s) if rows else None

    def _limit(self, waiting: float) -> float:
        limit = self.inputs.service.limit(waiting)
        return min(waiting, self.inputs.most_rows if limit is None else float(limit))

    def _unit_state(self, unit: Unit) -> _UnitState:
        known = self._units.get(id(unit))
        if known is None:
            inputs = self.inputs
            entries = [self._entry(edge, unit) for edge in unit.entries]
            reached = {edge.target for edge in (*unit.entries, *unit.through)}
            window_rows = sum(inputs.windows.get(name, 0.0) for name in reached)
            overhead = inputs.setup_s + inputs.unit_s + inputs.window_row_s * window_rows
            known = self._units[id(unit)] = _UnitState(entries, overhead)
        return known

    def _entry(self, edge: Edge, unit: Unit) -> _Entry:
        network = self.inputs.network
        found = _Entry(edge, self.queues[edge], 0.0, [], [])
        cost = 0.0
        reached = [(edge, 1.0)]
        while reached:
            edge, rows = reached.pop()
            cost += rows * float(network.costs[edge])
            made = rows * float(network.fanout[edge])
            found.results.extend(
                ResultsPerRow(made, *rest) for _, *rest in self.inputs.queries_by_root.get(edge.target, ())
            )
            for target in network.out_edges.get(edge.target, ()):
                (reached if target in unit.through else found.onward).append((target, made))
        return found._replace(cost_s=cost)

    # Statistics ---------------------------------------------------------------------------------------------

    def _update_held(self, source: str) -> None:
        rows = max((queue.rows for queue in self._queues_by_source.get(source, ())), default=0.0)
        self._held[source] = rows * self.inputs.row_bytes.get(source, 1.0)

    def _move(self, to: float) -> None:
        """Advance the time, and add up the memory that waiting rows hold."""
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
            waiting=sum(max(queue.rows for queue in queues) for queues in self._queues_by_source.values()),
            oldest=self.now - min(firsts) if firsts else 0.0,
            pending=_summed(self._pending()),
        )
        self._since = self.now
        self._start_interval()
        return found

    def _pending(self) -> Iterator[tuple[ResultsPerRow, Flow, float]]:
        """Yield the results expected of waiting rows, as if they came now."""
        for edge, queue in self.queues.items():
            if queue.flows:
                whole = reduce(Flow.with_flow, queue.flows)
                yield from ((result, whole, self.now) for result in self.inputs.expected_results[edge])


def _summed(results: Iterable[tuple[ResultsPerRow, Flow, float]]) -> ResultSums:
    count = response = squares = slowdown = slow_squares = most = most_slow = 0.0
    for (rows, weight, ideal), flow, end in results:
        if weight:
            waited = weight * rows * (flow.rows * end - flow.total)
            square = weight * rows * (flow.rows * end * end - 2 * end * flow.total + flow.squares)
            count, response, squares = count + weight * rows * flow.rows, response + waited, squares + square
            slowdown, slow_squares = slowdown + waited / ideal, slow_squares + square / ideal**2
            most, most_slow = max(most, end - flow.first), max(most_slow, (end - flow.first) / ideal)
    return ResultSums(count, response, most, squares, slowdown, most_slow, slow_squares)
