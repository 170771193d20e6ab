"""What is counted between two looks at a running system, at little cost: sums, not rows."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.network import Edge, Network
from penstock.plan.group import Group
from penstock.qos import Computed, IntervalStatistics, OperatorWork, QueueSize, ResultSums
from penstock.runtime.cost_model import Spread
from penstock.runtime.query_state import QueryState
from penstock.runtime.stream_log import Chunk, Queue
from penstock.spark.job import Outcome


class Arrival(NamedTuple):
    """Rows that were admitted together: when the first and, on average, all of them arrived."""

    stream: str
    rows: int
    first_s: float
    mean_s: float


class Recorder:
    """Counts what happens; `reading` returns it and begins anew. Results count as `weights` of queries say."""

    def __init__(self, now_s: float, weights: Mapping[str, float] | None = None) -> None:
        self.weights: Mapping[str, float] = weights or {}
        self.arrivals: list[Arrival] | None = None
        """What was admitted; None while nobody wants to know."""
        self.row_bytes: dict[str, float] = {}
        """What a row out of a stream or an operator took, lately."""
        self.rows = 0
        """Rows admitted since the last reading."""
        self._work: dict[str, OperatorWork] = {}
        self._since = self._held_since = now_s
        self._held = 0.0
        self._clear()

    def _clear(self) -> None:
        self._responses, self._slowdowns = Spread(), Spread()
        self._weighed = 0.0
        self._byte_seconds, self._peak = 0.0, self._held
        self.rows = 0

    def admitted(self, stream: str, chunk: Chunk) -> None:
        """Count rows that came in."""
        self.rows += chunk.rows
        self.row_bytes[stream] = chunk.bytes / chunk.rows
        if self.arrivals is not None:
            self.arrivals.append(Arrival(stream, chunk.rows, chunk.arrival / 1e6, chunk.mean_arrival / 1e6))

    def held(self, now_s: float, held: float) -> None:
        """Take in what the queues hold from now on."""
        self._byte_seconds += self._held * max(now_s - self._held_since, 0.0)
        self._held, self._held_since = held, now_s
        self._peak = max(self._peak, held)

    def stayed(self, operator: str, chunk: Chunk) -> None:
        """Take in rows that wait behind an operator."""
        self.row_bytes[operator] = chunk.bytes / chunk.rows

    def ran(self, network: Network, outcome: Outcome, seconds: float) -> None:
        """Count what operators did in a job; its time is shared among them as was thought."""
        known = network.operator_by_name
        thought = {
            name: taken * float(max(known[name].costs)) for name, taken in outcome.taken.items() if name in known
        }
        share = seconds / (sum(thought.values()) or 1.0)
        for name, cost_s in thought.items():
            taken, made, spent = self._work.get(name, _NOTHING)
            self._work[name] = OperatorWork(
                taken + outcome.taken[name], made + outcome.made[name], spent + cost_s * share
            )

    def emitted(self, query: str, count: int, total: float, squares: float, most: float, ideal_s: float) -> None:
        """Count results of a query: how many, and the sums, the squares and the longest of their responses."""
        self._count(self.weights.get(query, 1.0), count, total, squares, most, ideal_s)

    def emitted_by(
        self, group: Group, places: NDArray[np.int64], waited: NDArray[np.float64], ideal_s: float
    ) -> None:
        """Count results of a group, the responses of members by their numbers."""
        weighed = {group.members[name].number: w for name, w in self.weights.items() if name in group.members}
        for number, weight in weighed.items():
            mine = waited[places == number]
            if len(mine):
                self._count(weight, *sums_of(mine), ideal_s)
        others = waited[~np.isin(places, list(weighed))] if weighed else waited
        if len(others):
            self._count(1.0, *sums_of(others), ideal_s)

    def _count(self, weight: float, count: int, total: float, squares: float, most: float, ideal_s: float) -> None:
        if weight > 0:
            self._weighed += weight * count
            self._responses.merge(count, weight * total, weight * squares, most)
            self._slowdowns.merge(count, weight * total / ideal_s, weight * squares / ideal_s**2, most / ideal_s)

    def reading(
        self,
        now_s: float,
        held: float,
        waiting: float,
        oldest_s: float,
        states: Mapping[str, QueryState],
        queues: Mapping[Edge, Queue],
    ) -> IntervalStatistics:
        """Return what was counted since the last reading, with how things stand, and begin anew."""
        self.held(now_s, held)
        seconds = max(now_s - self._since, 1e-6)
        responses, slowdowns = self._responses, self._slowdowns
        found = IntervalStatistics(
            now=now_s,
            seconds=seconds,
            results=ResultSums(
                self._weighed,
                responses.total,
                responses.most,
                responses.squares,
                slowdowns.total,
                slowdowns.most,
                slowdowns.squares,
            ),
            memory=self._byte_seconds / seconds,
            peak=self._peak,
            waiting=waiting,
            oldest=oldest_s,
            queries=Computed(lambda: states, _results_of),
            operators=self._work,
            queues=Computed(lambda: {str(edge): queue for edge, queue in queues.items()}, _waiting_in),
        )
        self._since = now_s
        self._clear()
        return found


_NOTHING = OperatorWork(0.0, 0.0, 0.0)


def sums_of(values: NDArray[np.float64]) -> tuple[int, float, float, float]:
    """Return number, sum, sum of squares and maximum of some numbers."""
    return len(values), float(values.sum()), float((values * values).sum()), float(values.max())


def _results_of(state: QueryState) -> ResultSums:
    response, slowdown = state.response, state.slowdown
    return ResultSums(
        state.outputs,
        response.total,
        response.most,
        response.squares,
        slowdown.total,
        slowdown.most,
        slowdown.squares,
    )


def _waiting_in(queue: Queue) -> QueueSize:
    return QueueSize(queue.rows, queue.bytes)
