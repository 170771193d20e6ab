"""The decision, plainly: scan every unit, take the highest priority. Engines may be faster, never different.

A scheduler holds only what a decision leaves behind: whose turn it was, how many decisions there were, and
the memory mode. It reads no clock and does no work; it is told the time and what waits, and names what to run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from penstock.errors import PolicyError
from penstock.network import Network, Number
from penstock.policies.policy import TURNS, Policy
from penstock.policies.thresholds import Mode
from penstock.policies.units import Unit, units_of


@dataclass(frozen=True)
class Waiting:
    """What waits at a unit: arrival and number of its oldest tuple, and how many there are.

    `batch` is how many a run would take, `overhead` what the run would cost before the first of them.
    """

    arrival: Number
    number: int
    length: Number
    batch: Number = 1
    overhead: Number = 0


Look = Callable[[Unit], Waiting | None]
Foresee = Callable[[Unit], tuple[Number, Number | None]]


class Scheduler:
    """Chooses the next unit by a policy, on one network."""

    def __init__(self, net: Network, policy: Policy, memory: Number | None = None) -> None:
        thresholds = policy.thresholds
        if thresholds is not None and memory is not None:
            thresholds = replace(thresholds, memory=memory)
        self.thresholds = thresholds
        self.mode: Mode = "normal"
        self._normal = _Choice(net, policy)
        self._saving = _Choice(net, policy.saving) if policy.saving is not None else self._normal

    @property
    def policy(self) -> Policy:
        """The policy in force: in saving mode, the one that saves memory."""
        return self._current.policy

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of the policy in force."""
        return self._current.units

    @property
    def _current(self) -> "_Choice":
        return self._normal if self.mode == "normal" else self._saving

    def see_memory(self, current: Number, mean: Number) -> None:
        """Take note of the queue memory, and change mode if a threshold is passed (JC03 §3.4)."""
        if self.thresholds is not None:
            self.mode = self.thresholds.next_mode(self.mode, current, mean)

    def choose(self, now: Number, look: Look, foresee: Foresee | None = None) -> tuple[Unit, ...]:
        """Return the units to run next, as one: none if nothing waits, several for a chosen cluster.

        A clairvoyant policy asks `foresee` for the gain and the cost that its waiting tuples will really have.
        """
        if self.policy.clairvoyant and foresee is None:
            raise PolicyError(f"policy {self.policy.name!r} knows the future, and this engine does not")
        return self._current.choose(now, look, foresee if self.policy.clairvoyant else None)


class _Choice:
    """A policy on its units, with the memory of past decisions."""

    def __init__(self, net: Network, policy: Policy) -> None:
        self.policy = policy
        self.units = units_of(net, policy)
        self._decisions = 0
        self._last_holder = -1
        self._cycle = len(self.units) if policy.turn_of == "unit" else len(net.queries)

    def choose(self, now: Number, look: Look, foresee: Foresee | None) -> tuple[Unit, ...]:
        seen = ((unit, look(unit)) for unit in self.units)
        candidates = [(unit, waiting) for unit, waiting in seen if waiting is not None]
        if not candidates:
            return ()
        self._decisions += 1
        if self.policy.oldest_every is not None and self._decisions % self.policy.oldest_every == 0:
            unit, head = max(candidates, key=lambda c: _ties(("oldest", "static", "id"), *c))
        else:
            unit, head = max(
                candidates, key=lambda c: (self._priority(now, c[0], c[1], foresee), *_ties(self.policy.tie, *c))
            )
        self._last_holder = max(unit.holders, key=self._turns)
        if unit.cluster is None:
            return (unit,)
        rest = [u for u, w in candidates if u != unit and u.cluster == unit.cluster and w.number == head.number]
        return (unit, *rest)

    def _priority(self, now: Number, unit: Unit, waiting: Waiting, foresee: Foresee | None) -> Number:
        gain, cost = (unit.gain, unit.cost) if foresee is None else foresee(unit)
        return self.policy.value(
            gain,
            cost,
            n=waiting.batch,
            overhead=waiting.overhead,
            age=now - waiting.arrival,
            length=waiting.length,
            turns=max(map(self._turns, unit.holders)) if TURNS in self.policy.factors else 1,
        )

    def _turns(self, holder: int) -> int:
        """Turns since the cycle passed the holder: the next one has waited longest."""
        return self._cycle - (holder - self._last_holder - 1) % self._cycle


def _ties(tie: tuple[str, ...], unit: Unit, waiting: Waiting) -> tuple[Number, ...]:
    """What decides between equal priorities, in order: the greater goes first."""
    values: list[Number] = []
    for rule in tie:
        if rule == "oldest":
            values += [-waiting.arrival, -waiting.number]
        else:
            values.append(unit.static if rule == "static" else -unit.id)
    return tuple(values)
