"""Ages of waiting tuples, by queue."""

from penstock.simulator.compiled.compile import lean
from penstock.simulator.compiled.records import NONE, Floats, Ints, Records

TUPLES, AGES, OLDEST, SQUARES = range(4)
"""Columns: how many wait, the sum of their ages, the greatest, the sum of squares."""


@lean
def measure(
    edges: Records, streams: Records, nodes: Records, numbers: Ints, time: Floats, now: float, out: Floats
) -> None:
    """Write the length and the ages of every queue to its row of `out`."""
    out[:] = 0.0
    for edge in range(len(edges)):
        stream = edges[edge].stream
        count = edges[edge].count
        if stream != NONE:
            count = streams[stream].admitted - edges[edge].cursor
        node = edges[edge].first
        for place in range(count):
            if stream != NONE:
                number = numbers[streams[stream].start + edges[edge].cursor + place]
            else:
                number = nodes[node].number
                node = nodes[node].after
            age = max(now - time[number], 0.0)
            out[edge, TUPLES] += 1
            out[edge, AGES] += age
            out[edge, OLDEST] = max(out[edge, OLDEST], age)
            out[edge, SQUARES] += age * age
