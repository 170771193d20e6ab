"""The state of a running simulation, and the calls of the compiled loops that change it."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock.network import Network
from penstock.simulator.compiled import kernel, places, records
from penstock.simulator.compiled.bundles import GrowingArrays, KernelOptions, Simulation, StateArrays
from penstock.simulator.compiled.lanes import run_lanes
from penstock.simulator.compiled.ranks import run_ranks
from penstock.simulator.compiled.records import NONE
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.layout.lanes import LaneLayout
from penstock.simulator.layout.network import Wiring
from penstock.simulator.layout.policy import PolicyLayout
from penstock.simulator.result import EventLog

PAUSE = 2_000_000
"""Decisions between two checks for Ctrl-C: some tenths of a second."""

POOL = 1024


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt for a Ctrl-C during compiled code, which Python wraps in a SystemError."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


class State:
    """The state of a running simulation, except for queues and units."""

    def __init__(self, net: Network, feed: Feed, bins: int) -> None:
        start, last = float(feed.time[0]), float(feed.time[-1])
        self.floats = np.zeros(10)
        self.floats[[places.NOW, places.SINCE, places.START]] = start
        self.floats[places.NEXT_CHECK] = -np.inf
        self.floats[places.BIN_WIDTH] = max(2 * (last - start) / bins, 1e-9 * max(1.0, last))
        self.floats[places.BIN_END] = start + self.floats[places.BIN_WIDTH]
        self.ints = np.zeros(places.INTS, np.int64)
        self.ints[places.LAST_HOLDER : places.SWEEP] = NONE
        self.nodes = np.zeros(POOL, records.NODE)
        self.nodes["after"] = np.arange(1, POOL + 1)
        self.ints[places.FREE_COUNT] = POOL
        self.stats = np.zeros((len(net.queries), 8))
        self.bins = np.zeros((bins, 10))
        self.departures, self.samples, self.runs = np.zeros((16, 5)), np.zeros((16, 2)), np.zeros((16, 2))

    @property
    def mode(self) -> int:
        """0, or 1 while memory is saved."""
        return int(self.ints[places.MODE])

    @property
    def bytes(self) -> int:
        """Memory of the arrays that grow."""
        return sum(int(array.nbytes) for array in (self.nodes, self.departures, self.samples, self.runs))

    @property
    def arrays(self) -> StateArrays:
        """The counters, for compiled code."""
        return StateArrays(self.floats, self.ints, self.stats, self.bins)

    def go_on(
        self, feed: Feed, wiring: Wiring, lists: records.Ints, plan: PolicyLayout, options: KernelOptions
    ) -> int:
        """Run until the end, a change of mode or a pause; return which."""
        reason, grown = kernel.run(
            Simulation(
                feed.arrays,
                wiring.arrays(lists),
                wiring.windows.arrays,
                plan.arrays(feed.time, lists),
                options,
                self.arrays,
            ),
            GrowingArrays(self.nodes, self.departures, self.samples, self.runs),
            PAUSE,
        )
        self.nodes, self.departures, self.samples, self.runs = grown
        return int(reason)

    def go_on_in_lanes(self, feed: Feed, lists: records.Ints, plan: PolicyLayout, lanes: LaneLayout) -> int:
        """Run until the end or a pause, where every unit is a lane; return which."""
        if len(lanes.ranks):
            state = self.arrays._replace(stats=lanes.stats)
            reason = run_ranks(lanes.rank_arrays, feed.arrays, state, PAUSE)
            self.stats[lanes.lanes["query"]] = lanes.stats
            return int(reason)
        ranking, turns = plan.ranking(lanes.lanes, feed.time), plan.turns(lists)
        reason, lanes.links = run_lanes(
            feed.arrays, lanes.arrays(plan), ranking, turns, self.arrays, lanes.links, PAUSE
        )
        return int(reason)

    def detail(self) -> EventLog:
        """Every event."""
        departed, sampled, ran = self.ints[[places.DEPARTED, places.SAMPLED, places.RAN]]
        return EventLog(self.departures[:departed], self.samples[:sampled], self.runs[:ran])

    def figures(self) -> dict[str, Any]:
        """The counted figures, as `Result` takes them."""
        width, start = float(self.floats[places.BIN_WIDTH]), float(self.floats[places.START])
        seconds = float(self.floats[places.NOW]) - start
        return {
            "seconds": seconds,
            "mean_memory": float(self.floats[places.AREA]) / seconds if seconds else 0.0,
            "peak_memory": float(self.floats[places.PEAK]),
            "stats": self.stats,
            "bins": self.bins[: max(1, math.ceil(seconds / width))],
            "start": start,
            "width": width,
        }
