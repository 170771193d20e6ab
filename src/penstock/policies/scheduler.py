"""`Scheduler`: scans every unit and takes the highest priority. Faster engines must choose the same units.

A scheduler's state is whose turn it was, the number of decisions, and the memory mode. It reads no clock and runs
nothing: it is given the time and what waits, and returns the units to run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from penstock.errors import PolicyError
from penstock.network import Network, Number, checked
from penstock.policies.memory_thresholds import Mode
from penstock.policies.policy import TURNS, Policy, useful_share
from penstock.policies.policy_table import policy_named
from penstock.policies.turns import Turns
from penstock.policies.units import Unit, units_of


class Waiting(NamedTuple):
    """What waits at a unit: arrival and number of the oldest tuple, and the number of tuples.

    `batch` is how many a run would take, `overhead` the cost of the run before the first of them.
    """

    arrival: Number
    number: int
    length: Number
    batch: Number = 1
    overhead: Number = 0


@dataclass(frozen=True)
class Train:
    """Several units that run as one job: it costs `setup` once, and units are added up to `quantum` of time."""

    setup: Number
    quantum: Number
    most: int = 32
    """The maximum number of units: planning too many is slow."""
    least: Number = 0
    """Time up to which units are added in any case, so that a slow decision pays."""
    pace: Number = 1
    """Current time per tuple ÷ time that the units state, which may have been measured a while ago."""


Look = Callable[[Unit], Waiting | None]
Foresee = Callable[[Unit], tuple[Number, Number | None]]
"""Returns the static part and the cost of a unit, by the real fates of its waiting tuples."""


class Scheduler:
    """Chooses the next unit by a policy, on one network."""

    def __init__(self, net: Network, policy: str | Policy, memory: Number | None = None) -> None:
        policy = policy_named(policy)
        if memory is not None:
            checked(memory, "the memory limit", above=0, error=PolicyError)
        saving = policy.saving
        if saving is not None and memory is not None:
            saving = replace(saving, thresholds=replace(saving.thresholds, memory=memory))
        self.mode: Mode = "normal"
        self.must_shed = False
        """Whether saving memory was not enough at the last check (JC03 §3.4)."""
        self._decisions = 0
        self._thresholds = None if saving is None else saving.thresholds
        self._next_look: Number | None = None
        self._normal = _Choice(net, policy)
        self._saving = self._normal if saving is None else _Choice(net, saving.policy)

    @property
    def policy(self) -> Policy:
        """The current policy: in saving mode, the one that saves memory."""
        return self._current.policy

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of the current policy."""
        return self._current.units

    @property
    def _current(self) -> "_Choice":
        return self._normal if self.mode == "normal" else self._saving

    def see_memory(self, now: Number, current: Number, mean: Number) -> None:
        """Check the queue memory if it is time to, and change mode if a threshold is passed (JC03 §3.4)."""
        if self._thresholds is None or (self._next_look is not None and now < self._next_look):
            return
        self.mode = self._thresholds.next_mode(self.mode, current, mean)
        self.must_shed = self._thresholds.must_shed(self.mode, current)
        self._next_look = now + self._thresholds.interval(current)

    def choose(
        self, now: Number, look: Look, foresee: Foresee | None = None, train: Train | None = None
    ) -> tuple[Unit, ...]:
        """Return the units to run next as one: none if nothing waits, several for a cluster or a train.

        A clairvoyant policy calls `foresee` for the real gain and cost of the waiting tuples.
        """
        if self.policy.clairvoyant and foresee is None:
            raise PolicyError(
                f"policy {self.policy.name!r} needs the fates of tuples, which this engine does not know"
            )
        candidates = [(unit, waiting) for unit in self.units if (waiting := look(unit)) is not None]
        if not candidates:
            return ()
        self._decisions += 1
        return self._current.choose(
            now, candidates, foresee if self.policy.clairvoyant else None, train, decision=self._decisions
        )

    def move_to(self, net: Network) -> None:
        """Continue with another network: queries were added or removed, or measures have changed.

        Turns, counts and the mode stay; the cycle continues after the last holder that still exists.
        """
        for choice in {self._normal, self._saving}:
            choice.move_to(net)


class _Choice:
    """A policy with its units and the state of the cycle."""

    def __init__(self, net: Network, policy: Policy) -> None:
        self.policy = policy
        self.units = units_of(net, policy)
        self._turns = Turns(net, policy, self.units)

    def move_to(self, net: Network) -> None:
        self.units = units_of(net, self.policy)
        self._turns.move_to(net, self.units)

    def choose(
        self,
        now: Number,
        candidates: list[tuple[Unit, Waiting]],
        foresee: Foresee | None,
        train: Train | None,
        decision: int,
    ) -> tuple[Unit, ...]:
        ranked = []
        for unit, head in candidates:
            priority = self._priority(now, unit, head, foresee)
            order = (priority, *_ties(self.policy.tie, unit, head))
            ranked.append(_Ranked(unit, head, priority, order))
        if self.policy.oldest_every is not None and decision % self.policy.oldest_every == 0:
            best = max(ranked, key=lambda r: _ties(("oldest", "static", "id"), r.unit, r.head))
        else:
            best = max(ranked, key=_order)
            self._turns.pass_to(best.unit)
        if self.policy.clusters is not None:
            if not self.policy.clusters.together:
                return (best.unit,)
            rest = [
                r.unit
                for r in ranked
                if r is not best and r.unit.cluster == best.unit.cluster and r.head.number == best.head.number
            ]
            return (best.unit, *rest)
        if train is None or not self.policy.minds_overhead:
            return (best.unit,)
        return self._train(best, [each for each in ranked if each is not best], train)

    def _train(self, first: "_Ranked", others: list["_Ranked"], train: Train) -> tuple[Unit, ...]:
        """Add units to the first while the aggregate priority rises, like a priority-defining tree (SCLP08 §7.2).

        The aggregate priority of a set is its gain ÷ its cost, with the set-up once. Without costs, and where
        units take turns, units are added in the order of their priorities. Up to `train.least` they are added in
        any case.
        """
        by_cost = self.policy.cost is not None and TURNS not in self.policy.factors
        key = (lambda r: (r.rate(train), r.order)) if by_cost else _order
        chosen, taken = [first.unit], set(first.unit.entries)
        gain, cost, time = first.gain, train.setup + first.cost(train), first.time(train)
        for each in sorted(others, key=key, reverse=True):
            lowers = by_cost and each.rate(train) * cost <= gain
            if len(chosen) == train.most or (lowers and time >= train.least):
                break
            if time + each.time(train) > train.quantum or taken.intersection(each.unit.entries):
                continue
            chosen.append(each.unit)
            taken.update(each.unit.entries)
            gain, cost, time = gain + each.gain, cost + each.cost(train), time + each.time(train)
            self._turns.pass_to(each.unit)
        return tuple(chosen)

    def _priority(self, now: Number, unit: Unit, waiting: Waiting, foresee: Foresee | None) -> Number:
        static, cost = (unit.static, unit.cost) if foresee is None else foresee(unit)
        return self.policy.urgent(
            static * useful_share(cost, waiting.batch, waiting.overhead if self.policy.minds_overhead else 0),
            age=now - waiting.arrival,
            length=waiting.length,
            turns=self._turns.of(unit) if TURNS in self.policy.factors else 1,
        )


class _Ranked(NamedTuple):
    """A unit with waiting tuples, and its current priority."""

    unit: Unit
    head: Waiting
    priority: Number
    order: tuple[Number, ...]
    """The priority, followed by the tie-breakers."""

    def cost(self, train: Train) -> Number:
        """Return what it adds to the cost of a train."""
        return self.head.overhead - train.setup + self.head.batch * (self.unit.cost or 0)

    @property
    def gain(self) -> Number:
        """The gain of its run, urgency included."""
        return self.priority * (self.head.overhead + self.head.batch * (self.unit.cost or 0))

    def rate(self, train: Train) -> Number:
        """Return its gain ÷ what it adds to the cost of a train."""
        cost = self.cost(train)
        return self.gain / cost if cost > 0 else float("inf")

    def time(self, train: Train) -> Number:
        """Return what it adds to the time of a train."""
        return self.head.overhead - train.setup + self.head.batch * self.unit.time * train.pace


_order = attrgetter("order")


def _ties(tie: tuple[str, ...], unit: Unit, waiting: Waiting) -> tuple[Number, ...]:
    """Return the tie-breakers of equal priorities, in order; the greater comes first.

    The last is the id. Before it, among tuples that arrived together, the one with the lower number comes first,
    so that a tuple in progress continues.
    """
    values: list[Number] = []
    for rule in tie:
        if rule == "oldest":
            values.append(-waiting.arrival)
        elif rule == "static":
            values.append(unit.static)
        else:
            values += [-waiting.number, -unit.id]
    return tuple(values)


def as_measured(unit: Unit) -> tuple[Number, Number | None]:
    """Return the expected static part and cost of a unit, for a policy that would know the future."""
    return unit.static, unit.cost
