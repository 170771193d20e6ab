"""Memory thresholds (JC03 §3.4): when to switch to saving mode and back, and how often to check."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from penstock.errors import PolicyError
from penstock.network import Number, checked

Mode = Literal["normal", "saving"]


@dataclass(frozen=True)
class Thresholds:
    """The thresholds for queue `memory` M, by JC03 (3.3), with the safety factor β.

    Without a limit the mode stays normal, until an engine gets one. Memory is checked every `shortest` to
    `longest` time units; by default at every decision.

    >>> limits = Thresholds(memory=100)
    >>> [float(limit) for limit in limits.limits(mean=40)]
    [70.0, 40.0]
    >>> [float(limit) for limit in limits.limits(mean=95)]
    [90.0, 81.0]
    """

    memory: Number = math.inf
    beta: Number = Fraction(9, 10)
    shortest: Number = 0
    longest: Number = 0

    def __post_init__(self) -> None:
        if self.memory != math.inf:
            memory = checked(self.memory, "the memory limit of a threshold policy", above=0, error=PolicyError)
            object.__setattr__(self, "memory", memory)
        beta = checked(self.beta, "the safety factor of a threshold policy", error=PolicyError)
        if not 0.5 < beta < 1:
            raise PolicyError(f"the safety factor of a threshold policy must be between 0.5 and 1, not {beta}")
        object.__setattr__(self, "beta", beta)
        shortest = checked(self.shortest, "the shortest interval between checks", at_least=0, error=PolicyError)
        longest = checked(
            self.longest, "the longest interval between checks", at_least=shortest, error=PolicyError
        )
        object.__setattr__(self, "shortest", shortest)
        object.__setattr__(self, "longest", longest)

    def limits(self, mean: Number) -> tuple[Number, Number]:
        """Return (T_max, T_min), given the average queue memory so far."""
        if self.memory == math.inf:
            return math.inf, math.inf
        alpha = mean / self.memory
        t_max = min((1 + alpha) / 2 * self.memory, self.beta * self.memory)
        return t_max, min(mean, self.beta * t_max)

    def next_mode(self, mode: Mode, current: Number, mean: Number) -> Mode:
        """Return the next mode: saving from T_max on, normal again at T_min and below."""
        if self.memory == math.inf:
            return "normal"
        t_max, t_min = self.limits(mean)
        if mode == "normal":
            return "saving" if current >= t_max else "normal"
        return "normal" if current <= t_min else "saving"

    def must_shed(self, mode: Mode, current: Number) -> bool:
        """Return whether saving is not enough and load must be shed (JC03 §3.4, last paragraph)."""
        return mode == "saving" and current >= self.memory

    def interval(self, current: Number) -> Number:
        """Return the time until the next check of memory: the nearer to the limit, the shorter.

        The paper gives no formula; here the free share of the memory scales the longest interval.

        >>> limits = Thresholds(memory=100, shortest=1, longest=10)
        >>> [float(limits.interval(used)) for used in (0, 50, 99, 120)]
        [10.0, 5.0, 1.0, 1.0]
        """
        if self.memory == math.inf:
            return self.longest
        free = max(0, 1 - current / self.memory)
        return max(self.shortest, self.longest * free)
