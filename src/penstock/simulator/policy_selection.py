"""A simulation whose policy is chosen during the run, with a what-if run of every candidate beside it."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from penstock.errors import NetworkError, nearest
from penstock.network import Network, checked
from penstock.qos import Estimates, PolicyChoice, Selection
from penstock.simulator.drop_boxes import LATELY_S, SimulatedDropBoxes
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.steerable_run import Course, Floats

Drift: TypeAlias = tuple[float, Mapping[str, float]]
FEW = 10
"""The known selectivity of an operator weighs as much as so many tuples seen since the last sample."""


class Make(Protocol):
    """Makes a run that can be steered between some policies."""

    def __call__(self, feed: Feed, names: Sequence[str], *, is_what_if: bool) -> Course:
        """Return the run, not yet begun."""


def checked_drifts(net: Network, drifts: Sequence[Drift]) -> tuple[Drift, ...]:
    """Return drifts in the order of time, or raise if an operator is unknown or a selectivity impossible."""
    known = net.operator_by_name
    for each in drifts:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise NetworkError(f"a drift is (seconds, {{operator: selectivity}}), not {each!r}")
        at, shares = each
        checked(at, "the time of a drift", at_least=0, error=NetworkError)
        if not isinstance(shares, Mapping):
            raise NetworkError(f"a drift is (seconds, {{operator: selectivity}}), not {(at, shares)!r}")
        for name, share in shares.items():
            if name not in known:
                raise NetworkError(f"there is no operator {name!r} to drift.{nearest(name, known)}")
            if known[name].series or name in net.panes:
                raise NetworkError(f"{name!r} has windows: what it makes follows from them, and cannot drift")
            checked(share, f"the selectivity that {name!r} drifts to", at_least=0, error=NetworkError)
            if share > 1 and (known[name].windows or known[name].kind in ("select", "project")):
                raise NetworkError(f"{name!r} is a {known[name].kind} and cannot drift above 1, to {share}")
    return tuple(sorted(drifts, key=lambda drift: drift[0]))


class Selected:
    """The run itself, its director, and a what-if run of each candidate if the selector uses them."""

    def __init__(
        self,
        net: Network,
        feed: Feed,
        selection: Selection,
        drifts: Sequence[Drift],
        make: Make,
        thinning: SimulatedDropBoxes | None = None,
    ) -> None:
        self._net, self._feed = net, feed
        self.notes: list[str] = []
        self.director = PolicyChoice(selection, float(feed.time[0]), self.notes.append)
        self.real = make(feed, selection.names, is_what_if=False)
        names = selection.names if self.director.wants_what_ifs else ()
        self._what_ifs = {name: make(feed, (name,), is_what_if=True) for name in names}
        self._drifts = deque(drifts)
        self._thinning = thinning
        self._seen = np.zeros((len(net.operators), 2))
        learnt = (each for each in net.operators if not each.windows and not each.series)
        plain = {each.name: float(each.selectivity) for each in learnt}
        self._estimates = Estimates(plain)
        self._load = None if net.load is None else float(net.load)
        self._weigh()

    def go(self, progress: Callable[[float], None] | None) -> None:
        """Run until everything has arrived, taking samples, and then until nothing is left."""
        real, director = self.real, self.director
        while not real.finished and real.arrived < len(self._feed.time):
            due = min(director.due, self._drifts[0][0]) if self._drifts else director.due
            real.go_on(director.policy, due)
            while self._drifts and self._drifts[0][0] <= real.now:
                real.become(self._drifts.popleft()[1])
            if real.finished or real.now >= director.due or real.arrived == len(self._feed.time):
                self._sample()
            if progress is not None:
                progress(real.arrived / len(self._feed.time))
        for at, shares in self._drifts:
            real.go_on(director.policy, at)
            real.become(shares)
        real.go_on(director.policy, np.inf)

    def _sample(self) -> None:
        weights = self._weights()
        reading = self.real.read(weights)
        what_ifs = {}
        for name, what_if in self._what_ifs.items():
            what_if.go_on(name, reading.now)
            what_ifs[name] = what_if.read(weights, reading.now)
        burst = self._burst(reading.now)
        load = None if self._load is None or burst is None else self._load * burst
        self.director.see(reading, load, burst, what_ifs)
        if self.director.goals.queries != self._weighed:
            self._weigh()
        self._learn()
        if self._thinning is not None:
            courses = (self.real, *self._what_ifs.values())
            self._thinning.check(reading, self._estimates.values, self.director.due, courses)

    def _weigh(self) -> None:
        """Rank by the current weights of queries in the goals."""
        self._weighed = self.director.goals.queries
        own = {query.name: float(query.weight) for query in self._net.queries}
        for course in (self.real, *self._what_ifs.values()):
            course.weigh(own | dict(self._weighed))

    def _weights(self) -> Floats:
        weighed = self.director.goals.queries
        return np.array([float(weighed.get(query.name, query.weight)) for query in self._net.queries])

    def _burst(self, now: float) -> float | None:
        """Return the rate of recent arrivals ÷ the average rate so far."""
        time, arrived = self._feed.time, self.real.arrived
        start = float(time[0])
        if now - start < LATELY_S:
            return None
        before = self._feed.tuples_before(int(np.searchsorted(time, now - LATELY_S)))
        so_far = self._feed.tuples_before(arrived)
        return (so_far - before) / LATELY_S / (so_far / (now - start))

    def _learn(self) -> None:
        """Rank by the selectivities that were learnt.

        What-if runs rank by the same estimates. The fates of their tuples follow the selectivities that were
        measured in the run since the last sample.
        """
        fresh, self._seen = self.real.work_since(self._seen)
        known, lately = self._estimates.values, {}
        for operator, (taken, made) in zip(self._net.operators, fresh.tolist(), strict=True):
            if operator.name in known:
                lately[operator.name] = (made + FEW * known[operator.name]) / (taken + FEW)
                self._estimates.add(operator.name, taken, made)
        for what_if in self._what_ifs.values():
            what_if.become(lately)
        if self._estimates.have_moved():
            for course in (self.real, *self._what_ifs.values()):
                course.believe(known)
