"""Bursty arrivals: many flows that are ON or OFF for Pareto times (JC03 §5.1).

    share ON = mean_on ÷ (mean_on + mean_off)        rate of a flow while ON = rate ÷ (flows · share ON)

A flow sends while it is ON, at that rate with exponential gaps, and is silent while it is OFF. JC03 adds up 64 or
128 flows with alpha 1.4 (ON) and 1.2 (OFF); the sum is self-similar, with a Hurst parameter towards
(3 − alpha) ÷ 2 of the smaller alpha: it is bursty at every time scale. The paper does not print the mean periods;
ours are chosen here.

- Each flow starts as if it had always been running: ON with probability `share_on`, inside a period. So the flows
  are not synchronised, and the expected rate is `rate` from the first second. A single run can stay above or below
  it for long; this is a property of such traffic, not an error. With few flows it can also be silent for long.
- Only the switches of a short time ahead are held, however long a period is, so periods need not be cut short.
  (They end after 10⁹ times their mean, because of the precision of doubles.)
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
"""The maximum number of ON and OFF periods of all flows in a batch."""

FEWEST = 0.01
"""The minimum expected arrivals in a batch; below, nearly all time would go into silent flows."""


@dataclass(frozen=True)
class Bursty:
    """The superposition of ON/OFF `flows`, together `rate` arrivals per second on average.

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
                f"{self.rate:g} arrivals per second are too few for a bursty process of {self.flows} flows with "
                f"ON and OFF periods from {self.on.scale:g} and {self.off.scale:g} seconds: they would hardly send"
            )

    @property
    def on(self) -> Pareto:
        """The distribution of ON periods."""
        return Pareto(self.mean_on, self.on_alpha, "ON")

    @property
    def off(self) -> Pareto:
        """The distribution of OFF periods."""
        return Pareto(self.mean_off, self.off_alpha, "OFF")

    @property
    def share_on(self) -> float:
        """The average share of time that a flow is ON."""
        return self.mean_on / (self.mean_on + self.mean_off)

    @property
    def peak(self) -> float:
        """Arrivals per second of one flow while it is ON."""
        return self.rate / (self.flows * self.share_on)

    @property
    def stretch(self) -> float:
        """Seconds that one batch covers: about `BATCH` arrivals, with a limit on arrivals and switches."""
        shortest_cycle = self.on.scale + self.off.scale
        arrivals = min(BATCH, LARGEST_BATCH * self.share_on)
        return min(arrivals / self.rate, CYCLES * shortest_cycle / self.flows)

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times without end, an interval of time in every batch; silent ones are skipped."""
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
