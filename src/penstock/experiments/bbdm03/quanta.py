"""Round robin with a time quantum, as BBDM03 §5 has it: every operator that is ready runs as long as any other.

`simulate` gives a turn to one tuple, so that a slow operator has more of the processor than a fast one. Here a
turn has a fixed length; a tuple that is not done stays at the head of its queue, keeps its progress, and counts at
its old size until it is done. Joins block, and take their inputs in the order of time. The fates of tuples are
those of `simulate`: the same tuples pass the same operators.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.network import Edge, Network
from penstock.simulator.plain import chance, mixed, pair

Floats = npt.NDArray[np.float64]
STEP, OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
ROUNDING = 1e-12


@dataclass(frozen=True)
class Item:
    """A tuple that waits: the number of its last part, and its identity."""

    number: int
    identity: int


def round_robin(net: Network, arrivals: Mapping[str, Floats], seed: int, quantum: float) -> Floats:
    """Return the memory of all queues after each change, as rows (time, memory), until everything is served.

    >>> net = Network.chains([[(1.0, 1.0), (2.0, 1.0)]])
    >>> round_robin(net, {"s": np.array([0.0, 0.0])}, seed=1, quantum=1.5)[:, 0].tolist()
    [0.0, 0.0, 1.0, 3.5, 4.0, 6.0]
    """
    return _RoundRobin(net, arrivals, seed, quantum).samples()


class _RoundRobin:
    def __init__(self, net: Network, arrivals: Mapping[str, Floats], seed: int, quantum: float) -> None:
        self.net, self.quantum = net, quantum
        order = {stream.name: place for place, stream in enumerate(net.streams)}
        together = [(float(time), order[name], name) for name, times in arrivals.items() for time in times]
        self.coming = deque((time, n, name) for n, (time, _, name) in enumerate(sorted(together)))
        self.left = {name: len(times) for name, times in arrivals.items()}
        self.queues: dict[Edge, deque[Item]] = {edge: deque() for edge in net.edges}
        self.kept: dict[Edge, deque[int]] = {
            edge: deque(maxlen=int(operator.windows[edge.port].size))
            for operator in net.operators
            for edge in net.in_edges[operator.name]
            if operator.windows
        }
        self.salt = {op.name: mixed(mixed(seed) + n * int(OTHER)) for n, op in enumerate(net.operators, start=1)}
        self.done = dict.fromkeys(net.edges, 0.0)
        self.now, self.level = self.coming[0][0], 0.0
        self.found: list[tuple[float, float]] = []

    def samples(self) -> Floats:
        """Give every operator its turn until nothing is left."""
        turns = [self.net.in_edges[operator.name] for operator in self.net.operators]
        while True:
            ran = [self.turn(entries) for entries in turns]
            if not any(ran):
                if not self.coming:
                    return np.array(self.found)
                self.pass_time(self.coming[0][0])

    def turn(self, entries: tuple[Edge, ...]) -> bool:
        """Let an operator run until its quantum or its queue ends; return whether it had anything to do."""
        left = self.quantum
        while left > ROUNDING and (edge := self.ready(entries)) is not None:
            need = float(self.net.costs[edge]) - self.done[edge]
            spent = min(need, left)
            left -= spent
            self.pass_time(self.now + spent)
            if need - spent > ROUNDING:
                self.done[edge] += spent
            else:
                self.done[edge] = 0.0
                self.finish(edge)
        return left < self.quantum

    def ready(self, entries: tuple[Edge, ...]) -> Edge | None:
        """Return the queue to serve next: that of the oldest tuple, unless a join waits for its other input."""
        waiting = [edge for edge in entries if self.queues[edge]]
        if len(waiting) < len(entries) and not all(self.over(edge) for edge in entries if edge not in waiting):
            return None
        return min(waiting, key=lambda edge: (self.queues[edge][0].number, edge.port), default=None)

    def over(self, edge: Edge) -> bool:
        """See whether nothing will come through a queue any more."""
        if self.queues[edge] or self.left.get(edge.source, 0):
            return False
        return all(self.over(below) for below in self.net.in_edges.get(edge.source, ()))

    def finish(self, edge: Edge) -> None:
        """Take the head of a queue away, and put what was made of it where it must wait."""
        made = self.made(edge, self.queues[edge].popleft())
        self.level -= 1
        for onward in self.net.out_edges.get(edge.target, ()):
            self.queues[onward].extend(made)
            self.level += len(made)
        self.found.append((self.now, self.level))

    def made(self, edge: Edge, item: Item) -> list[Item]:
        """Return what an operator makes of a tuple."""
        operator, salt = self.net.operator_by_name[edge.target], self.salt[edge.target]
        selectivity = float(operator.selectivity)
        if operator.windows:
            return self.joined(edge, item, salt, selectivity)
        if selectivity <= 1:
            return [item] if chance(item.identity, salt) < selectivity else []
        count = int(selectivity) + (chance(item.identity, salt) < selectivity - int(selectivity))
        return [Item(item.number, pair(item.identity, salt + copy)) for copy in range(count)]

    def joined(self, edge: Edge, item: Item, salt: int, selectivity: float) -> list[Item]:
        """Match a tuple with the rows that a join holds of its other input, and keep it."""
        other = self.net.in_edges[edge.target][1 - edge.port]
        held, own = np.array(self.kept[other], np.uint64), np.array([item.identity], np.uint64)
        both = _mixed(own * STEP + held * OTHER if edge.port == 0 else held * STEP + own * OTHER)
        chances = (_mixed(both * STEP + np.uint64(salt)) >> np.uint64(11)) / 2.0**53
        self.kept[edge].append(item.identity)
        return [Item(item.number, identity) for identity in both[chances < selectivity].tolist()]

    def pass_time(self, end: float) -> None:
        """Move the clock on, and admit what arrives by then."""
        while self.coming and self.coming[0][0] <= end:
            time, number, stream = self.coming.popleft()
            self.left[stream] -= 1
            for edge in self.net.out_edges.get(stream, ()):
                self.queues[edge].append(Item(number, number + 1))
                self.level += 1
            self.found.append((time, self.level))
        self.now = end


def _mixed(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the splitmix64 finaliser of many; `penstock.simulator.plain.mixed` is that of one."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
