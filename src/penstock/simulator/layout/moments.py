"""The moments at which windows of time end, in a simulation."""

from typing import NamedTuple

import numpy as np

from penstock.network import Network, Panes
from penstock.simulator.compiled.records import Floats, Ints

AT_END, ARRIVAL, FINAL = 0, 1, 2
"""The order of what happens at one time: windows end, tuples arrive; when the last has arrived, the rest end."""


class Span(NamedTuple):
    """The panes and windows of a simulation, for one close: from `first` to below `last`."""

    first_pane: int
    last_pane: int
    first: int
    last: int


class WindowEnds(NamedTuple):
    """When the windows of one close end. Those cut off at the last arrival have a rank of FINAL or more."""

    time: Floats
    rank: Ints


class Moments(NamedTuple):
    """The ends of all windows of time, each moment once, in order; and for each close the places of its own."""

    time: Floats
    rank: Ints
    places: dict[str, Ints]


def pane_starts(panes: Panes, first: int, last: int) -> Floats:
    """Return when the panes from `first` to below `last` begin, each as the nearest float."""
    size = panes.size
    if max(last * size.numerator, size.denominator) < 2**53:
        return np.arange(first, last) * size.numerator / size.denominator
    return np.array([float(pane * size) for pane in range(first, last)])


def pane_at(panes: Panes, time: float) -> int:
    """Return the pane of a time: a pane begins at its start and ends before that of the next."""
    guess = int(time // float(panes.size))
    while float(guess * panes.size) > time:
        guess -= 1
    while float((guess + 1) * panes.size) <= time:
        guess += 1
    return guess


def span_of(panes: Panes, reader: str, start: float, end: float) -> Span:
    """Return the panes and windows of time that hold what arrives from `start` to `end`, at both included."""
    first_pane, last_pane = pane_at(panes, start), pane_at(panes, end) + 1
    size, slide = panes.per_window(reader)
    return Span(first_pane, last_pane, max(0, (first_pane - size) // slide + 1), (last_pane - 1) // slide + 1)


def window_ends(net: Network, start: float, end: float) -> dict[str, WindowEnds]:
    """Return the ends of the windows of time of every close."""
    found: dict[str, WindowEnds] = {}
    depth = depths(net)
    for panes in net.panes.values():
        for reader in panes.readers if panes.kind == "range" else ():
            size, slide = panes.per_window(reader)
            span = span_of(panes, reader, start, end)
            starts = pane_starts(panes, span.first * slide, (span.last - 1) * slide + size + 1)
            time = starts[size::slide][: span.last - span.first]
            late = time > end
            found[reader] = WindowEnds(np.minimum(time, end), np.where(late, FINAL + depth[reader], AT_END))
    return found


def depths(net: Network) -> dict[str, int]:
    """Return how many closes are below each close: at the end of a run, windows end from below."""
    below = dict.fromkeys(net.stream_by_name, 0)
    found = {}
    for operator in net.operators:
        depth = max(below[source] for source in operator.inputs)
        if operator.series is not None:
            found[operator.name] = depth
        below[operator.name] = depth + (operator.series is not None)
    return found


def moments_of(net: Network, start: float, end: float) -> Moments:
    """Return the ends of all windows of time of a simulation."""
    ends = window_ends(net, start, end)
    if not any(len(each.time) for each in ends.values()):
        return Moments(np.empty(0), np.empty(0, np.int64), dict.fromkeys(ends, np.empty(0, np.int64)))
    pairs = np.concatenate([np.stack([each.time, each.rank], axis=1) for each in ends.values()])
    unique, places = np.unique(pairs, axis=0, return_inverse=True)
    cuts = np.cumsum([len(each.time) for each in ends.values()])[:-1]
    own = np.split(places.ravel(), cuts)
    return Moments(unique[:, 0], unique[:, 1].astype(np.int64), dict(zip(ends, own, strict=True)))


def room_for_windows(net: Network, start: float, end: float, tuples: int) -> int:
    """Return approximately how many bytes the panes and windows of a simulation take."""
    parts = 0.0
    for panes in net.panes.values():
        long = tuples if panes.kind == "rows" else end - start
        parts += long / float(panes.size)
        parts += sum(long / float(window.slide) for window in panes.readers.values())
    return int(parts * 100)
