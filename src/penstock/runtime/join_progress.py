"""Progress of joins: up to which time rows may probe, which streams others wait for, what can be released."""

import math
from itertools import pairwise

from penstock.network import Edge
from penstock.plan.reach import Reach
from penstock.plan.steps import Join, Order
from penstock.runtime.state import RuntimeState
from penstock.runtime.stream_log import StreamLog


def ready_until(state: RuntimeState, reach: Reach) -> float:
    """Return up to which time rows of an entry may run now.

    Where a run also makes something that needs no join, all rows may run: it stops before a join whose other
    streams are behind.
    """
    if reach.is_free:
        return math.inf
    return max(probe_until(state, join) for join in reach.joins)


def probe_until(state: RuntimeState, join: Edge) -> float:
    """Return up to which time a row of a port may probe: all rows that precede it must have arrived.

    Rows of the same time precede it if their stream is further left in FROM.
    """
    step = state.plan.join(join.target)
    users = (name for user in state.plan.network.users[join.target] for name in state.plan.served_by(user))
    if all(state.queries[user].ends is not None for user in users):
        return math.inf
    bounds = []
    for other, port in enumerate(step.ports):
        if other != join.port and port.stream not in state.silent:
            watermark = state.streams[port.stream].watermark
            bounds.append(watermark if other < join.port else watermark + 1)
    return min(bounds, default=math.inf)


def waited_for(state: RuntimeState) -> set[str]:
    """Return the streams whose watermarks hold back rows that wait for a join."""
    found: set[str] = set()
    for name, step in state.plan.steps.items():
        if isinstance(step, Order) and any(state.queues[edge].rows for edge in state.plan.network.in_edges[name]):
            found |= _slowest_below(state, name)
        if isinstance(step, Join):
            for port in range(len(step.ports)):
                if _first_waiting(state, step, name, port) < math.inf:
                    others = [each.stream for place, each in enumerate(step.ports) if place != port]
                    found.add(min(others, key=lambda stream: state.streams[stream].watermark))
    return found


def _slowest_below(state: RuntimeState, name: str) -> set[str]:
    """Return the stream from outside below an operator that has the lowest watermark."""
    pending, found = [name], set()
    while pending:
        each = pending.pop()
        pending += state.plan.network.operator(each).inputs if each in state.plan.steps else ()
        found |= set() if each in state.plan.steps else {each}
    return {min(found, key=lambda stream: state.streams[stream].watermark)}


def release(state: RuntimeState) -> None:
    """Release the chunks of logs that no window can need any more."""
    for name, log in state.streams.items():
        readers = state.windows.get(name)
        if readers is None:
            log.chunks.clear()
        elif log.chunks:
            del log.chunks[: min(_passed(state, log, join, port) for join, port in readers)]


def _passed(state: RuntimeState, log: StreamLog, join: str, port: int) -> int:
    """Return how many of the oldest chunks no later probe of a join can find."""
    step = state.plan.join(join)
    low = min(_earliest_probe(state, join, other) for other in range(len(step.ports)) if other != port)
    return log.needed_from(step.ports[port].window, low)


def _earliest_probe(state: RuntimeState, join: str, port: int) -> float:
    """Return the earliest time of a row of a port that may still probe."""
    step = state.plan.join(join)
    waiting = _first_waiting(state, step, join, port)
    log = state.streams[step.ports[port].stream]
    earliest = min((log.lasting_watermark if log.continues else log.watermark) + 1, waiting)
    return min([earliest, *(job.first_time for job in state.in_flight)])


def _first_waiting(state: RuntimeState, step: Join, join: str, port: int) -> float:
    """Return the earliest time of a row that waits on the path to a port."""
    here = step.ports[port]
    edges = [edge for edge in state.plan.network.in_edges[join] if edge.port == port]
    for source, target in pairwise([here.stream, *here.path]):
        edges += [edge for edge in state.plan.network.in_edges[target] if edge.source == source]
    return min((state.queues[edge].first_time for edge in edges), default=math.inf)
