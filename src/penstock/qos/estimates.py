"""Selectivities as they are learnt while a system runs (SCLP08 §6.3).

    s ← (1 − α) · s + α · outputs ÷ inputs        after every window of 100 tuples; α = 0.175

A look may come after several windows. Their mean then counts as if each had had it.
"""

import math
from collections.abc import Mapping

ALPHA = 0.175
WINDOW = 100
MOVED = 4.0
"""Standard errors by which an estimate must move for priorities to be computed anew: noise does not do."""
_LEAST = 1e-6


class Estimates:
    """What is thought of each operator's selectivity.

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
        """Take in what an operator took and made."""
        if name not in self.values:
            return
        before = self._open.get(name, (0.0, 0.0))
        taken, made = before[0] + taken, before[1] + made
        windows = int(taken // self._window)
        if windows:
            value, moves = self.values[name], 1 - (1 - self._alpha) ** windows
            # as a step from the old value: what was 1 and stays 1 is 1 to the last bit
            self.values[name] = max(value + moves * (made / taken - value), _LEAST)
            taken, made = 0.0, 0.0
        self._open[name] = (taken, made)

    def have_moved(self) -> bool:
        """Return whether an estimate has moved far from what was last used; then they are used from now on."""
        moved = any(abs(new - self._used[name]) > MOVED * self._error(new) for name, new in self.values.items())
        if moved:
            self._used = dict(self.values)
        return moved

    def _error(self, share: float) -> float:
        """Return the standard error of the average of windows, of which each is a count of passing tuples."""
        spread = share * (1 - share) if share < 1 else share
        return math.sqrt(self._alpha / (2 - self._alpha) * spread / self._window) + _LEAST
