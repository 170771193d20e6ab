"""The plain reference: `simulate` in simple Python, without regard for speed.

Decisions are those of `penstock.policies.Scheduler`, a scan of every unit. Tests compare the
compiled simulator with it to the last bit; benchmarks compare their speed.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from penstock.network import Edge, Network, Number, Operator
from penstock.policies import Limited, Policy, Scheduler, Service, Unit, Waiting
from penstock.simulator.plain_windows import CLOCK, PlainWindows

WORD = 2**64 - 1
STEP, OTHER = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93


class PlainTuple(NamedTuple):
    """A tuple: its number (of its last part), its identity, and the time it would have taken alone.

    A closed window has the number of its end, and one more than its index for an identity.
    """

    number: int
    identity: int
    alone: float


class PlainDeparture(NamedTuple):
    """A result: when it left, its query, its number, response and slowdown."""

    time: float
    query: str
    number: int
    response: float
    slowdown: float


@dataclass
class Plain:
    """A run of a policy on a network, as `simulate` describes it; `run` goes to the end."""

    net: Network
    arrivals: Mapping[str, Sequence[float]]
    policy: Policy
    seed: int = 0
    setup_cost: float = 0.0
    memory: float | None = None
    service: Service = field(default_factory=Limited)
    blocking: bool = False
    alpha: float | None = None
    window: int = 100
    decision_cost: float = 0.0

    def __post_init__(self) -> None:
        order = {stream.name: place for place, stream in enumerate(self.net.streams)}
        arriving = [(float(t), 1, order[name], name) for name, times in self.arrivals.items() for t in times]
        self.windows = PlainWindows(self.net, min(arriving)[0], max(arriving)[0])
        moments = self.windows.moments()
        together = sorted([*arriving, *((*moment, 0, CLOCK) for moment in moments)])
        self.coming = [(time, number, name) for number, (time, _, _, name) in enumerate(together)]
        self.times = [time for time, _, _ in self.coming]
        ends = [number for _, number, name in self.coming if name == CLOCK]
        self.windows.number = dict(zip(moments, ends, strict=True))
        self.tuples = 0
        self.grown: Number = 0
        self.known = self.net
        self.scheduler = Scheduler(self.net, self.policy, self.memory)
        self.queues: dict[Edge, list[PlainTuple]] = {edge: [] for edge in self.net.edges}
        self.kept: dict[Edge, list[PlainTuple]] = {edge: [] for edge in self.net.edges}
        self.counts = {operator.name: [0, 0] for operator in self.net.operators}
        places = range(1, len(self.net.operators) + 1)
        self.salt = {
            operator.name: mixed(mixed(self.seed) + place * OTHER)
            for place, operator in zip(places, self.net.operators, strict=True)
        }
        self.start = self.now = self.times[0]
        self.area = self.level = 0.0
        self.samples: list[tuple[float, float]] = []
        self.departures: list[PlainDeparture] = []
        self.runs: list[tuple[float, str]] = []

    def run(self) -> "Plain":
        """Decide and serve until nothing is left."""
        while True:
            self.settle()
            passed = self.now - self.start
            self.scheduler.see_memory(self.now, self.level, self.area / passed if passed else self.level)
            units = self.scheduler.choose(self.now, self.look, self.foresee)
            if units:
                self.runs.append((self.now, units[0].name))
                lost = self.setup_cost + self.decision_cost * (2 * self.candidates() - 1)
                if lost:
                    self.pass_time(self.now + lost)
                    self.settle()
                for unit in units:
                    self.serve(unit)
            elif self.coming:
                self.pass_time(self.coming[0][0])
            else:
                return self

    # What the scheduler sees --------------------------------------------------------------------------------

    def look(self, unit: Unit) -> Waiting | None:
        """Return what waits at a unit, or None."""
        ready = [self.queues[edge][0] for edge in unit.entries if self.ready(edge)]
        if not ready:
            return None
        oldest = min(ready)
        length = self.length(unit)
        limit = self.service.limit(length)
        batch = length if limit is None else min(length, limit)
        return Waiting(self.times[oldest.number], oldest.number, length, batch, self.setup_cost)

    def length(self, unit: Unit) -> int:
        """Return how many tuples wait at a unit."""
        return sum(len(self.queues[edge]) for edge in unit.entries)

    def ready(self, edge: Edge) -> bool:
        """Return whether the head of a queue may be served: at a blocking join only in the order of time."""
        queue, join = self.queues[edge], self.net.operator_by_name[edge.target]
        if not queue or not (self.blocking and join.windows):
            return bool(queue)
        other = self.net.in_edges[edge.target][1 - edge.port]
        if not self.queues[other]:
            return self.over(other)
        return (queue[0].number, edge.port) < (self.queues[other][0].number, other.port)

    def over(self, edge: Edge) -> bool:
        """Return whether no tuple can come through a queue any more."""
        if self.queues[edge] or any(name == edge.source for _, _, name in self.coming):
            return False
        return all(self.over(below) for below in self.net.in_edges.get(edge.source, ()))

    def candidates(self) -> int:
        """Count the candidates of a search: units that have work, or clusters of them."""
        waiting = [unit for unit in self.scheduler.units if self.look(unit)]
        if self.scheduler.policy.clusters is None:
            return len(waiting)
        return len({unit.cluster for unit in waiting})

    def foresee(self, unit: Unit) -> tuple[Number, Number | None]:
        """Rank a unit by the real results of its waiting tuples and the time they need (SCLP08 §9.1.11)."""
        policy, length = self.scheduler.policy, self.length(unit)
        made = {way.query: 0 for way in unit.path_features}
        time = 0.0
        for entry in unit.entries:
            onward = {e for path in self.net.suffixes[entry] if path.query in made for e in path.edges}
            for item in self.queues[entry]:
                todo = [(entry, item)]
                while todo:
                    edge, here = todo.pop()
                    time += self.net.costs[edge]
                    results = self.processed(edge, here, for_real=False)
                    for query in self.net.queries_at.get(edge.target, ()):
                        if query in made:
                            made[query] += len(results)
                    further = [e for e in self.net.out_edges.get(edge.target, ()) if e in onward]
                    todo += [(e, result) for e in further for result in results]
        cost = time / length
        gain = sum(policy.gain_of(replace(way, S=made[way.query] / length, C=cost)) for way in unit.path_features)
        paid = policy.cost_of(replace(unit.whole, S=sum(made.values()) / length, C=cost))
        return (gain if paid is None else gain / paid), paid

    # Service ------------------------------------------------------------------------------------------------

    def serve(self, unit: Unit) -> None:
        """Serve one tuple after another, as many as the discipline lets a run take."""
        limit = self.service.limit(self.length(unit))
        room = float("inf") if limit is None else limit
        while room > 0:
            ready = [edge for edge in unit.entries if self.ready(edge)]
            if not ready:
                return
            room -= 1
            edge = min(ready, key=lambda entry: self.queues[entry][0].number)
            self.serve_one(unit, edge, self.queues[edge].pop(0))
            self.settle()

    def serve_one(self, unit: Unit, first: Edge, item: PlainTuple) -> None:
        """Let a tuple pass the operators of a unit, depth first."""
        spent = 0.0
        left: list[tuple[Edge, PlainTuple]] = []
        todo = [(first, item)]
        while todo:
            edge, here = todo.pop()
            spent += self.cost(edge, here)
            results = self.processed(edge, here)
            for query in self.net.queries_at.get(edge.target, ()):
                for result in results:
                    response = self.now + spent - self.times[result.number]
                    slowdown = 1 + (response - result.alone) / self.net.T(query)
                    left_at = self.now + spent
                    self.departures.append(PlainDeparture(left_at, query, result.number, response, slowdown))
            onward = self.net.out_edges.get(edge.target, ())
            goes_on = [e for e in onward if e in unit.through and not self.stops(e)]
            left += [(e, result) for e in onward if e not in goes_on for result in results]
            todo += [(e, result) for result in reversed(results) for e in reversed(goes_on)]
        self.pass_time(self.now + spent)
        if first in self.windows.closes:
            self.level -= self.windows.finish(first, item.identity - 1) * self.net.sizes[first.source]
        else:
            self.level -= self.net.sizes[first.source]
        for edge, result in left:
            insort(self.queues[edge], result, key=lambda other: other.number)
            self.level += self.net.sizes[edge.source]
        self.level, self.grown = self.level + self.grown, 0
        self.samples.append((self.now, self.level))

    def stops(self, edge: Edge) -> bool:
        """Return whether every tuple waits before this queue's operator."""
        return self.blocking and bool(self.net.operator_by_name[edge.target].windows)

    def processed(self, edge: Edge, item: PlainTuple, for_real: bool = True) -> list[PlainTuple]:
        """Return what an operator makes of a tuple."""
        operator, salt = self.net.operator_by_name[edge.target], self.salt[edge.target]
        item = item._replace(alone=item.alone + self.cost(edge, item))
        if edge in self.windows.closes:
            groups = sorted(set().union(*self.windows.content(edge, item.identity - 1)))
            results = [item._replace(identity=pair(item.identity, salt + group)) for group in groups]
        elif operator.name in self.windows.rows:
            self.sum_up(operator, item)
            results = []
        elif operator.windows:
            results = self.joined(edge, item)
        else:
            whole = int(operator.selectivity)
            count = whole + (chance(item.identity, salt) < operator.selectivity - whole)
            if operator.selectivity <= 1:
                results = [item] if chance(item.identity, salt) < operator.selectivity else []
            else:
                results = [item._replace(identity=pair(item.identity, salt + copy)) for copy in range(count)]
        if for_real and self.alpha is not None:
            self.learn(operator.name, len(results))
        return results

    def cost(self, edge: Edge, item: PlainTuple) -> Number:
        """Return the time of an operator for a tuple, or for a window with its partial rows."""
        if edge not in self.windows.closes:
            return self.net.costs[edge]
        rows = sum(map(len, self.windows.content(edge, item.identity - 1)))
        return self.net.operator_by_name[edge.target].costs[0] * rows

    def sum_up(self, operator: Operator, item: PlainTuple) -> None:
        """Let a tuple leave its partial row, if there is none of its pane and group."""
        pane = self.windows.pane(operator.name, item.number, self.times[item.number])
        if pane is not None:
            group = mixed(item.identity * STEP + self.salt[operator.name]) % (operator.groups or 1)
            rows = self.windows.rows[operator.name][pane]
            self.grown += self.net.sizes[operator.name] if group not in rows else 0
            rows.add(group)

    def joined(self, edge: Edge, item: PlainTuple) -> list[PlainTuple]:
        """Match a tuple with what the join keeps of its other input, and keep it."""
        operator = self.net.operator_by_name[edge.target]
        other = self.net.in_edges[edge.target][1 - edge.port]
        results = []
        for match in self.kept[other]:
            late, early, window = item, match, operator.windows[other.port]
            if match.number > item.number:
                late, early, window = match, item, operator.windows[edge.port]
            gap = self.times[late.number] - self.times[early.number]
            left, right = (item, match) if edge.port == 0 else (match, item)
            both = pair(left.identity, right.identity)
            fits = window.kind == "rows" or gap <= window.size
            if fits and chance(both, self.salt[edge.target]) < operator.selectivity:
                results.append(PlainTuple(late.number, both, max(0.0, early.alone - gap) + late.alone))
        self.kept[edge].append(item)
        if operator.windows[edge.port].kind == "rows":
            del self.kept[edge][: -int(operator.windows[edge.port].size)]
        return results

    def learn(self, name: str, made: int) -> None:
        """Count a window, and rank again at its end (SCLP08 §6.3)."""
        assert self.alpha is not None
        counts = self.counts[name]
        counts[0] += 1
        counts[1] += made
        if counts[0] == self.window:
            old = self.known.operator_by_name[name].selectivity
            new = (1 - self.alpha) * old + self.alpha * (counts[1] / counts[0])
            self.counts[name] = [0, 0]
            self.known = self.known.measured(selectivities={name: new})
            self.scheduler.move_to(self.known)

    # Time ---------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Admit what has arrived by now, and close windows."""
        while self.coming and self.coming[0][0] <= self.now:
            self.admit()
        for edge, close in self.windows.closes.items():
            while (number := self.windows.due(close, self.queues)) is not None:
                if any(self.windows.content(edge, close.next)):
                    entry = PlainTuple(number, close.next + 1, 0.0)
                    insort(self.queues[edge], entry, key=lambda other: other.number)
                else:
                    self.windows.finish(edge, close.next)
                close.next += 1

    def admit(self) -> None:
        """Put the next arrival into its queues."""
        time, number, stream = self.coming.pop(0)
        self.windows.admit(stream, number)
        self.tuples += stream != CLOCK
        for edge in self.net.out_edges.get(stream, ()):
            self.queues[edge].append(PlainTuple(number, self.tuples, 0.0))
            self.level += self.net.sizes[stream]
        self.samples.append((time, self.level))

    def pass_time(self, end: float) -> None:
        """Move the clock on, admitting what arrives before `end`."""
        while self.coming and self.coming[0][0] < end:
            time = self.coming[0][0]
            self.area += self.level * (time - self.now)
            self.now = time
            while self.coming and self.coming[0][0] <= time:
                self.admit()
        self.area += self.level * (end - self.now)
        self.now = end


def mixed(z: int) -> int:
    """Return 64 bits that look random (the finaliser of splitmix64)."""
    z &= WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


def chance(identity: int, salt: int) -> float:
    """Return a number from 0 to below 1 for a tuple at an operator."""
    return (mixed(identity * STEP + salt) >> 11) / (1 << 53)


def pair(left: int, right: int) -> int:
    """Return the identity of what is made of two."""
    return mixed(left * STEP + right * OTHER)
