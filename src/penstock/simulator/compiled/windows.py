"""Aggregates over windows: tuples leave partial rows in panes, and windows close when nothing can come to them.

A partial row is a node of the pool, in the list of its pane and in a hash table: its number is that of the group,
its identity that of the pane. A closed window waits as a tuple whose number is that of its end, and whose identity
is one more than its index.
"""

import numpy as np

from penstock.simulator.compiled.bundles import ArrivalArrays, Simulation, WindowArrays
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import OTHER, STEP, mixed, pair
from penstock.simulator.compiled.places import ARRIVED, FREE_COUNT, POOL
from penstock.simulator.compiled.queues import grown, head_of, put, release, taken
from penstock.simulator.compiled.records import NOBODY, NONE, Ints, Records
from penstock.simulator.compiled.serving import tell_servers


@lean
def pane_of(windows: WindowArrays, arrivals: ArrivalArrays, streams: Records, which: int, number: int) -> int:
    """Return the pane of a tuple at an aggregate, by its position in the stream or by its time."""
    aggregate = windows.aggregates[which]
    if aggregate.rows_a_pane > 0:
        start = streams[aggregate.stream].start
        low, high = start, start + streams[aggregate.stream].admitted
        while high - low > 1:
            middle = (low + high) // 2
            if arrivals.numbers[middle] <= number:
                low = middle
            else:
                high = middle
        return aggregate.pane_from + (low - start) // aggregate.rows_a_pane
    low, high = aggregate.pane_from, aggregate.pane_to
    while high - low > 1:
        middle = (low + high) // 2
        if windows.panes[middle].start <= arrivals.time[number]:
            low = middle
        else:
            high = middle
    return low


@lean
def bucket_of(windows: WindowArrays, pane: int, group: int) -> int:
    """Return the place of a partial row in the hash table."""
    return int(mixed(np.uint64(group) * STEP + np.uint64(pane) * OTHER) & np.uint64(len(windows.buckets) - 1))


@compiled
def sum_up(
    windows: WindowArrays, arrivals: ArrivalArrays, streams: Records, nodes: Records, ints: Ints, which: int,
    number: int, identity: np.uint64,
) -> int:  # fmt: skip
    """Let a tuple leave its partial row; return 1 if there was none of its pane and group, 0 otherwise."""
    panes, buckets = windows.panes, windows.buckets
    pane = pane_of(windows, arrivals, streams, which, number)
    if panes[pane].open == 0:
        return 0
    groups = np.uint64(windows.aggregates[which].groups)
    group = int(mixed(identity * STEP + windows.aggregates[which].salt) % groups)
    bucket = bucket_of(windows, pane, group)
    node = buckets[bucket]
    while node != NONE:
        if nodes[node].number == group and nodes[node].identity == np.uint64(pane):
            return 0
        node = nodes[node].before
    node = taken(nodes, ints, group, 0.0, np.uint64(pane))
    nodes[node].before, nodes[node].after = buckets[bucket], panes[pane].first
    buckets[bucket] = panes[pane].first = node
    panes[pane].rows += 1
    return 1


@lean
def panes_in(windows: WindowArrays, which: int, window: int) -> tuple[int, int]:
    """Return the places of the panes of a window: the first, and the one after the last."""
    close = windows.closes[which]
    aggregate = windows.aggregates[close.aggregate]
    first = aggregate.pane_from + window * close.slide - aggregate.first_pane
    return max(first, aggregate.pane_from), min(first + close.size, aggregate.pane_to)


@lean
def rows_in(windows: WindowArrays, which: int, window: int) -> int:
    """Return how many partial rows a window merges."""
    first, last = panes_in(windows, which, window)
    rows = 0
    for pane in range(first, last):
        rows += windows.panes[pane].rows
    return rows


@compiled
def merge(
    windows: WindowArrays, nodes: Records, out: Records, which: int, number: int, alone: float, identity: np.uint64
) -> int:
    """Write a result for every group in a window to `out`, in the order of groups; return how many."""
    window = int(identity) - 1
    first, last = panes_in(windows, which, window)
    groups = np.empty(rows_in(windows, which, window), np.int64)
    rows = 0
    for pane in range(first, last):
        node = windows.panes[pane].first
        while node != NONE:
            groups[rows] = nodes[node].number
            rows += 1
            node = nodes[node].after
    groups.sort()
    made = 0
    for place in range(rows):
        if place == 0 or groups[place] != groups[place - 1]:
            out[made].number, out[made].alone = number, alone
            out[made].identity = pair(identity, windows.closes[which].salt + np.uint64(groups[place]))
            made += 1
    return made


@compiled
def finish(windows: WindowArrays, nodes: Records, ints: Ints, which: int, window: int) -> int:
    """Forget a window, and the partial rows that no other needs; return how many those are."""
    first, last = panes_in(windows, which, window)
    panes, freed = windows.panes, 0
    for pane in range(first, last):
        panes[pane].open -= 1
        if panes[pane].open == 0:
            freed += panes[pane].rows
            forget_rows(windows, nodes, ints, pane)
    return freed


@lean
def forget_rows(windows: WindowArrays, nodes: Records, ints: Ints, pane: int) -> None:
    """Free the partial rows of a pane."""
    panes, buckets = windows.panes, windows.buckets
    node = panes[pane].first
    while node != NONE:
        following = nodes[node].after
        bucket = bucket_of(windows, pane, nodes[node].number)
        if buckets[bucket] == node:
            buckets[bucket] = nodes[node].before
        else:
            ahead = buckets[bucket]
            while nodes[ahead].before != node:
                ahead = nodes[ahead].before
            nodes[ahead].before = nodes[node].before
        release(nodes, ints, node)
        node = following
    panes[pane].first, panes[pane].rows = NONE, 0


@lean
def end_of(windows: WindowArrays, arrivals: ArrivalArrays, streams: Records, which: int) -> int:
    """Return the number of the end of the next window: of the last row or of the moment; NOBODY if not known."""
    close = windows.closes[which]
    if close.rows > 0:
        stream = windows.aggregates[close.aggregate].stream
        place = (close.next * close.slide + close.size) * close.rows - 1
        known = place < streams[stream].admitted
        return arrivals.numbers[streams[stream].start + place] if known else NOBODY
    return windows.ends[close.end_from + close.next] if close.next < close.last else NOBODY


@lean
def due(sim: Simulation, nodes: Records, which: int) -> int:
    """Return the number under which the next window of a close closes, or NONE if it is not time.

    It closes when its end has passed, and nothing that arrived before its end waits in a queue below. Windows
    below that ended before have closed already, and wait there too.
    """
    windows, edges, streams, numbers = sim.windows, sim.network.edges, sim.network.streams, sim.arrivals.numbers
    close = windows.closes[which]
    number = end_of(windows, sim.arrivals, streams, which)
    if number >= sim.state.ints[ARRIVED]:
        return NONE
    least = number + 1 if close.rows > 0 else number
    for place in range(close.up_from, close.up_to):
        if head_of(edges, streams, numbers, nodes, windows.lists[place]) < least:
            return NONE
    return number


@compiled
def close_windows(sim: Simulation, buffers: list[Records], which: int) -> None:
    """Close the windows of one close that are due: each waits in the queue, unless it is empty."""
    windows, network, ints = sim.windows, sim.network, sim.state.ints
    closes = windows.closes
    edge = closes[which].edge
    while True:
        if ints[FREE_COUNT] == 0:
            buffers[POOL] = grown(buffers[POOL], ints)
        nodes = buffers[POOL]
        number = due(sim, nodes, which)
        if number == NONE:
            return
        window = closes[which].next
        closes[which].next += 1
        if rows_in(windows, which, window) == 0:
            finish(windows, nodes, ints, which, window)
            continue
        identity = np.uint64(window + 1)
        put(network.edges, nodes, taken(nodes, ints, number, 0.0, identity), edge)
        tell_servers(network, sim.arrivals.values, sim.plan, ints, edge, number, identity, 1.0)


@compiled
def close_all(sim: Simulation, buffers: list[Records]) -> None:
    """Close every window that is due, from below."""
    for which in range(len(sim.windows.closes)):
        close_windows(sim, buffers, which)


@compiled
def close_above(sim: Simulation, buffers: list[Records], edge: int) -> None:
    """Close the windows that are due because a tuple was served from a queue, from below."""
    windows = sim.windows
    for place in range(windows.over_from[edge], windows.over_from[edge + 1]):
        close_windows(sim, buffers, windows.over[place])
