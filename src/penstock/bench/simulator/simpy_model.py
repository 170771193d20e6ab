"""The same system as a SimPy model, as someone would write it who knows SimPy well and wants it to be fast.

A source puts each packet into every query's queue; a server takes the best waiting tuple by the policy, decides
how far it gets, and holds it for that time with one timeout. Priorities that do not change are kept in a heap of
the queues' heads, turns in a sorted list, ages are compared with one NumPy expression. Queues are deques,
not stores, and a decision has one event: both are faster than what SimPy's resources would need.
"""

import random
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from typing import Protocol

import numpy as np
import simpy

from penstock.network import Network
from penstock.policies import Policy, policy_named
from penstock.policies.policy import TURNS
from penstock.policies.units import units_of

MODELLED = (
    "fifo", "hr", "hnr", "srpt", "path_capacity", "lsf", "brt", "bsd", "chain", "greedy", "round_robin",
)  # fmt: skip
"""The policies that the model knows; the others are left out."""

Fate = Callable[[int, int], float]
"""A number from 0 to below 1 for a packet and the place of an operator: it passes where that is below `s`."""
Process = Generator[simpy.Event, None, None]


@dataclass(eq=False)
class Server:
    """What is scheduled: a whole query, or one of its operators; `onward` is the queue that its tuples go to."""

    place: int
    static: float
    ideal: float
    operators: list[tuple[float, float, int]]
    """Cost, selectivity and place of each operator that a run passes."""
    onward: "Server | None" = None
    queue: "deque[tuple[int, float]]" = field(default_factory=deque)
    """Number and arrival of the tuples that wait."""


class ReadyServers(Protocol):
    """The servers that have work, and the best of them."""

    def begin(self, server: Server) -> None:
        """Add a server whose queue was empty."""

    def best(self, now: float) -> Server | None:
        """Return the server to run next, or None if nothing waits."""

    def taken(self, server: Server) -> None:
        """Update the best server after its first tuple was taken."""


class ByRank:
    """Priorities that never change: a heap of the queues' heads, equal ones by age."""

    def __init__(self, servers: Sequence[Server]) -> None:
        order = sorted({server.static for server in servers}, reverse=True)
        level = {static: rank for rank, static in enumerate(order)}
        self.servers = servers
        self.rank = [level[server.static] for server in servers]
        self.heap: list[tuple[int, int, int]] = []

    def begin(self, server: Server) -> None:
        """Add a server whose queue was empty."""
        heappush(self.heap, (self.rank[server.place], server.queue[0][0], server.place))

    def best(self, now: float) -> Server | None:
        """Return the server with the highest priority."""
        return self.servers[self.heap[0][2]] if self.heap else None

    def taken(self, server: Server) -> None:
        """Put the next head in the place of the one that was taken."""
        if server.queue:
            heapreplace(self.heap, (self.rank[server.place], server.queue[0][0], server.place))
        else:
            heappop(self.heap)


class ByAge:
    """Priorities that grow with the age of the oldest tuple: all are computed for every decision."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.order = sorted(servers, key=lambda server: -server.static)  # of equals the first is the right one
        self.row = {server.place: row for row, server in enumerate(self.order)}
        self.static = np.array([server.static for server in self.order])
        self.oldest = np.full(len(servers), np.inf)
        self.busy = 0

    def begin(self, server: Server) -> None:
        """Add a server whose queue was empty."""
        self.oldest[self.row[server.place]] = server.queue[0][1]
        self.busy += 1

    def best(self, now: float) -> Server | None:
        """Return the server with the highest priority; empty ones have minus infinity."""
        return self.order[int((self.static * (now - self.oldest)).argmax())] if self.busy else None

    def taken(self, server: Server) -> None:
        """Use the next tuple's age from now on."""
        self.oldest[self.row[server.place]] = server.queue[0][1] if server.queue else np.inf
        self.busy -= not server.queue


class InTurn:
    """Servers in a cycle: a sorted list of those that have work."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers = servers
        self.waiting: list[int] = []
        self.last = -1

    def begin(self, server: Server) -> None:
        """Add a server whose queue was empty."""
        insort(self.waiting, server.place)

    def best(self, now: float) -> Server | None:
        """Return the next server after the last one."""
        if not self.waiting:
            return None
        at = bisect_right(self.waiting, self.last)
        return self.servers[self.waiting[at if at < len(self.waiting) else 0]]

    def taken(self, server: Server) -> None:
        """Go on from here."""
        self.last = server.place
        if not server.queue:
            del self.waiting[bisect_right(self.waiting, server.place) - 1]


class Model:
    """Queries on one stream, each a row of operators, served by one processor; `run` goes to the end.

    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    >>> model = Model(net, [0.0, 0.0, 0.0], "hr", fate=lambda number, operator: 0.5)
    >>> model.run()
    >>> model.decisions, model.responses
    (6, [5.0, 10.0, 15.0])
    """

    def __init__(
        self, net: Network, times: Sequence[float], policy: str | Policy, fate: Fate | None = None
    ) -> None:
        self.env = simpy.Environment()
        self.times = times
        self.fate = fate
        policy = policy_named(policy)
        servers = servers_of(net, policy)
        stream = net.streams[0].name
        self.entered = [server for edge, server in zip(net.edges, servers, strict=True) if edge.source == stream]
        self.waiting: ReadyServers = _ready_servers(policy, servers)
        self.idle: simpy.Event | None = None
        self.over = False
        self.decisions = 0
        self.responses: list[float] = []
        self.slowdowns: list[float] = []

    def run(self) -> None:
        """Let all packets arrive, and serve them."""
        self.env.process(self.source())
        served = self.env.process(self.serve())
        self.env.run(until=served)

    def source(self) -> Process:
        """Put each packet into every query's queue."""
        begin = self.waiting.begin
        for number, time in enumerate(self.times):
            yield self.env.timeout(time - self.env.now)
            for server in self.entered:
                server.queue.append((number, time))
                if len(server.queue) == 1:
                    begin(server)
            if self.idle is not None:
                self.idle.succeed()
                self.idle = None
        self.over = True

    def serve(self) -> Process:
        """Serve the best waiting tuple, until nothing waits and nothing will come."""
        env, fate, draw, waiting = self.env, self.fate, random.Random(1).random, self.waiting
        while True:
            server = waiting.best(env.now)
            if server is None:
                if self.over:
                    return
                self.idle = env.event()
                yield self.idle
                continue
            number, arrival = server.queue.popleft()
            waiting.taken(server)
            self.decisions += 1
            spent, passes = 0.0, True
            for cost, selectivity, place in server.operators:
                spent += cost
                if selectivity < 1 and (draw() if fate is None else fate(number, place)) >= selectivity:
                    passes = False
                    break
            yield env.timeout(spent)
            if not passes:
                continue
            if server.onward is None:
                response = env.now - arrival
                self.responses.append(response)
                self.slowdowns.append(response / server.ideal)
            else:
                server.onward.queue.append((number, arrival))
                if len(server.onward.queue) == 1:
                    waiting.begin(server.onward)


def servers_of(net: Network, policy: Policy) -> list[Server]:
    """Return a server for each queue of the network, whose operators form rows without branches.

    A path policy runs from a queue to the root; its servers behind the first operators never have work.
    """
    places = {operator.name: place for place, operator in enumerate(net.operators)}
    servers = []
    for unit, edge in zip(units_of(net, policy), net.edges, strict=True):
        (path,) = net.suffixes[edge]
        run = path.edges if policy.unit == "path" else path.edges[:1]
        operators = [
            (float(net.costs[each]), float(net.operator_by_name[each.target].selectivity), places[each.target])
            for each in run
        ]
        servers.append(Server(unit.id, float(unit.static), float(net.T(path.query)), operators))
    by_edge = dict(zip(net.edges, servers, strict=True))
    if policy.unit == "operator":
        for edge, server in by_edge.items():
            server.onward = next((by_edge[each] for each in net.out_edges.get(edge.target, ())), None)
    return servers


def _ready_servers(policy: Policy, servers: Sequence[Server]) -> ReadyServers:
    if TURNS in policy.factors:
        return InTurn(servers)
    alike = len({server.static for server in servers}) == 1
    return ByAge(servers) if "age" in policy.factors and not alike else ByRank(servers)
