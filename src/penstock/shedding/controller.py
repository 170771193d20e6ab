"""The shedding controller: when to set drop boxes, how much to drop, and when to stop, with hysteresis.

It has no clock and no engine; it is given load samples. Backpressure and JC03's saving mode come first. Boxes are
set when the predicted utilisation with nothing dropped has stayed above the headroom for a while, or at once when
saving memory was not enough (JC03 §3.4). The first boxes drop just enough to bring the predicted utilisation to
the headroom. They tighten by steps while memory is still short, and open by steps when the load has stayed below a
lower mark for a while. A least time between two changes prevents flapping.
"""

from dataclasses import dataclass
from typing import Literal

Why = Literal["overload", "memory", "drift", "relief"]


@dataclass(frozen=True)
class SheddingRules:
    """The limits and times of a `Shedder`: utilisations as shares of the machine, times in seconds."""

    high: float = 0.9
    """The headroom: the predicted utilisation with drop boxes."""
    low: float = 0.7
    """Boxes open when the utilisation with nothing dropped is below this."""
    hold_s: float = 3.0
    """How long the load must be above the headroom, or drop boxes be off by `band`, before a change."""
    lift_s: float = 10.0
    """How long the load must be below `low` before boxes open."""
    interval_s: float = 5.0
    """The least time between two changes, and how long sources may be held back before boxes tighten."""
    step: float = 0.85
    """Factor on the budget while memory stays short; divisor when that is over."""
    least: float = 0.1
    """The smallest budget."""
    band: float = 0.15
    """How far the utilisation with the current boxes may be from the budget, as a share of it."""


@dataclass(frozen=True)
class LoadSample:
    """A sample of the load: memory held and its limit, and predicted utilisations.

    `demand` is the utilisation with nothing dropped, `utilization` that with the current drop boxes. `must_shed`
    says that saving memory was not enough (JC03 §3.4), `behind` that sources are held back although boxes are set.
    """

    now_s: float
    held: float
    limit: float
    demand: float
    utilization: float
    must_shed: bool = False
    behind: bool = False

    @property
    def is_short(self) -> bool:
        """Whether memory is short."""
        return self.must_shed or self.held >= self.limit


@dataclass(frozen=True)
class Change:
    """The new budget, which is the utilisation that drop boxes allow, or None for no boxes; and the reason."""

    budget: float | None
    why: Why


class Shedder:
    """Decides when drop boxes change.

    >>> shedder = Shedder(SheddingRules(hold_s=2.0))
    >>> samples = [LoadSample(now, held=0, limit=1, demand=2.9, utilization=2.9) for now in (0.0, 1.0, 2.0)]
    >>> [shedder.sample(each) for each in samples]
    [None, None, Change(budget=0.9, why='overload')]
    """

    def __init__(self, rules: SheddingRules | None = None) -> None:
        self.rules = rules or SheddingRules()
        self.budget: float | None = None
        """The utilisation that drop boxes allow; None while nothing is dropped."""
        self.changes = 0
        self._changed_s: float | None = None
        self._since: dict[str, float] = {}
        """Since when each condition has held without interruption."""

    @property
    def is_shedding(self) -> bool:
        """Whether there are drop boxes."""
        return self.budget is not None

    def go_on(self) -> None:
        """Continue with drop boxes that were set before, by another process."""
        self.budget = self.rules.high

    def sample(self, seen: LoadSample) -> Change | None:
        """Check a load sample, and return the change to make, if any."""
        found = self._start(seen) if self.budget is None else self._adjust(seen, self.budget)
        if found is None or not self._may_change(seen):
            return None
        self.budget, self._changed_s = found.budget, seen.now_s
        self.changes += 1
        self._since.clear()
        return found

    def _start(self, seen: LoadSample) -> Change | None:
        if seen.must_shed:
            return Change(self.rules.high, "memory")
        if self._lasts("above", seen.demand > self.rules.high, seen.now_s, self.rules.hold_s):
            return Change(self.rules.high, "overload")
        return None

    def _adjust(self, seen: LoadSample, budget: float) -> Change | None:
        rules = self.rules
        short = self._lasts("behind", seen.behind, seen.now_s, rules.interval_s) or seen.is_short
        calm = self._lasts("calm", not (seen.is_short or seen.behind), seen.now_s, rules.lift_s)
        below = self._lasts("below", seen.demand < rules.low, seen.now_s, rules.lift_s)
        off = abs(seen.utilization - min(budget, seen.demand)) > rules.band * budget
        drifted = self._lasts("off", off, seen.now_s, rules.hold_s)
        if short:
            return Change(max(budget * rules.step, rules.least), "memory")
        if budget < rules.high and (calm or below):
            return Change(min(budget / rules.step, rules.high), "relief")
        if below:
            return Change(None, "relief")
        return Change(budget, "drift") if drifted else None

    def _may_change(self, seen: LoadSample) -> bool:
        return self._changed_s is None or seen.now_s - self._changed_s >= self.rules.interval_s

    def _lasts(self, name: str, holds: bool, now_s: float, long_s: float) -> bool:
        """Whether a condition has held for so long, in every sample."""
        if not holds:
            self._since.pop(name, None)
            return False
        return now_s - self._since.setdefault(name, now_s) >= long_s
