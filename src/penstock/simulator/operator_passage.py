"""The passage of tuples through operators: the time it takes, what waits where, what leaves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from penstock.network import Edge, Network, exact


@dataclass(frozen=True)
class Portion:
    """The part of an input tuple that waits in a queue.

    If it was begun and interrupted, `done` is the time spent on it and `through` where it was going: it is
    finished as it was begun, whichever unit takes it up again. `alone` is the time it would have taken so far
    alone on the processor.
    """

    arrival: Fraction
    number: int
    amount: Fraction
    alone: Fraction = Fraction(0)
    done: Fraction = Fraction(0)
    through: frozenset[Edge] | None = None

    @property
    def order(self) -> tuple[Fraction, int]:
        """Oldest first; among tuples that arrived together, in the order of their numbers."""
        return self.arrival, self.number


@dataclass(frozen=True)
class Passage:
    """The passage of portions through a unit: the time it takes, what waits where, what leaves."""

    time: Fraction
    waiting: list[tuple[Edge, Portion]]
    leaving: list[tuple[Fraction, str, Portion]]


@dataclass(frozen=True)
class Operators:
    """The operators at work: expectations, except where a tuple's fate is known.

    With `whole_tuples` a fraction of a tuple costs as much as a full one.
    """

    net: Network
    fates: Mapping[tuple[str, int], Fraction]
    whole_tuples: bool

    def passage(self, through: frozenset[Edge], first: Edge, load: Sequence[Portion]) -> Passage:
        """Follow a load from queue to queue, on into those in `through`, depth first."""
        time = Fraction(0)
        passage = Passage(time, [], [])
        steps = [(first, list(load))]
        while steps:
            edge, portions = steps.pop()
            cost = exact(self.net.costs[edge])
            time += cost * self._charged(sum((portion.amount for portion in portions), Fraction(0)))
            made = [self._processed(edge, portion, cost) for portion in portions]
            alive = [portion for portion in made if portion.amount > 0]
            for query in self.net.queries_at.get(edge.target, ()):
                passage.leaving.extend((time, query, portion) for portion in alive)
            for query in dict.fromkeys(path.query for path in self.net.suffixes[edge]):
                passage.leaving.extend((time, query, p) for p in made if p.amount == 0)
            onward = self.net.out_edges.get(edge.target, ()) if alive else ()
            steps.extend((edge, alive) for edge in reversed(onward) if edge in through)
            passage.waiting.extend((edge, portion) for edge in onward if edge not in through for portion in alive)
        return replace(passage, time=time)

    def _charged(self, amount: Fraction) -> Fraction:
        """Return the number of tuples whose cost is charged for `amount`."""
        return Fraction(math.ceil(amount)) if self.whole_tuples else amount

    def _processed(self, edge: Edge, portion: Portion, cost: Fraction) -> Portion:
        fate = self.fates.get((edge.target, portion.number), self.net.fanout[edge])
        alone = portion.alone + cost * self._charged(portion.amount)
        return Portion(portion.arrival, portion.number, portion.amount * exact(fate), alone)
