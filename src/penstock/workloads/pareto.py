"""The Pareto distribution: most periods are short, a few are so long that they make up much of the time.

    P(X > x) = (scale ÷ x)^alpha,  x ≥ scale        mean = scale · alpha ÷ (alpha − 1)

JC03 §5.1 writes it as P(x) = a·b^a·x^−(a+1). For alpha up to 2 the variance is infinite; therefore a sum
of ON/OFF flows is self-similar.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from penstock.workloads.arrivals import Times
from penstock.workloads.checks import number

LONGEST = 1e9
"""The longest period, in means: doubles must still distinguish times after it."""


@dataclass(frozen=True)
class Pareto:
    """Periods of a given `mean` in seconds and tail index `alpha`; `name` is for errors.

    >>> Pareto(mean=1.0, alpha=1.25).scale
    0.2
    """

    mean: float
    alpha: float
    name: str = "Pareto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", number(self.mean, f"the mean of {self.name} periods", above=0))
        object.__setattr__(self, "alpha", number(self.alpha, f"the alpha of {self.name} periods", above=1))

    @property
    def scale(self) -> float:
        """The shortest period: mean · (alpha − 1) ÷ alpha."""
        return self.mean * (self.alpha - 1) / self.alpha

    def draw(self, random: np.random.Generator, shape: int | tuple[int, ...]) -> Times:
        """Return periods: scale · e^(E ÷ alpha), where E is exponential."""
        return self._stretched(random.standard_exponential(shape) / self.alpha)

    def draw_rest(self, random: np.random.Generator, count: int) -> Times:
        """Return the rest of a period at a random time of a process that has always been running.

        Its density is P(X > x) ÷ mean: uniform below the scale with probability scale ÷ mean, else Pareto with
        alpha − 1. A run that starts this way has the same average rate at every time.
        """
        inside = self.scale * random.random(count)
        beyond = self._stretched(random.standard_exponential(count) / (self.alpha - 1))
        return np.where(random.random(count) < self.scale / self.mean, inside, beyond)

    def _stretched(self, logarithms: Times) -> Times:
        """Return scale · e^x, at most `LONGEST` means, without overflow."""
        furthest = log(LONGEST * self.mean / self.scale)
        return self.scale * np.exp(np.minimum(logarithms, furthest))
