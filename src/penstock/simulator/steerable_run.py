"""A simulation that can stop at any time for a sample of statistics, and go on by another policy."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial

import numpy as np
import numpy.typing as npt

from penstock.network import Network
from penstock.policies import Policy
from penstock.qos import Computed, IntervalStatistics, OperatorWork, QueueSize, ResultSums
from penstock.simulator.compiled import ages, places, records
from penstock.simulator.compiled.ages import measure
from penstock.simulator.compiled.bundles import KernelOptions
from penstock.simulator.compiled.records import NONE
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.layout.lists import Lists
from penstock.simulator.layout.network import Wiring
from penstock.simulator.layout.policy import PolicyLayout
from penstock.simulator.state import State, interruptible

Floats = npt.NDArray[np.float64]
_SUMS = [places.COUNT, places.SUM_R, places.SQUARES_R, places.SUM_H, places.SQUARES_H]
_MOST = [places.MAX_R, places.MAX_H]


class Course:
    """The state of a run, the network as arrays, and the plan of every policy that may run."""

    def __init__(
        self,
        feed: Feed,
        wiring: Wiring,
        lists: Lists,
        policies: Mapping[str, Policy],
        make: Callable[[Wiring, Policy, Lists], PolicyLayout],
        options: Mapping[str, KernelOptions],
        bins: int,
    ) -> None:
        self.net: Network = wiring.net
        self.state = State(self.net, feed, bins)
        self.finished = False
        if len(wiring.streams) == len(self.net.streams):  # a stream for dropped tuples, which nothing reads
            wiring.streams = np.append(wiring.streams, np.zeros(1, records.STREAM))
        self._feed, self._wiring, self._lists = feed, wiring, lists
        self._wired = len(lists.numbers)
        """How many of the lists are the network's; those after them belong to plans."""
        self._policies, self._make = policies, make
        self._options = {name: each._replace(counted=True) for name, each in options.items()}
        self._reached = {wiring.edge[edge] for edge in self.net.edges if edge.source in self.net.stream_by_name}
        self._held: dict[tuple[str, int], list[int]] = {}
        self._totals = np.zeros_like(self.state.stats)
        self._work = np.zeros((len(self.net.operators), 2))
        self._queues = {str(edge): place for edge, place in wiring.edge.items()}
        self._waiting = np.zeros((len(self.net.edges), 4))
        self._leads = np.zeros((len(self.net.edges), len(self.net.queries)))
        """How many results of each query a tuple in a queue brings, on average."""
        for edge, paths in self.net.suffixes.items():
            for path in paths:
                place = wiring.edge[edge], self.net.query_place[path.query]
                self._leads[place] += float(self.net.S(path))
        self._last = self.now
        self._area = 0.0
        self._peak = 0.0
        self._known = self.net
        self._plans: dict[str, list[PolicyLayout]] = {}
        self._settled: dict[str, int] = {}
        self._numbers = lists.array

    @property
    def now(self) -> float:
        """The virtual time."""
        return float(self.state.floats[places.NOW])

    @property
    def arrived(self) -> int:
        """How many tuples have arrived."""
        return int(self.state.ints[places.ARRIVED])

    def believe(self, selectivities: Mapping[str, float]) -> None:
        """Rank by these selectivities from now on."""
        weights = {query.name: query.weight for query in self._known.queries}
        self._rank_by(self.net.measured(selectivities=dict(selectivities)).weighed(weights))

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Let queries have these weights from now on."""
        self._rank_by(self._known.weighed(weights))

    def _rank_by(self, known: Network) -> None:
        self._known = known
        self._plans.clear()
        del self._lists.numbers[self._wired :]

    def _planned(self, name: str) -> list[PolicyLayout]:
        """Return the plans of a policy, ranked by the known network; queues stay as they are.

        A plan covers the queues that may be filled. Other policies may have filled more since it was made.
        """
        if name not in self._plans:
            wiring = copy(self._wiring)
            wiring.net = self._known
            policy = self._policies[name]
            each = [policy] if policy.saving is None else [policy, policy.saving.policy]
            self._plans[name] = [self._make(wiring, one, self._lists) for one in each]
            for plan in self._plans[name] * 2:
                plan.reach(self._reached)
            self._numbers = self._lists.array
            self._settled.pop(name, None)
        if self._settled.get(name) != len(self._reached):
            for plan in self._plans[name]:
                plan.settle(self._reached)
            self._settled[name] = len(self._reached)
        return self._plans[name]

    def become(self, selectivities: Mapping[str, float]) -> None:
        """Change the real selectivities of operators from now on."""
        for name, share in selectivities.items():
            operator = self._wiring.operators[self._wiring.operator[name]]
            operator["selectivity"] = share
            if operator["kind"] in (records.FILTER, records.COPIES):
                operator["kind"] = records.FILTER if share <= 1 else records.COPIES

    def expect(self, stream: int, tuples: int) -> None:
        """Set how many tuples of a stream will arrive in all."""
        self._wiring.streams["total"][stream] = tuples

    def go_on(self, policy: str, until: float) -> None:
        """Run by a policy until a time, or until nothing is left."""
        state, plans = self.state, self._planned(policy)
        options = self._options[policy]._replace(until=until)
        if len(plans) == 1:
            state.ints[places.MODE] = 0
        self.finished = False
        while not self.finished and self.now < until:
            mode = state.mode
            turn = [places.LAST_HOLDER + mode, places.SWEEP + mode]
            state.ints[turn] = self._held.get((policy, mode), [NONE, 0])
            with interruptible():
                reason = state.go_on(self._feed, self._wiring, self._numbers, plans[mode], options)
            self._held[policy, mode] = state.ints[turn].tolist()
            self.finished = reason == places.FINISHED

    # What happened ------------------------------------------------------------------------------------------

    def read(self, weights: Floats, now: float | None = None) -> IntervalStatistics:
        """Return statistics since the last sample; up to `now`, if the run finished before."""
        state, fresh = self.state, self.state.stats
        taken, made = self._wiring.operators["taken"], self._wiring.operators["made"]
        self._work += np.stack([taken, made], axis=1)
        taken[:] = made[:] = 0
        _add(self._totals, fresh)
        end = self.now if now is None else max(now, self.now)
        seconds = max(end - self._last, 1e-12)
        area, memory = float(state.floats[places.AREA]), float(state.floats[places.MEMORY])
        self._wait(end)
        waits = self._waiting
        reading = IntervalStatistics(
            now=end,
            seconds=seconds,
            results=_results(fresh, weights),
            memory=(area - self._area) / seconds,
            peak=float(state.floats[places.PEAK]),
            waiting=float(waits[:, ages.TUPLES].sum()),
            oldest=float(waits[:, ages.OLDEST].max(initial=0.0)),
            pending=self._pending(weights),
            queries=Computed(lambda: self.net.query_place, partial(_query, self._totals.copy())),
            operators=Computed(lambda: self._wiring.operator, partial(self._operator, self._work.copy())),
            queues=Computed(lambda: self._queues, partial(self._queue, waits.copy(), self._wiring.windows.memory)),
        )
        self._peak = max(self._peak, reading.peak)
        self._last, self._area = end, area
        fresh[:] = 0.0
        state.floats[places.PEAK] = memory
        return reading

    def work_since(self, before: Floats) -> tuple[Floats, Floats]:
        """Return the tuples that operators took and made since `before`, and the current totals."""
        return self._work - before, self._work.copy()

    def close(self) -> State:
        """Return the state with the results of the whole run."""
        _add(self._totals, self.state.stats)
        self.state.stats = self._totals
        self.state.floats[places.PEAK] = max(self._peak, float(self.state.floats[places.PEAK]))
        return self.state

    def _wait(self, now: float) -> None:
        """Measure the lengths and ages of all queues: see `ages`."""
        measure(
            self._wiring.edges, self._wiring.streams, self.state.nodes, self._feed.numbers, self._feed.time, now,
            self._waiting,
        )  # fmt: skip

    def _pending(self, weights: Floats) -> ResultSums:
        """Return the expected results of waiting tuples, with the time they have waited."""
        waits, few = self._waiting, (self._leads > 0) & (weights > 0)
        counts, slowed = self._leads @ weights, (self._leads / self._wiring.ideal) @ weights
        slowest = (few / self._wiring.ideal).max(axis=1, initial=0.0) * waits[:, ages.OLDEST]
        squared = (self._leads / self._wiring.ideal**2) @ weights
        return ResultSums(
            count=float(counts @ waits[:, ages.TUPLES]),
            response=float(counts @ waits[:, ages.AGES]),
            max_response=float((waits[:, ages.OLDEST] * (counts > 0)).max(initial=0.0)),
            squared_response=float(counts @ waits[:, ages.SQUARES]),
            slowdown=float(slowed @ waits[:, ages.AGES]),
            max_slowdown=float(slowest.max(initial=0.0)),
            squared_slowdown=float(squared @ waits[:, ages.SQUARES]),
        )

    def _operator(self, work: Floats, place: int) -> OperatorWork:
        taken, made = work[place]
        costs = self._wiring.edges["cost"][self._wiring.edges["operator"] == place]
        return OperatorWork(float(taken), float(made), float(taken * costs.mean()))

    def _queue(self, waits: Floats, windows: Floats, place: int) -> QueueSize:
        length = float(waits[place, ages.TUPLES])
        return QueueSize(length, length * float(self._wiring.edges[place]["size"]) + float(windows[place]))


def _query(totals: Floats, place: int) -> ResultSums:
    return _results(totals[place : place + 1], np.ones(1))


def _add(totals: Floats, fresh: Floats) -> None:
    totals[:, _SUMS] += fresh[:, _SUMS]
    totals[:, _MOST] = np.maximum(totals[:, _MOST], fresh[:, _MOST])


def _results(stats: Floats, weights: Floats) -> ResultSums:
    sums = weights @ stats[:, :7]
    most = stats[weights > 0][:, _MOST].max(axis=0, initial=0.0)
    return ResultSums(
        count=float(sums[places.COUNT]),
        response=float(sums[places.SUM_R]),
        max_response=float(most[0]),
        squared_response=float(sums[places.SQUARES_R]),
        slowdown=float(sums[places.SUM_H]),
        max_slowdown=float(most[1]),
        squared_slowdown=float(sums[places.SQUARES_H]),
    )
