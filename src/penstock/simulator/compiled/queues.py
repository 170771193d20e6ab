"""Queues: cursors into streams, and lists of records; and which of their tuples may be served."""

import numpy as np

from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.places import FREE, FREE_COUNT
from penstock.simulator.compiled.records import NOBODY, NONE, Floats, Ints, Records


@lean
def waiting_in(edges: Records, streams: Records, edge: int) -> int:
    """Return how many tuples wait in a queue."""
    stream = edges[edge].stream
    return edges[edge].count if stream == NONE else streams[stream].admitted - edges[edge].cursor


@lean
def head_of(edges: Records, streams: Records, numbers: Ints, nodes: Records, edge: int) -> int:
    """Return the number of the oldest tuple in a queue, or NOBODY."""
    stream = edges[edge].stream
    if stream != NONE:
        cursor = edges[edge].cursor
        return numbers[streams[stream].start + cursor] if cursor < streams[stream].admitted else NOBODY
    return nodes[edges[edge].first].number if edges[edge].count > 0 else NOBODY


@lean
def is_over(edges: Records, streams: Records, lists: Ints, edge: int) -> bool:
    """Return whether no tuple can come through a queue any more."""
    for place in range(edges[edge].up_from, edges[edge].up_to):
        below = lists[place]
        stream = edges[below].stream
        if waiting_in(edges, streams, below) > 0:
            return False
        if stream != NONE and streams[stream].admitted < streams[stream].total:
            return False
    return True


@lean
def is_ready(edges: Records, streams: Records, numbers: Ints, nodes: Records, lists: Ints, edge: int) -> bool:
    """Return whether the head of a queue may be served: at a blocking join only in the order of time."""
    if edges[edge].blocking == 0:
        return True
    other = edges[edge].other
    theirs = head_of(edges, streams, numbers, nodes, other)
    if theirs == NOBODY:
        return is_over(edges, streams, lists, other)
    mine = head_of(edges, streams, numbers, nodes, edge)
    return mine < theirs or (mine == theirs and edge < other)


@lean
def still_to_come(
    edges: Records, streams: Records, numbers: Ints, nodes: Records, lists: Ints, time: Floats, edge: int
) -> float:
    """Return the earliest time of a tuple that may still come through a queue."""
    earliest = np.inf
    for place in range(edges[edge].up_from, edges[edge].up_to):
        below = lists[place]
        head = head_of(edges, streams, numbers, nodes, below)
        if head != NOBODY:
            earliest = min(earliest, time[head])
        stream = edges[below].stream
        if stream != NONE and streams[stream].admitted < streams[stream].total:
            earliest = min(earliest, time[numbers[streams[stream].start + streams[stream].admitted]])
    return earliest


@compiled
def grown(nodes: Records, free: Ints) -> Records:
    """Return a pool of twice the size, the new half free."""
    size = len(nodes)
    more = np.empty(2 * size, nodes.dtype)
    for node in range(size):
        more[node] = nodes[node]
    for node in range(size, 2 * size):
        more[node].after = node + 1 if node + 1 < 2 * size else free[FREE]
    free[FREE] = size
    free[FREE_COUNT] += size
    return more


@lean
def taken(nodes: Records, free: Ints, number: int, alone: float, identity: np.uint64) -> int:
    """Take a free place for a tuple."""
    node = free[FREE]
    free[FREE] = nodes[node].after
    free[FREE_COUNT] -= 1
    nodes[node].number, nodes[node].alone, nodes[node].identity = number, alone, identity
    return node


@lean
def put(edges: Records, nodes: Records, node: int, edge: int) -> None:
    """Add a tuple to a queue, in the order of numbers; after those with the same number."""
    behind = edges[edge].last if edges[edge].count > 0 else NONE
    while behind != NONE and nodes[behind].number > nodes[node].number:
        behind = nodes[behind].before
    if behind != NONE:
        follower = nodes[behind].after
        nodes[behind].after = node
    else:
        follower = edges[edge].first if edges[edge].count > 0 else NONE
        edges[edge].first = node
    if follower != NONE:
        nodes[follower].before = node
    else:
        edges[edge].last = node
    nodes[node].before, nodes[node].after = behind, follower
    edges[edge].count += 1


@lean
def drop_first(edges: Records, nodes: Records, free: Ints, edge: int) -> None:
    """Take the first tuple out of a queue."""
    node = edges[edge].first
    edges[edge].first = nodes[node].after
    if nodes[node].after != NONE:
        nodes[nodes[node].after].before = NONE
    release(nodes, free, node)
    edges[edge].count -= 1


@lean
def keep(edges: Records, nodes: Records, node: int, edge: int) -> None:
    """Add a tuple to what a window join keeps of an input."""
    nodes[node].after = NONE
    if edges[edge].kept > 0:
        nodes[edges[edge].kept_last].after = node
    else:
        edges[edge].kept_first = node
    edges[edge].kept_last = node
    edges[edge].kept += 1


@lean
def forget_first(edges: Records, nodes: Records, free: Ints, edge: int) -> None:
    """Take the first tuple out of what a window join keeps of an input."""
    node = edges[edge].kept_first
    edges[edge].kept_first = nodes[node].after
    release(nodes, free, node)
    edges[edge].kept -= 1


@lean
def release(nodes: Records, free: Ints, node: int) -> None:
    """Free the place of a tuple."""
    nodes[node].after = free[FREE]
    free[FREE] = node
    free[FREE_COUNT] += 1
