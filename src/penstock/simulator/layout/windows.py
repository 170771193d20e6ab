"""Aggregates over windows as arrays: their panes, and the windows that each close has."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from penstock.network import Edge, Network, Panes
from penstock.simulator.compiled import records
from penstock.simulator.compiled.bundles import WindowArrays
from penstock.simulator.compiled.records import NONE, Floats, Ints, Records, Words
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.layout.lists import ints_of, records_of
from penstock.simulator.layout.moments import depths, pane_starts, span_of

FEWEST_BUCKETS, MOST_BUCKETS = 64, 1 << 20


class WindowLayout:
    """The aggregates of a network, without any partial rows; `edge`, `operator`, `stream` are places by name."""

    def __init__(
        self, net: Network, feed: Feed, edge: Mapping[Edge, int], operator: Mapping[str, int],
        stream: Mapping[str, int], salts: Words,
    ) -> None:  # fmt: skip
        self._net, self._feed = net, feed
        self._edge, self._stream = edge, stream
        self.clock = feed.clock
        self._lists: list[int] = []
        panes: list[Records] = []
        aggregates: list[dict[str, Any]] = []
        closes: list[dict[str, Any]] = []
        self._of_operator = np.full(len(net.operators), NONE, np.int64)
        self._ends: list[Ints] = []
        place: dict[str, int] = {}
        for name, each in net.panes.items():
            place[name] = len(aggregates)
            before = sum(map(len, panes))
            made, row = self._aggregate(name, each)
            panes.append(made)
            aggregates.append(
                row | {"pane_from": before, "pane_to": before + len(made), "salt": salts[operator[name]]}
            )
            self._of_operator[operator[name]] = place[name]
        over: list[list[int]] = [[] for _ in net.edges]
        for name in depths(net):
            self._of_operator[operator[name]] = len(closes)
            row = self._close(name, place) | {"salt": salts[operator[name]]}
            for below in self._lists[row["up_from"] : row["up_to"]]:
                over[below].append(len(closes))
            closes.append(row)
        self.aggregates = records_of(records.AGGREGATE_STATE, aggregates)
        self.closes = records_of(records.CLOSE_STATE, closes)
        self.panes = np.concatenate([np.zeros(0, records.PANE), *panes])
        self._over_from = np.cumsum([0, *map(len, over)], dtype=np.int64)
        self._over = ints_of(n for some in over for n in some)
        buckets = FEWEST_BUCKETS
        while buckets < min(len(feed.time), MOST_BUCKETS) and len(aggregates):
            buckets *= 2
        self._buckets = np.full(buckets, NONE, np.int64)

    @cached_property
    def arrays(self) -> WindowArrays:
        """The arrays for compiled code."""
        ends = np.concatenate([np.zeros(0, np.int64), *self._ends])
        return WindowArrays(
            self.aggregates, self.closes, self.panes, ends, self._buckets, self._of_operator, ints_of(self._lists),
            self._over_from, self._over, self._feed.identities, self.clock,
        )  # fmt: skip

    @property
    def memory(self) -> Floats:
        """The memory of the partial rows that wait to be merged, by queue; shared ones count for the first."""
        found = np.zeros(len(self._edge))
        for aggregate, row in zip(self._net.panes, self.aggregates, strict=True):
            held = self.panes["rows"][row["pane_from"] : row["pane_to"]].sum()
            found[self._edge[self._net.out_edges[aggregate][0]]] = held * row["size"]
        return found

    def _aggregate(self, name: str, panes: Panes) -> tuple[Records, dict[str, Any]]:
        """Return the panes of an aggregate, and its record."""
        below = [self._net.in_edges[name][0]]
        while below[-1].source not in self._stream:
            below.append(self._net.in_edges[below[-1].source][0])
        stream = self._stream[below[-1].source]
        first = 0
        if panes.kind == "range":
            span = span_of(panes, next(iter(panes.readers)), *self._feed.span)
            first, last = span.first_pane, span.last_pane
            starts = pane_starts(panes, first, last)
        else:
            last = int(np.diff(self._feed.start)[stream]) // int(panes.size) + 1
            starts = np.zeros(last)
        made = np.zeros(last - first, records.PANE)
        made["start"], made["first"] = starts, NONE
        places = np.arange(first, last)
        for reader in panes.readers:
            size, slide = panes.per_window(reader)
            made["open"] += places // slide - np.maximum((places - size) // slide + 1, 0) + 1
        return made, {
            "size": self._net.sizes[name],
            "first_pane": first,
            "rows_a_pane": int(panes.size) if panes.kind == "rows" else 0,
            "stream": stream,
            "groups": self._net.operator_by_name[name].groups or 1,
        }

    def _close(self, name: str, place: Mapping[str, int]) -> dict[str, Any]:
        """Return the record of a close."""
        net = self._net
        (edge,) = net.in_edges[name]
        panes = net.panes[edge.source]
        size, slide = panes.per_window(name)
        reached = [*net.in_edges[edge.source]]
        for here in reached:
            reached.extend(below for below in net.in_edges.get(here.source, ()) if below not in reached)
        found = {"edge": self._edge[edge], "aggregate": place[edge.source], "size": size, "slide": slide}
        if panes.kind == "range":
            span = span_of(panes, name, *self._feed.span)
            found |= {"next": span.first, "last": span.last}
            found["end_from"] = sum(map(len, self._ends)) - span.first
            self._ends.append(self._feed.moments[self._feed.ends[name]])
        else:
            found |= {"rows": int(panes.size), "last": records.NOBODY}
        start = len(self._lists)
        self._lists += [self._edge[here] for here in reached]
        return found | {"up_from": start, "up_to": len(self._lists)}
