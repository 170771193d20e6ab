"""The number of ON/OFF flows that are ON, over time."""

from math import ceil

import numpy as np

from penstock.workloads.arrivals import Times
from penstock.workloads.pareto import Pareto


class Switches:
    """The state of `flows` independent flows with periods `on` and `off`, read interval by interval.

    Every flow is drawn beyond the interval; switches that are drawn and not yet reached are held in `times` and
    `changes` (+1 for a flow that turns ON, −1 for OFF): a few cycles of each flow, or those of one interval.

    >>> random = np.random.Generator(np.random.PCG64(1))
    >>> switches = Switches(3, Pareto(1, 1.4), Pareto(2, 1.2), random)
    >>> knots, flows_on = switches.steps(0, 2)
    >>> knots.round(1).tolist(), flows_on.tolist()
    ([0.0, 0.6, 1.1, 1.2, 2.0], [1.0, 2.0, 1.0, 0.0])
    """

    def __init__(self, flows: int, on: Pareto, off: Pareto, random: np.random.Generator) -> None:
        self.on, self.off, self.random = on, off, random
        is_on = random.random(flows) < on.mean / (on.mean + off.mean)
        first = np.where(is_on, on.draw_rest(random, flows), off.draw_rest(random, flows))
        # Flows are drawn up to a time when they turn OFF: those that start OFF turn ON first.
        self.drawn_to = np.where(is_on, first, first + on.draw(random, flows))
        self.flows_on = int(is_on.sum())
        self.times = np.concatenate([first[~is_on], self.drawn_to])
        self.changes = np.concatenate([np.ones(flows - self.flows_on), -np.ones(flows)])
        self._sort()

    def steps(self, start: float, end: float) -> tuple[Times, Times]:
        """Return the switch times from `start` to `end`, and the number of ON flows after each but the last.

        Intervals must follow each other; silent time between them may be skipped.
        """
        self._draw_to(end)
        reached = int(np.searchsorted(self.times, end))
        knots = np.concatenate([[start], self.times[:reached], [end]])
        levels = self.flows_on + np.concatenate([[0.0], self.changes[:reached].cumsum()])
        self.flows_on = int(levels[-1])
        self.times, self.changes = self.times[reached:], self.changes[reached:]
        return knots, levels

    @property
    def silent_until(self) -> float:
        """The time when the next flow turns ON, if none is ON; else 0."""
        return 0.0 if self.flows_on else float(self.times[0])

    def _draw_to(self, end: float) -> None:
        """Draw all flows at least up to `end`."""
        behind = np.flatnonzero(self.drawn_to < end)
        if not len(behind):
            return
        missing = end - float(self.drawn_to[behind].min())
        cycles = ceil(missing / (self.on.scale + self.off.scale)) + 1  # no cycle is shorter than the two scales
        periods = np.empty((len(behind), cycles, 2))
        periods[:, :, 0] = self.off.draw(self.random, (len(behind), cycles))
        periods[:, :, 1] = self.on.draw(self.random, (len(behind), cycles))
        ahead = self.drawn_to[behind, None] + periods.reshape(len(behind), -1).cumsum(axis=1)
        self.drawn_to[behind] = ahead[:, -1]
        self.times = np.concatenate([self.times, ahead.ravel()])
        self.changes = np.concatenate([self.changes, np.tile([1.0, -1.0], len(behind) * cycles)])
        self._sort()

    def _sort(self) -> None:
        order = np.argsort(self.times, kind="stable")
        self.times, self.changes = self.times[order], self.changes[order]
