"""The network as arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.errors import NetworkError
from penstock.network import Edge, Network, Operator
from penstock.simulator.attributes import Attributes
from penstock.simulator.compiled import records
from penstock.simulator.compiled.bundles import NetworkArrays
from penstock.simulator.compiled.fates import salts
from penstock.simulator.compiled.records import NOBODY, NONE, Ints
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.layout.lists import Lists, floats_of, ints_of, records_of
from penstock.simulator.layout.windows import WindowLayout


class Wiring:
    """The network as arrays; queues and windows are empty."""

    def __init__(
        self, net: Network, feed: Feed, lists: Lists, seed: int, blocking: bool, attributes: Attributes | None
    ) -> None:
        self.net = net
        self.edge = {edge: place for place, edge in enumerate(net.edges)}
        self.operator = {operator.name: place for place, operator in enumerate(net.operators)}
        self.stream = {stream.name: place for place, stream in enumerate(net.streams)}
        self.blocking = {edge for edge in net.edges if blocking and net.operator_by_name[edge.target].windows}
        self.blocked = ints_of(self.edge[edge] for edge in self.blocking)
        self.ideal = floats_of(net.T(query.name) for query in net.queries)
        streams = [self._stream(place, feed, lists) for place in range(len(net.streams))]
        self.streams = records_of(records.STREAM, [*streams, {}, {}] if net.panes else streams)
        self.edges = records_of(records.EDGE, (self._edge(edge, lists) for edge in net.edges))
        predicates = attributes.predicates if attributes else {}
        operators = (self._operator(operator.name, lists, predicates) for operator in net.operators)
        self.operators = records_of(records.OPERATOR, operators)
        self.operators["salt"] = salts(seed, len(net.operators))
        self._check_joins()
        self.windows = WindowLayout(net, feed, self.edge, self.operator, self.stream, self.operators["salt"])

    def arrays(self, lists: Ints) -> NetworkArrays:
        """Return the arrays for compiled code."""
        return NetworkArrays(self.streams, self.edges, self.operators, self.ideal, self.blocked, lists)

    def _stream(self, place: int, feed: Feed, lists: Lists) -> dict[str, Any]:
        stream = self.net.streams[place]
        leaves = self.net.out_edges.get(stream.name, ())
        leaf_from, leaf_to = lists.add(self.edge[edge] for edge in leaves)
        start, end = feed.start[place : place + 2]
        return {
            "memory": stream.size * len(leaves),
            "start": start,
            "total": end - start,
            "leaf_from": leaf_from,
            "leaf_to": leaf_to,
        }

    def _edge(self, edge: Edge, lists: Lists) -> dict[str, Any]:
        net, operator = self.net, self.net.operator_by_name[edge.target]
        found = {
            "cost": operator.costs[edge.port],
            "size": 0 if operator.series else net.sizes[edge.source],
            "operator": self.operator[edge.target],
            "stream": self.stream.get(edge.source, NONE),
            "range": np.inf,
            "rows": NOBODY,
            "other": NONE,
            "blocking": edge in self.blocking,
        }
        if not operator.windows:
            return found
        if len(operator.inputs) != 2:
            raise NetworkError(
                f"the simulator joins two inputs at a time, and {operator.name!r} has {len(operator.inputs)}: "
                "write it as a tree of joins"
            )
        if operator.selectivity > 1:
            raise NetworkError(
                f"the selectivity of the window join {operator.name!r} is the share of pairs that match: at most "
                f"1, not {operator.selectivity}"
            )
        window = operator.windows[edge.port]
        if window.kind == "rows" and window.size != int(window.size):
            raise NetworkError(f"a window of join {operator.name!r} holds whole rows, not {window.size}")
        up_from, up_to = lists.add(self._below(edge))
        kind = {"range": window.size} if window.kind == "range" else {"rows": int(window.size)}
        other = self.edge[net.in_edges[edge.target][1 - edge.port]]
        return found | kind | {"other": other, "up_from": up_from, "up_to": up_to}

    def _below(self, edge: Edge) -> list[int]:
        """The queues upstream of a queue, itself included."""
        reached = [edge]
        for here in reached:
            reached.extend(below for below in self.net.in_edges.get(here.source, ()) if below not in reached)
        return [self.edge[here] for here in reached]

    def _operator(self, name: str, lists: Lists, predicates: Mapping[str, Any]) -> dict[str, Any]:
        operator = self.net.operator_by_name[name]
        result_from, result_to = lists.add(self.net.query_place[q] for q in self.net.queries_at.get(name, ()))
        return {
            "selectivity": operator.selectivity,
            "estimate": operator.selectivity,
            "low": predicates[name].low if name in predicates else 0.0,
            "column": predicates[name].column if name in predicates else NONE,
            "kind": self._kind(operator),
            "result_from": result_from,
            "result_to": result_to,
        }

    def _kind(self, operator: Operator) -> int:
        if operator.name in self.net.panes:
            return records.AGGREGATE
        if operator.series:
            return records.CLOSE
        if operator.windows:
            return records.JOIN
        return records.FILTER if operator.selectivity <= 1 else records.COPIES

    def _check_joins(self) -> None:
        """Raise if a window join is above an aggregate: it does not know which results may still come."""
        above: set[str] = set()
        for operator in self.net.operators:
            if operator.series or any(source in above for source in operator.inputs):
                above.add(operator.name)
                if operator.windows:
                    raise NetworkError(
                        f"the simulator does not join results of windows yet, and {operator.name!r} is a window "
                        "join above an aggregate"
                    )
