"""Turns: interleaved weighted round robin over units or whole queries.

A holder of turns is a unit or a query. The cycle serves the holders with waiting tuples one after the other. In
a cycle, a holder has its weight ÷ the smallest weight turns, rounded. The cycle sweeps over all holders as often
as the heaviest has turns, and skips those that had all of theirs. A holder of weight 0 is served when no other
waits.
"""

from collections.abc import Sequence

from penstock.network import Network
from penstock.policies.policy import Policy
from penstock.policies.units import Unit

MOST = 1_000_000
"""The maximum number of turns of a holder in a cycle."""


def turns_each(net: Network, policy: Policy, units: Sequence[Unit]) -> list[int]:
    """Return how many turns each holder has in a cycle.

    >>> from penstock.policies import POLICIES, units_of
    >>> net = Network.chains([[(1, 1)], [(1, 1)], [(1, 1)]]).weighed({"q1": 5, "q3": 0})
    >>> turns_each(net, POLICIES["round_robin"], units_of(net, POLICIES["round_robin"]))
    [5, 1, 0]
    """
    if policy.turn_of == "unit":
        weights = [unit.weight for unit in units]
    else:
        weights = [query.weight if query.greatest is None else query.greatest for query in net.queries]
    least = min((weight for weight in weights if weight > 0), default=1)
    return [round(min(weight / least, MOST)) for weight in weights]


class Turns:
    """The cycle: its holders, which of them was served last, and in which sweep."""

    def __init__(self, net: Network, policy: Policy, units: Sequence[Unit]) -> None:
        self._policy = policy
        self._last = -1
        self._sweep = 0
        self._place(net, units)

    def _place(self, net: Network, units: Sequence[Unit]) -> None:
        by_unit = self._policy.turn_of == "unit"
        self._holders = [unit.name for unit in units] if by_unit else [query.name for query in net.queries]
        self._each = turns_each(net, self._policy, units)
        self._sweeps = max(1, *self._each) if self._each else 1

    def move_to(self, net: Network, units: Sequence[Unit]) -> None:
        """Continue with another network; the cycle continues after the last holder that still exists."""
        passed = self._holders[: self._last + 1]
        self._place(net, units)
        place = {name: index for index, name in enumerate(self._holders)}
        self._last = next((place[name] for name in reversed(passed) if name in place), -1)
        self._sweep = min(self._sweep, self._sweeps - 1)

    def of(self, unit: Unit) -> int:
        """Return the turns since the cycle passed a unit; the next one in the cycle has the most."""
        return max(map(self._turns, unit.holders))

    def pass_to(self, unit: Unit) -> None:
        """Give the turn to a unit."""
        holder = max(unit.holders, key=self._turns)
        self._last, self._sweep = holder, self._next_sweep(holder) % self._sweeps

    def _next_sweep(self, holder: int) -> int:
        """Return the sweep in which a holder is served next; after the last sweep, the first follows."""
        if holder > self._last and self._sweep < self._each[holder]:
            return self._sweep
        return self._sweep + 1 if self._sweep + 1 < self._each[holder] else self._sweeps

    def _turns(self, holder: int) -> int:
        if not self._each[holder]:
            return 0
        count = len(self._holders)
        ahead = (self._next_sweep(holder) - self._sweep) * count + holder - self._last
        return self._sweeps * count - ahead + 1
