"""Arrivals in flows that begin as a Poisson process and send for Pareto times (BBDM03 §5).

    flows that begin per second = rate ÷ (flow_rate · mean_flow)      flows at once, on average = rate ÷ flow_rate

BBDM03 makes its synthetic stream this way, after Willinger, Paxson and others. A flow sends at one rate with
exponential gaps. The number of flows that send is Poisson with covariance (rate ÷ flow_rate) · P(rest of a flow
> t), which for alpha below 2 decays so slowly that the stream is self-similar, with a Hurst parameter towards (3
− alpha) ÷ 2.

The digits of the paper are lost (the Pareto's k and alpha, the gap between flows), so the defaults are ours: five
flows at once at a rate of 100, of one second each on average. A run starts as if it had always been running: the
average rate holds from the first second.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nextafter

import numpy as np

from penstock.errors import ArrivalError
from penstock.workloads.arrivals import BATCH, Times
from penstock.workloads.checks import generator, rate_of
from penstock.workloads.pareto import Pareto
from penstock.workloads.poisson import poisson_steps

MOST_FLOWS = 100_000
"""The maximum number of flows at once."""

SHORTEST = 0.01
"""The minimum expected arrivals of a flow; below, nearly all flows would send nothing."""


@dataclass(frozen=True)
class Flows:
    """`rate` arrivals per second on average, from flows of `flow_rate` that last `mean_flow` seconds on average.

    >>> from penstock.workloads import index_of_dispersion, until
    >>> times = until(Flows(rate=100), seed=2, seconds=500)
    >>> index_of_dispersion(times, bin_seconds=1) > 5  # 1 for a Poisson process
    True
    """

    rate: float
    mean_flow: float = 1.0
    alpha: float = 1.5
    flow_rate: float = 20.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", rate_of(self.rate, "a process of flows"))
        object.__setattr__(self, "flow_rate", rate_of(self.flow_rate, "one flow"))
        object.__setattr__(self, "mean_flow", self.length.mean)
        object.__setattr__(self, "alpha", self.length.alpha)
        if self.at_once > MOST_FLOWS:
            raise ArrivalError(
                f"{self.rate:g} arrivals per second in flows of {self.flow_rate:g} would be {self.at_once:g} "
                f"flows at once, but there can be at most {MOST_FLOWS}: raise flow_rate"
            )
        if self.flow_rate * self.mean_flow < SHORTEST:
            raise ArrivalError(
                f"flows of {self.mean_flow:g} seconds at {self.flow_rate:g} arrivals per second would hardly "
                "send: raise mean_flow or flow_rate"
            )

    @property
    def length(self) -> Pareto:
        """The distribution of the duration of flows."""
        return Pareto(self.mean_flow, self.alpha, "flow")

    @property
    def at_once(self) -> float:
        """The average number of flows that send at the same time."""
        return self.rate / self.flow_rate

    @property
    def begins(self) -> float:
        """The number of flows that begin per second."""
        return self.at_once / self.mean_flow

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times without end, an interval of time in every batch; silence is skipped."""
        random, length = generator(seed), self.length
        start = 0.0
        ends = length.draw_rest(random, int(random.poisson(self.at_once)))
        while True:
            if not len(ends):  # the wait for the next flow is memoryless
                start += float(random.standard_exponential()) / self.begins
                ends = start + length.draw(random, 1)
            end = max(start + self._stretch(len(ends)), nextafter(start, inf))
            begun = start + (end - start) * random.random(int(random.poisson(self.begins * (end - start))))
            ended = begun + length.draw(random, len(begun))
            knots, flows = _levels(start, end, begun, ended, ends)
            times = poisson_steps(random, knots, self.flow_rate * flows)
            if len(times):
                yield times
            ends = np.concatenate([ends[ends >= end], ended[ended >= end]])
            start = end

    def _stretch(self, flows: int) -> float:
        """Return the seconds of the next batch: about `BATCH` arrivals or flows, given how many send now."""
        return BATCH / max(self.rate, self.flow_rate * flows, self.begins)


def _levels(start: float, end: float, begun: Times, ended: Times, ends: Times) -> tuple[Times, Times]:
    """Return the times when a flow begins or ends, and how many send from each to the next.

    >>> knots, flows = _levels(0, 9, begun=np.array([2.0]), ended=np.array([4.0]), ends=np.array([3.0, 12.0]))
    >>> knots.tolist(), flows.tolist()
    ([0.0, 2.0, 3.0, 4.0, 9.0], [2.0, 3.0, 2.0, 1.0])
    """
    stops = np.concatenate([ends[ends < end], ended[ended < end]])
    moments = np.concatenate([begun, stops])
    changes = np.concatenate([np.ones(len(begun)), -np.ones(len(stops))])
    order = np.argsort(moments, kind="stable")  # beginnings come first, so a level is never below 0
    levels = len(ends) + np.concatenate([[0.0], changes[order].cumsum()])
    return np.concatenate([[start], moments[order], [end]]), levels
