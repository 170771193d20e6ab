"""When to drop, how much, and when to stop: drop boxes with hysteresis. No clock and no engine: it is told.

Backpressure and JC03's saving mode come first. Boxes are set when the utilisation that is predicted with nothing
dropped has stayed above the headroom for a while, or at once when memory says that saving was not enough
(JC03 §3.4). The first boxes are the smallest that bring the predicted utilisation to the headroom; they tighten by
steps while memory is still short, and open again by steps when what arrives has stayed below a lower mark for a
while. Between two changes there is a least time, so nothing flaps.
"""

from dataclasses import dataclass
from typing import Literal

Why = Literal["overload", "memory", "drift", "relief"]


@dataclass(frozen=True)
class SheddingRules:
    """The marks and times of a `Shedder`: utilisations as shares of what there is, times in seconds."""

    high: float = 0.9
    """The headroom: what drop boxes bring the predicted utilisation to."""
    low: float = 0.7
    """Boxes open when what arrives would take less than this without them."""
    hold_s: float = 3.0
    """How long the load must be above the headroom, or drop boxes be off by `band`, before something is done."""
    lift_s: float = 10.0
    """How long the load must be below the lower mark."""
    interval_s: float = 5.0
    """The least time between two changes, and how long sources may stay held back before boxes tighten."""
    step: float = 0.85
    """By what the budget is multiplied when memory stays short, and divided when that is over."""
    least: float = 0.1
    """The smallest budget."""
    band: float = 0.15
    """How far the utilisation with the present boxes may be from the budget, as a share of it."""


@dataclass(frozen=True)
class LoadSample:
    """How a system stands: memory held and its limit, and what is predicted to be taken.

    `demand` is the utilisation with nothing dropped, `utilization` that with the present drop boxes. `must_shed`
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
        """Whether there is no memory left."""
        return self.must_shed or self.held >= self.limit


@dataclass(frozen=True)
class Change:
    """What drop boxes are to bring the utilisation to from now on, None for no boxes; and why."""

    budget: float | None
    why: Why


class Shedder:
    """Decides about drop boxes.

    >>> shedder = Shedder(SheddingRules(hold_s=2.0))
    >>> samples = [LoadSample(now, held=0, limit=1, demand=2.9, utilization=2.9) for now in (0.0, 1.0, 2.0)]
    >>> [shedder.sample(each) for each in samples]
    [None, None, Change(budget=0.9, why='overload')]
    """

    def __init__(self, rules: SheddingRules | None = None) -> None:
        self.rules = rules or SheddingRules()
        self.budget: float | None = None
        """What drop boxes bring the utilisation to; None while nothing is dropped."""
        self.changes = 0
        self._changed_s: float | None = None
        self._since: dict[str, float] = {}
        """Since when each condition has held without a break."""

    @property
    def is_shedding(self) -> bool:
        """Whether there are drop boxes."""
        return self.budget is not None

    def sample(self, seen: LoadSample) -> Change | None:
        """Look at how the system stands, and return what is to change, if something is."""
        found = self._begin(seen) if self.budget is None else self._go_on(seen, self.budget)
        if found is None or not self._may_change(seen):
            return None
        self.budget, self._changed_s = found.budget, seen.now_s
        self.changes += 1
        self._since.clear()
        return found

    def _begin(self, seen: LoadSample) -> Change | None:
        if seen.must_shed:
            return Change(self.rules.high, "memory")
        if self._lasts("above", seen.demand > self.rules.high, seen.now_s, self.rules.hold_s):
            return Change(self.rules.high, "overload")
        return None

    def _go_on(self, seen: LoadSample, budget: float) -> Change | None:
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
        """Whether something has held for so long, each time that was looked."""
        if not holds:
            self._since.pop(name, None)
            return False
        return now_s - self._since.setdefault(name, now_s) >= long_s
