"""Drop boxes in a simulation: at the sources, set by the same rules as on Spark.

Every tuple has a random number, by the seed. It is kept if that is below the share kept of its stream at the time.
So a larger share keeps every tuple that a smaller one keeps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from penstock.network import Network
from penstock.qos import IntervalStatistics
from penstock.shedding.controller import LoadSample, Shedder, SheddingRules
from penstock.shedding.load_model import LEAST_KEPT, network_load
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.steerable_run import Course

LATELY_S = 5.0
"""Rates are measured over so many seconds."""
CHANCES = 5
"""Keeps these random numbers apart from others of the same seed."""


@dataclass(frozen=True)
class Shed:
    """What was shed: tuples dropped of each stream, and the shares kept, each from a time on."""

    dropped: Mapping[str, int]
    offered: Mapping[str, int]
    history: tuple[tuple[float, Mapping[str, float]], ...]


class SimulatedDropBoxes:
    """Sheds load: watches load and memory, and drops tuples before they arrive."""

    def __init__(self, net: Network, feed: Feed, limit: float, rules: SheddingRules | None, seed: int) -> None:
        self._net, self._feed, self._limit = net, feed, limit
        self._shedder = Shedder(rules)
        self._names = [stream.name for stream in net.streams]
        self._offered = feed.stream.copy()
        self._chance = np.random.default_rng((seed, CHANCES)).random(len(feed.time))
        self._keep = np.ones(len(self._names))
        self._decided = 0
        self.history: list[tuple[float, Mapping[str, float]]] = []

    def check(
        self, reading: IntervalStatistics, known: Mapping[str, float], until: float, courses: Iterable[Course]
    ) -> None:
        """Set the drop boxes by the current load and memory, and drop tuples that arrive before `until`."""
        arrived = int(np.searchsorted(self._feed.time, reading.now, "right"))
        measured = self._net.measured(rates=self._rates(reading.now, arrived), selectivities=dict(known))
        load = network_load(measured).plans_for(np.ones(len(self._names)))
        seen = LoadSample(
            now_s=reading.now,
            held=reading.peak,
            limit=self._limit,
            demand=load.cost.at(np.ones(len(self._names))),
            utilization=load.cost.at(self._keep),
            must_shed=reading.peak >= self._limit,
        )
        change = self._shedder.sample(seen)
        if change is not None:
            whole = np.ones(len(self._names))
            self._keep = whole if change.budget is None else np.maximum(load.kept(change.budget), LEAST_KEPT)
            keep = dict(zip(self._names, self._keep.tolist(), strict=True))
            before = self.history[-1][1] if self.history else dict.fromkeys(self._names, 1.0)
            if keep != before:
                self.history.append((reading.now, keep))
        self._thin(until, list(courses))

    def _rates(self, now: float, arrived: int) -> dict[str, float]:
        """Return the recent rate offered by each stream, per second."""
        since = max(now - LATELY_S, float(self._feed.time[0]))
        first = int(np.searchsorted(self._feed.time, since))
        counts = np.bincount(self._offered[first:arrived], minlength=len(self._names))[: len(self._names)]
        seconds = max(now - since, 1e-9)
        return {name: max(count, 0.1) / seconds for name, count in zip(self._names, counts.tolist(), strict=True)}

    def _thin(self, until: float, courses: list[Course]) -> None:
        """Drop tuples that arrive up to a time, except those that a run has already admitted."""
        feed = self._feed
        first = max(self._decided, *(course.arrived for course in courses))
        end = max(int(np.searchsorted(feed.time, until, "right")), first)
        streams = self._offered[first:end]
        keep = np.append(self._keep, [1.0, 1.0])[streams]  # moments are not dropped
        feed.stream[first:end] = np.where(self._chance[first:end] < keep, streams, len(self._names))
        self._decided = end
        for place in range(len(self._names)):
            kept = np.flatnonzero(feed.stream == place)
            start = feed.start[place]
            feed.numbers[start : start + len(kept)] = kept
            for course in courses:
                course.expect(place, len(kept))

    @property
    def shed(self) -> Shed:
        """What was shed so far."""
        offered = np.bincount(self._offered, minlength=len(self._names))
        kept = np.bincount(self._feed.stream, minlength=len(self._names) + 1)
        return Shed(
            dropped={name: int(offered[place] - kept[place]) for place, name in enumerate(self._names)},
            offered={name: int(offered[place]) for place, name in enumerate(self._names)},
            history=tuple(self.history),
        )
