"""Window joins: matching a tuple, and keeping it as long as another may match it."""

import numpy as np

from penstock.simulator.compiled.bundles import NetworkArrays
from penstock.simulator.compiled.compile import compiled, lean
from penstock.simulator.compiled.fates import chance, pair
from penstock.simulator.compiled.queues import forget_first, still_to_come
from penstock.simulator.compiled.records import Floats, Ints, Records


@compiled
def joined(
    network: NetworkArrays, nodes: Records, time: Floats, out: Records, edge: int, number: int, alone: float,
    identity: np.uint64,
) -> int:  # fmt: skip
    """Match a tuple with what a window join keeps of its other input; write the matches to `out`, return how many.

    Alone on the processor, the later of two would wait at most until the earlier one is done (SCLP08 §5.1.2).
    """
    edges, operators = network.edges, network.operators
    other, operator = edges[edge].other, edges[edge].operator
    salt, share = operators[operator].salt, operators[operator].selectivity
    made = 0
    node = edges[other].kept_first
    for _ in range(edges[other].kept):
        theirs = nodes[node].number
        gap = time[number] - time[theirs]
        is_last = number >= theirs
        if (gap <= edges[other].range) if is_last else (-gap <= edges[edge].range):
            first, second = identity, nodes[node].identity
            both = pair(first, second) if edge < other else pair(second, first)
            if chance(both, salt) < share:
                if is_last:
                    behind = nodes[node].alone - gap
                    out[made].alone = max(0.0, behind) + alone
                else:
                    behind = alone + gap
                    out[made].alone = max(0.0, behind) + nodes[node].alone
                out[made].number, out[made].identity = max(number, theirs), both
                made += 1
        node = nodes[node].after
    return made


@lean
def forget_old(network: NetworkArrays, numbers: Ints, nodes: Records, time: Floats, free: Ints, edge: int) -> None:
    """Drop tuples that a window join need not keep: beyond its rows, or too old for all that may still come."""
    edges = network.edges
    watermark = still_to_come(edges, network.streams, numbers, nodes, network.lists, time, edges[edge].other)
    while edges[edge].kept > edges[edge].rows or (
        edges[edge].kept > 0 and watermark - time[nodes[edges[edge].kept_first].number] > edges[edge].range
    ):
        forget_first(edges, nodes, free, edge)
