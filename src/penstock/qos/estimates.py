"""Selectivities estimated while a system runs (SCLP08 §6.3).

    s ← (1 − α) · s + α · outputs ÷ inputs        after every window of 100 tuples; α = 0.175

Tuples of several windows may be added at once. Each window then counts with their average.
"""

import math
from collections.abc import Mapping

ALPHA = 0.175
WINDOW = 100
MOVED = 4.0
"""Standard errors by which an estimate must move before priorities are recomputed: less may be noise."""
_LEAST = 1e-6


class Estimates:
    """Estimated selectivities of operators.

    >>> estimates = Estimates({"o": 0.5})
    >>> estimates.add("o", taken=60, made=60)
    >>> estimates.values["o"]
    0.5
    >>> estimates.add("o", taken=40, made=40)
    >>> round(estimates.values["o"], 4), estimates.have_moved()
    (0.5875, True)
    >>> estimates.have_moved()
    False
    """

    def __init__(self, known: Mapping[str, float], alpha: float = ALPHA, window: int = WINDOW) -> None:
        self.values = dict(known)
        self._used = dict(known)
        self._open: dict[str, tuple[float, float]] = {}
        self._alpha, self._window = alpha, window

    def add(self, name: str, taken: float, made: float) -> None:
        """Add tuples that an operator took and made."""
        if name not in self.values:
            return
        before = self._open.get(name, (0.0, 0.0))
        taken, made = before[0] + taken, before[1] + made
        windows = int(taken // self._window)
        if windows:
            value, moves = self.values[name], 1 - (1 - self._alpha) ** windows
            # a step from the old value, so that a selectivity that stays 1 is exactly 1
            self.values[name] = max(value + moves * (made / taken - value), _LEAST)
            taken, made = 0.0, 0.0
        self._open[name] = (taken, made)

    def have_moved(self) -> bool:
        """Return whether an estimate is far from the value last used. If so, use all estimates from now on."""
        moved = any(abs(new - self._used[name]) > MOVED * self._error(new) for name, new in self.values.items())
        if moved:
            self._used = dict(self.values)
        return moved

    def _error(self, share: float) -> float:
        """Return the standard error of a moving average of windows in which passing tuples are counted."""
        spread = share * (1 - share) if share < 1 else share
        return math.sqrt(self._alpha / (2 - self._alpha) * spread / self._window) + _LEAST
