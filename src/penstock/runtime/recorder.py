"""The recorder: the one place that counts rows, results, memory and the work of operators.

It is told of every admitted chunk and of every finished job, and keeps sums, not rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.network import Edge, Network
from penstock.plan.group import Group
from penstock.plan.moving_average import moving_average
from penstock.qos import Computed, IntervalStatistics, OperatorWork, QueueSize, ResultSums
from penstock.runtime.admission import Admitted
from penstock.runtime.chunk import Chunk
from penstock.runtime.queues import Queue
from penstock.runtime.rejections import Rejections
from penstock.runtime.work import Outcome

Floats = NDArray[np.float64]


@dataclass
class Moments:
    """Average, maximum and ℓ2 norm of a growing set of numbers (PAPERS §2), and the recent average."""

    count: float = 0
    total: float = 0.0
    squares: float = 0.0
    most: float = 0.0
    recent: float = 0.0

    def add(self, count: float, total: float, squares: float, most: float) -> None:
        """Add numbers of which only these sums are known; there is at least one."""
        mean = total / count
        self.recent = mean if self.count == 0 else moving_average(self.recent, mean)
        self.count += count
        self.total += total
        self.squares += squares
        self.most = max(self.most, most)

    @property
    def mean(self) -> float:
        """The average."""
        return self.total / self.count if self.count else 0.0

    @property
    def l2(self) -> float:
        """The ℓ2 norm."""
        return sqrt(self.squares)


@dataclass
class ResultStatistics:
    """Response and slowdown of results."""

    response: Moments = field(default_factory=Moments)
    slowdown: Moments = field(default_factory=Moments)

    def add(self, count: float, total: float, squares: float, most: float, ideal_s: float) -> None:
        """Add results: their number, and sum, sum of squares and maximum of their responses."""
        self.response.add(count, total, squares, most)
        self.slowdown.add(count, total / ideal_s, squares / ideal_s**2, most / ideal_s)

    @property
    def sums(self) -> ResultSums:
        """The same as a value."""
        response, slowdown = self.response, self.slowdown
        return ResultSums(
            response.count,
            response.total,
            response.most,
            response.squares,
            slowdown.total,
            slowdown.most,
            slowdown.squares,
        )


@dataclass
class StreamCounts:
    """Rows of a stream: offered to admission, kept in queues, and rejected."""

    rejections: Rejections
    rows: int = 0
    kept: int = 0
    bytes: int = 0
    """Bytes of the rows kept."""
    lost: int = 0
    """Rows of files that were lost before all queries had read them."""

    @property
    def row_bytes(self) -> float:
        """Bytes of a kept row on average; 0 if there was none."""
        return self.bytes / self.kept if self.kept else 0.0


class Arrival(NamedTuple):
    """A chunk that was admitted: its rows, and when the first and, on average, all of them arrived."""

    stream: str
    rows: int
    first_s: float
    mean_s: float


class CountedResults(NamedTuple):
    """Results of queries, and of each: count, sum, sum of squares and maximum of the responses; their T."""

    queries: Sequence[str]
    sums: Sequence[Sequence[float]]
    ideal_s: float


class Recorder:
    """Counts for each stream, query and operator since the run began, and for the current interval.

    In an interval, results count by the weights of their queries.
    """

    def __init__(self, streams: Mapping[str, object] | None = None) -> None:
        self.streams = {name: StreamCounts(Rejections(name)) for name in streams or ()}
        self.queries: dict[str, ResultStatistics] = {}
        self.row_bytes: dict[str, float] = {}
        """Bytes of a row of each stream and operator, as of its latest chunk."""
        self.peak_bytes = 0.0
        self.peak_pane_bytes = 0
        self.interval_rows = 0
        """Rows admitted in the current interval."""
        self.weights: Mapping[str, float] = {}
        self._listeners: list[Callable[[Arrival], object]] = []
        self.on_results: Callable[[CountedResults], object] | None = None
        """Told of all results that are counted."""
        self._held_total, self._held_samples = 0.0, 0
        self._work: dict[str, OperatorWork] = {}
        self._since = self._held_since = self._held = 0.0
        self._begin_interval()

    def _begin_interval(self) -> None:
        self._results = ResultStatistics()
        self._byte_seconds, self._interval_peak = 0.0, self._held
        self.interval_rows = 0

    def restart(self, now_s: float, weights: Mapping[str, float]) -> None:
        """Begin an interval now, in which results count by these weights of queries."""
        self.weights = weights
        self._work = {}
        self._since = self._held_since = now_s
        self._held = 0.0
        self._begin_interval()

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Count results by other weights of queries from now on."""
        self.weights = weights

    def listen(self, listener: Callable[[Arrival], object]) -> None:
        """Tell a function of every chunk that is admitted."""
        self._listeners.append(listener)

    # Events -------------------------------------------------------------------------------------------------

    def query_created(self, name: str) -> None:
        """Begin the statistics of a query, or continue those of an earlier one of its name."""
        self.queries.setdefault(name, ResultStatistics())

    def add_stream(self, name: str) -> None:
        """Count the rows of one more stream."""
        if name not in self.streams:
            self.streams[name] = StreamCounts(Rejections(name))

    def admitted(self, stream: str, passed: Admitted) -> list[str]:
        """Count rows of a stream after admission; return messages about rejected ones."""
        counts = self.streams[stream]
        counts.rows += passed.offered
        kept = passed.kept
        if kept is not None:
            counts.kept += kept.rows
            counts.bytes += kept.bytes
        return counts.rejections.take(passed.rejected) if passed.rejected.num_rows else []

    def lost(self, stream: str, rows: int) -> None:
        """Count the rows of an admitted file that was lost before all queries had read it."""
        self.streams[stream].lost += rows

    def queued(self, source: str, chunk: Chunk, *, is_stream: bool) -> None:
        """Count a chunk that a stream or an operator sent to queues."""
        self.row_bytes[source] = chunk.bytes / chunk.rows
        if is_stream:
            self.interval_rows += chunk.rows
            if self._listeners:
                arrival = Arrival(source, chunk.rows, chunk.arrival / 1e6, chunk.mean_arrival / 1e6)
                for listener in self._listeners:
                    listener(arrival)

    def memory(self, now_s: float, held: float) -> float:
        """Record the bytes held from now on; return their average over all calls."""
        self.memory_peak(held)
        self._held_total += held
        self._held_samples += 1
        self._hold(now_s, held)
        return self._held_total / self._held_samples

    def _hold(self, now_s: float, held: float) -> None:
        self._byte_seconds += self._held * max(now_s - self._held_since, 0.0)
        self._held, self._held_since = held, now_s
        self._interval_peak = max(self._interval_peak, held)

    def panes(self, held: int) -> None:
        """Record the bytes of partial aggregates in the driver's memory."""
        self.peak_pane_bytes = max(self.peak_pane_bytes, held)

    def memory_peak(self, held: float) -> None:
        """Record bytes held in between."""
        self.peak_bytes = max(self.peak_bytes, held)

    def finished(self, network: Network, outcome: Outcome, seconds: float) -> None:
        """Count the work of operators in a job. Its time is divided among them by their expected times."""
        known = network.operator_by_name
        expected = {
            name: taken * float(max(known[name].costs)) for name, taken in outcome.taken.items() if name in known
        }
        share = seconds / (sum(expected.values()) or 1.0)
        for name, cost_s in expected.items():
            taken, made, spent = self._work.get(name, _NO_WORK)
            self._work[name] = OperatorWork(
                taken + outcome.taken[name], made + outcome.made[name], spent + cost_s * share
            )

    def results(self, query: str, responses: Floats, ideal_s: float) -> None:
        """Count results of a query, given their responses in seconds."""
        squares = float((responses * responses).sum())
        self.result_sums(query, (len(responses), float(responses.sum()), squares, float(responses.max())), ideal_s)

    def result_sums(self, query: str, sums: tuple[int, float, float, float], ideal_s: float) -> None:
        """Count results of a query: their number, and sum, sum of squares and maximum of their responses."""
        count, total, squares, most = sums
        self.queries[query].add(count, total, squares, most, ideal_s)
        if self.on_results is not None:
            self.on_results(CountedResults((query,), ((count, total, squares, most),), ideal_s))
        weight = self.weights.get(query, 1.0)
        if weight > 0:
            self._results.add(weight * count, weight * total, weight * squares, most, ideal_s)

    def group_results(self, group: Group, members: NDArray[np.int64], responses: Floats, ideal_s: float) -> None:
        """Count results of a group, given each one's member number and response."""
        counts = np.bincount(members)
        totals = np.bincount(members, responses)
        squares = np.bincount(members, responses * responses)
        most = np.zeros(len(counts))
        np.maximum.at(most, members, responses)
        found = np.flatnonzero(counts)
        for number in found.tolist():
            statistics = self.queries[group.names[number]]
            statistics.add(
                int(counts[number]), float(totals[number]), float(squares[number]), float(most[number]), ideal_s
            )
        if self.on_results is not None:
            names = tuple(group.names[number] for number in found.tolist())
            sums = np.stack([counts, totals, squares, most])[:, found].T
            self.on_results(CountedResults(names, sums.tolist(), ideal_s))
        weights = np.array([self.weights.get(group.names[number], 1.0) for number in found.tolist()])
        found, weights = found[weights > 0], weights[weights > 0]
        if len(found):
            self._results.add(
                float(weights @ counts[found]),
                float(weights @ totals[found]),
                float(weights @ squares[found]),
                float(most[found].max()),
                ideal_s,
            )

    # Snapshots ----------------------------------------------------------------------------------------------

    def stream_snapshot(self, stream: str) -> list[Any]:
        """Return the counts of a stream, as JSON has them."""
        counts = self.streams[stream]
        return [counts.rows, counts.kept, counts.bytes, counts.lost, counts.rejections.snapshot()]

    def restore_stream(self, stream: str, snapshot: list[Any]) -> None:
        """Continue with the counts of an earlier process."""
        counts = self.streams[stream]
        counts.rows, counts.kept, counts.bytes, counts.lost, rejections = snapshot
        counts.rejections.restore(rejections)

    def query_snapshots(self) -> dict[str, list[list[float]]]:
        """Return the response and the slowdown of each query that has results."""
        found = self.queries.items()
        return {
            name: [list(astuple(each.response)), list(astuple(each.slowdown))]
            for name, each in found
            if each.response.count
        }

    def restore_query(self, query: str, snapshot: list[list[float]]) -> None:
        """Continue with the response and the slowdown of an earlier process."""
        response, slowdown = snapshot
        self.queries[query] = ResultStatistics(Moments(*response), Moments(*slowdown))

    def restore_results(self, results: CountedResults) -> None:
        """Count results of an earlier process."""
        for query, sums in zip(results.queries, results.sums, strict=True):
            count, total, squares, most = sums
            self.queries[query].add(count, total, squares, most, results.ideal_s)

    # Reports ------------------------------------------------------------------------------------------------

    def end_interval(
        self, now_s: float, held: float, waiting: float, oldest_s: float, queues: Mapping[Edge, Queue]
    ) -> IntervalStatistics:
        """Return the statistics of the interval up to now, and begin the next."""
        self._hold(now_s, held)
        seconds = max(now_s - self._since, 1e-6)
        found = IntervalStatistics(
            now=now_s,
            seconds=seconds,
            results=self._results.sums,
            memory=self._byte_seconds / seconds,
            peak=self._interval_peak,
            waiting=waiting,
            oldest=oldest_s,
            queries=Computed(lambda: self.queries, lambda each: each.sums),
            operators=self._work,
            queues=Computed(lambda: {str(edge): queue for edge, queue in queues.items()}, _size_of),
        )
        self._since = now_s
        self._begin_interval()
        return found


_NO_WORK = OperatorWork(0.0, 0.0, 0.0)


def _size_of(queue: Queue) -> QueueSize:
    return QueueSize(queue.rows, queue.bytes)
