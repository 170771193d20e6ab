"""The fractional engine: any policy, any network, any arrivals, in exact fractions of tuples.

It is the papers' own model, small enough to check by hand: a tuple is a page, half of it can be filtered out,
and time moves from event to event. Numbers are fractions, so a printed digit is matched exactly or not at all.
For speed there is the compiled simulator; this one is for examples, theorems and as a reference.
"""

import math
from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from penstock.errors import NetworkError, PolicyError
from penstock.network import Edge, Network, Number, checked, exact
from penstock.policies import Policy, Scheduler, Unit, Waiting
from penstock.policies.policy import divided
from penstock.simulator.fractional_trace import FractionalDeparture, FractionalTrace, MemorySample, ServedRun
from penstock.simulator.inputs import Fates, checked_fates, sorted_arrivals
from penstock.simulator.operator_passage import Operators, Passage, Portion
from penstock.simulator.paper_conventions import SCLP08, Rules


def run_fractional(
    net: Network,
    arrivals: Mapping[str, Sequence[Number]],
    policy: str | Policy,
    rules: Rules = SCLP08,
    *,
    fates: Fates | None = None,
    memory: Number | None = None,
    setup_cost: Number = 0,
) -> FractionalTrace:
    """Run `policy` on `net` until every arrival is served, and return a trace of the run.

    `arrivals` are times for each stream, ascending. Tuples are numbered from 0 in the order of arrival, across
    streams in the order of the network. `memory` is the limit of a threshold policy; `setup_cost` is c0, paid
    once per run.

    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    >>> fates = {("q2.o1", 0): 0, ("q2.o1", 1): 1, ("q2.o1", 2): 0}
    >>> run_fractional(net, {"s": [0, 0, 0]}, "hnr", fates=fates).metrics["avg_slowdown"]
    2.9
    """
    if not isinstance(net, Network):
        raise NetworkError(f"a run needs a Network, not {net!r}")
    if net.panes:
        raise NetworkError("the fractional engine has no windows of aggregates: use `simulate`")
    if not isinstance(rules, Rules):
        raise PolicyError(f"the rules must be Rules, such as penstock.simulator.JC03, not {rules!r}")
    return _Engine(net, arrivals, policy, rules, fates or {}, memory, setup_cost).run()


class _Engine:
    def __init__(
        self,
        net: Network,
        arrivals: Mapping[str, Sequence[Number]],
        policy: str | Policy,
        rules: Rules,
        fates: Fates,
        memory: Number | None,
        setup_cost: Number,
    ) -> None:
        self.net = net.exact()
        self.rules = rules
        self.setup_cost = exact(checked(setup_cost, "the set-up cost", at_least=0, error=PolicyError))
        self.quantum = None if rules.quantum is None else exact(rules.quantum)
        self.scheduler = Scheduler(self.net, policy, memory)
        self.pending = sorted_arrivals(net, arrivals)
        whole_tuples = rules.fraction_costs == "full"
        self.operators = Operators(self.net, checked_fates(net, fates, len(self.pending)), whole_tuples)
        self.pending.reverse()
        self.queues: dict[Edge, list[Portion]] = {edge: [] for edge in self.net.edges}
        self.start = self.now = self.pending[-1][0] if self.pending else Fraction(0)
        self.queued = Fraction(0)
        self.in_service = Fraction(0)
        self.area = Fraction(0)
        self.samples: list[MemorySample] = []
        self.departures: list[FractionalDeparture] = []
        self.runs: list[ServedRun] = []

    def run(self) -> FractionalTrace:
        while True:
            self._settle()
            passed = self.now - self.start
            self.scheduler.see_memory(self.now, self._memory, self.area / passed if passed else self._memory)
            units = self.scheduler.choose(self.now, self._look, self._foresee)
            if units:
                start = self.now
                if self.setup_cost:
                    self._pass_time(self.setup_cost)
                    self._settle()
                for unit in units:
                    self._serve(unit)
                self.runs.append(ServedRun(start, self.now, tuple(unit.name for unit in units)))
            elif self.pending:
                self._pass_time(self.pending[-1][0] - self.now)
            else:
                return FractionalTrace(tuple(self.samples), tuple(self.departures), tuple(self.runs))

    # What the scheduler sees --------------------------------------------------------------------------------

    def _look(self, unit: Unit) -> Waiting | None:
        heads = [self.queues[entry][0] for entry in unit.entries if self.queues[entry]]
        if not heads:
            return None
        oldest = min(heads, key=lambda portion: portion.order)
        length = self._length(unit)
        limit = self.rules.service.limit(length)
        batch = length if limit is None else min(length, exact(limit))
        return Waiting(oldest.arrival, oldest.number, length, batch, self.setup_cost)

    def _foresee(self, unit: Unit) -> tuple[Number, Number | None]:
        """Return static part and cost by the real results of the waiting tuples and the time they need."""
        policy = self.scheduler.policy
        ways = {features.query: features for features in unit.path_features}
        made = dict.fromkeys(ways, Fraction(0))
        time = Fraction(0)
        for entry in unit.entries:
            paths = [path for path in self.net.suffixes[entry] if path.query in ways]
            onward = frozenset(edge for path in paths for edge in path.edges)
            for portion in self.queues[entry]:
                passage = self.operators.passage(onward, entry, [portion])
                time += passage.time - portion.done
                for _, query, result in passage.leaving:
                    if query in made:
                        made[query] += result.amount
        length = self._length(unit)
        cost = time / length
        gain = sum(policy.gain_of(replace(f, S=made[query] / length, C=cost)) for query, f in ways.items())
        cost_of_all = policy.cost_of(replace(unit.whole, S=sum(made.values()) / length, C=cost))
        return divided(gain, cost_of_all), cost_of_all

    def _length(self, unit: Unit) -> Fraction:
        return sum((portion.amount for entry in unit.entries for portion in self.queues[entry]), Fraction(0))

    # Service ------------------------------------------------------------------------------------------------

    def _serve(self, unit: Unit) -> None:
        """Serve one load after another until the service limit, the quantum or the queue ends."""
        limit = self.rules.service.limit(self._length(unit))
        room = None if limit is None else exact(limit)
        time = None if self.quantum is None else self.quantum - self.now % self.quantum
        while room is None or room > 0:
            filled = [entry for entry in unit.entries if self.queues[entry]]
            if not filled or (time is not None and time <= 0):
                return
            edge = min(filled, key=lambda entry: self.queues[entry][0].order)
            served, spent = self._serve_load(unit, edge, room, time)
            room = None if room is None else room - served
            time = None if time is None else time - spent
            self._settle()

    def _serve_load(
        self, unit: Unit, edge: Edge, room: Fraction | None, time: Fraction | None
    ) -> tuple[Fraction, Fraction]:
        """Serve the oldest portion of a queue, or the part that fits; return the amount and the time it took."""
        load = self._take(edge, room)
        head = load[0]
        through = unit.through if head.through is None else head.through
        passage = self.operators.passage(through, edge, load)
        needed = passage.time - head.done
        whole_tuples = self.operators.whole_tuples
        if time is not None and needed > time and not whole_tuples:
            if self.rules.divisible:
                part = head.amount * time / needed
                self._enqueue(edge, replace(head, amount=head.amount - part))
                load = [replace(head, amount=part)]
                passage = self.operators.passage(through, edge, load)
            else:
                unfinished = replace(head, done=head.done + time, through=through)
                soon = [leaving for leaving in passage.leaving if leaving[0] <= unfinished.done]
                passage = Passage(passage.time, [(edge, unfinished)], soon)
            needed = time
        amount = sum((portion.amount for portion in load), Fraction(0))
        self.in_service = amount * exact(self.net.sizes[edge.source])
        start = self.now
        self._sample(after=True)
        self._pass_time(needed)
        self.in_service = Fraction(0)
        for target, portion in passage.waiting:
            self._enqueue(target, portion)
        for moment, query, portion in passage.leaving:
            if moment > head.done:
                self._leave(start + moment - head.done, query, portion)
        return Fraction(math.ceil(amount)) if whole_tuples else amount, needed

    def _take(self, edge: Edge, room: Fraction | None) -> list[Portion]:
        """Remove the head of a queue; where a fraction costs as much as a tuple, fill one up with the next."""
        queue = self.queues[edge]
        most = room
        if self.operators.whole_tuples:
            most = Fraction(1) if room is None else min(Fraction(1), room)
        load = [queue.pop(0)]
        while self.operators.whole_tuples and queue and most and sum(p.amount for p in load) < most:
            load.append(queue.pop(0))
        over = sum(portion.amount for portion in load) - most if most is not None else 0
        if over > 0 and not load[-1].done:
            last = load.pop()
            load.append(replace(last, amount=last.amount - over))
            queue.insert(0, replace(last, amount=Fraction(over)))
        self.queued -= exact(self.net.sizes[edge.source]) * sum(portion.amount for portion in load)
        return load

    # Events -------------------------------------------------------------------------------------------------

    def _pass_time(self, duration: Fraction) -> None:
        """Move the clock on, admitting what arrives on the way (what arrives at the end comes with `_settle`)."""
        end = self.now + duration
        while self.pending and self.pending[-1][0] < end:
            self._move_clock(self.pending[-1][0])
            self._settle()
        self._move_clock(end)

    def _move_clock(self, time: Fraction) -> None:
        self.area += self._memory * (time - self.now)
        self.now = time

    def _settle(self) -> None:
        """Admit what has arrived by now, and sample the queues."""
        while self.pending and self.pending[-1][0] <= self.now:
            arrival, number, stream = self.pending.pop()
            for edge in self.net.out_edges.get(stream, ()):
                self._enqueue(edge, Portion(arrival, number, Fraction(1)))
        self._sample()

    def _enqueue(self, edge: Edge, portion: Portion) -> None:
        insort(self.queues[edge], portion, key=lambda other: other.order)
        self.queued += exact(self.net.sizes[edge.source]) * portion.amount

    def _leave(self, time: Fraction, query: str, portion: Portion) -> None:
        ideal = self.net.T(query)
        self.departures.append(
            FractionalDeparture(time, query, portion.number, portion.arrival, portion.amount, portion.alone, ideal)
        )

    @property
    def _memory(self) -> Fraction:
        return self.queued + (self.in_service if self.rules.in_service_counts else 0)

    def _sample(self, after: bool = False) -> None:
        memory = self._memory
        if self.samples and self.samples[-1].time == self.now:
            before = self.samples[-1].before if after else memory
            self.samples[-1] = MemorySample(self.now, before, memory)
        else:
            self.samples.append(MemorySample(self.now, memory, memory))
