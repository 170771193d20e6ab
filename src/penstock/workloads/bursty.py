"""Bursty arrivals: many flows that are ON or OFF for Pareto times (JC03 §5.1).

    share ON = mean_on ÷ (mean_on + mean_off)        rate of a flow while ON = rate ÷ (flows · share ON)

A flow sends while it is ON, at that rate with exponential gaps, and is silent while it is OFF. JC03 adds up 64 or
128 flows with alpha 1.4 (ON) and 1.2 (OFF); the sum is self-similar, with a Hurst parameter towards
(3 − alpha) ÷ 2 of the smaller alpha: it bursts at every scale of time. The mean periods are not printed there, and
are ours.

- Each flow starts as if it had been running for ever: ON with probability `share_on`, in the midst of a period.
  So the flows are not in step, and the expected rate is `rate` from the first second. A single run can stay above
  or below it for long; that is the nature of such traffic, not an error.
  With few flows it can also be silent for long.
- Only the switches of a short stretch ahead are held, however long a period is, so there is no need to cut periods
  short. (They end after 10⁹ times their mean, for the sake of doubles.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nextafter

from penstock.errors import ArrivalError
from penstock.workloads.arrivals import BATCH, Times
from penstock.workloads.checks import generator, rate_of, whole
from penstock.workloads.pareto import Pareto
from penstock.workloads.poisson import poisson_steps
from penstock.workloads.switches import Switches

LARGEST_BATCH = 8 * BATCH
"""Expected arrivals in a batch while every flow is ON."""

CYCLES = 2 * BATCH
"""At most so many ON and OFF periods of all flows together fit into a batch."""

FEWEST = 0.01
"""Expected arrivals in a batch; below it, the machine would only be tossing silent flows."""


@dataclass(frozen=True)
class Bursty:
    """The superposition of ON/OFF `flows`, together `rate` arrivals per second in the mean.

    >>> from penstock.workloads import index_of_dispersion, until
    >>> times = until(Bursty(rate=500), seed=2, seconds=200)
    >>> index_of_dispersion(times, bin_seconds=1) > 5  # 1 for a Poisson process
    True
    """

    rate: float
    flows: int = 64
    on_alpha: float = 1.4
    off_alpha: float = 1.2
    mean_on: float = 1.0
    mean_off: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", rate_of(self.rate, "a bursty process"))
        object.__setattr__(self, "flows", whole(self.flows, "the number of flows", least=1, most=100_000))
        for name, part in (("on", self.on), ("off", self.off)):
            object.__setattr__(self, f"{name}_alpha", part.alpha)
            object.__setattr__(self, f"mean_{name}", part.mean)
        if self.rate * self.stretch < FEWEST:
            raise ArrivalError(
                f"{self.rate:g} arrivals a second are too few for a bursty process of {self.flows} flows with ON "
                f"and OFF periods from {self.on.scale:g} and {self.off.scale:g} seconds: they would hardly send"
            )

    @property
    def on(self) -> Pareto:
        """How long a flow sends."""
        return Pareto(self.mean_on, self.on_alpha, "ON")

    @property
    def off(self) -> Pareto:
        """How long a flow is silent."""
        return Pareto(self.mean_off, self.off_alpha, "OFF")

    @property
    def share_on(self) -> float:
        """The share of its time that a flow is ON, in the mean."""
        return self.mean_on / (self.mean_on + self.mean_off)

    @property
    def peak(self) -> float:
        """Arrivals per second of one flow while it is ON."""
        return self.rate / (self.flows * self.share_on)

    @property
    def stretch(self) -> float:
        """Seconds that one batch covers: about `BATCH` arrivals, never too many arrivals or switches."""
        shortest_cycle = self.on.scale + self.off.scale
        arrivals = min(BATCH, LARGEST_BATCH * self.share_on)
        return min(arrivals / self.rate, CYCLES * shortest_cycle / self.flows)

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times without end, a stretch of time in every batch; silent stretches are skipped."""
        random = generator(seed)
        switches = Switches(self.flows, self.on, self.off, random)
        start, peak, stretch = 0.0, self.peak, self.stretch
        while True:
            start = max(start, switches.silent_until)
            end = max(start + stretch, nextafter(start, inf))
            knots, flows_on = switches.steps(start, end)
            times = poisson_steps(random, knots, peak * flows_on)
            if len(times):
                yield times
            start = end
