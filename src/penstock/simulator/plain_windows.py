"""Windows of aggregates in the plain reference: their partial rows, and when each window closes."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from penstock.network import Edge, Network, Panes

CLOCK = ""
"""The name of the stream of moments: the ends of windows. No stream of a network has it."""


class Moment(NamedTuple):
    """When a window ends. At one time, windows end first, then tuples arrive; what ends with the run is last."""

    time: float
    rank: int


@dataclass
class PlainClose:
    """The windows that an operator closes: the next one is the first that has not closed."""

    edge: Edge
    panes: Panes
    stream: str
    """Whose tuples windows of rows count."""
    below: list[Edge]
    depth: int
    next: int = 0

    def inside(self, window: int) -> range:
        """Return the panes of a window."""
        size, slide = self.panes.per_window(self.edge.target)
        return range(window * slide, window * slide + size)

    def around(self, pane: int) -> range:
        """Return the windows that a pane is in."""
        size, slide = self.panes.per_window(self.edge.target)
        return range(max(0, (pane - size) // slide + 1), pane // slide + 1)


class PlainWindows:
    """The partial rows and the windows of a run."""

    def __init__(self, net: Network, first: float, last: float) -> None:
        self.net, self.first, self.last = net, first, last
        self.closes: dict[Edge, PlainClose] = {}
        for operator in net.operators:
            if operator.series is not None:
                (edge,) = net.in_edges[operator.name]
                self.closes[edge] = self._close(edge)
        self.rows: dict[str, dict[int, set[int]]] = {name: defaultdict(set) for name in net.panes}
        self.done: set[tuple[Edge, int]] = set()
        self.number: dict[Moment, int] = {}
        self.seen: dict[str, list[int]] = {stream.name: [] for stream in net.streams}
        self.position: dict[int, int] = {}
        self.admitted = 0

    def _close(self, edge: Edge) -> PlainClose:
        below = [*self.net.in_edges[edge.source]]
        for here in below:
            below += [each for each in self.net.in_edges.get(here.source, ()) if each not in below]
        stream = next(each.source for each in below if each.source in self.net.stream_by_name)
        depth = 1 + max((self.closes[each].depth for each in below if each in self.closes), default=0)
        return PlainClose(edge, self.net.panes[edge.source], stream, below, depth)

    # Time ---------------------------------------------------------------------------------------------------

    def moments(self) -> list[Moment]:
        """Return when windows of time end, in order, each moment once."""
        found = set()
        for close in self.closes.values():
            if close.panes.kind == "range":
                window = 0
                while start_of(close.panes.size, close.inside(window).start) <= self.last:
                    if start_of(close.panes.size, close.inside(window).stop) > self.first:
                        found.add(self._end(close, window))
                    else:
                        close.next = window + 1
                    window += 1
        return sorted(found)

    def _end(self, close: PlainClose, window: int) -> Moment:
        """Return when a window of time ends: at the last arrival at the latest."""
        end = start_of(close.panes.size, close.inside(window).stop)
        return Moment(end, 0) if end <= self.last else Moment(self.last, 1 + close.depth)

    def admit(self, stream: str, number: int) -> None:
        """Take notice of a tuple, or of a moment."""
        self.admitted = number + 1
        if stream != CLOCK:
            self.position[number] = len(self.seen[stream])
            self.seen[stream].append(number)

    def pane(self, aggregate: str, number: int, time: float) -> int | None:
        """Return the pane of a tuple, or None if no window has it."""
        panes = self.net.panes[aggregate]
        if panes.kind == "rows":
            pane = int(self.position[number] // panes.size)
        else:
            pane = math.floor(Fraction(time) / panes.size)
            pane += start_of(panes.size, pane + 1) <= time
            pane -= start_of(panes.size, pane) > time
        readers = [self.closes[edge] for edge in self.net.out_edges[aggregate]]
        return pane if any(close.around(pane) for close in readers) else None

    # Windows ------------------------------------------------------------------------------------------------

    def due(self, close: PlainClose, waiting: Mapping[Edge, Sequence[NamedTuple]]) -> int | None:
        """Return the number under which the next window closes, or None if it is not time."""
        number = self._number(close)
        if number is None or number >= self.admitted:
            return None
        least = number + (close.panes.kind == "rows")
        if any(waiting[edge] and waiting[edge][0][0] < least for edge in close.below):
            return None
        return number

    def _number(self, close: PlainClose) -> int | None:
        """Return the number of the next window's end, or None if it is not known yet or there is none."""
        if close.panes.kind == "range":
            last = start_of(close.panes.size, close.inside(close.next).start) > self.last
            return None if last else self.number[self._end(close, close.next)]
        place = int(close.inside(close.next).stop * close.panes.size) - 1
        return self.seen[close.stream][place] if place < len(self.seen[close.stream]) else None

    def content(self, edge: Edge, window: int) -> list[set[int]]:
        """Return the groups in each pane of a window."""
        return [self.rows[edge.source].get(pane, set()) for pane in self.closes[edge].inside(window)]

    def finish(self, edge: Edge, window: int) -> int:
        """Forget a window; return how many partial rows no other window needs."""
        self.done.add((edge, window))
        freed = 0
        readers = [self.closes[each] for each in self.net.out_edges[edge.source]]
        for pane in self.closes[edge].inside(window):
            if all((close.edge, each) in self.done for close in readers for each in close.around(pane)):
                freed += len(self.rows[edge.source].pop(pane, ()))
        return freed


def start_of(size: Fraction, pane: int) -> float:
    """Return when a pane of time begins."""
    return float(pane * size)
