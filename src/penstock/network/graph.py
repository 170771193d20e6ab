"""The graph of a network: queues, roots of queries, and every path from a stream to a root."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

from penstock.errors import NetworkError, nearest
from penstock.network.checks import check_parts, dependency_order
from penstock.network.operator import Edge, Operator, Query, Stream, listed

Part = TypeVar("Part")

SHAPE = ("query_place", "edges", "out_edges", "in_edges", "queries_at", "suffixes", "paths", "users")
"""Cached properties that depend on names alone, not on measures."""


@dataclass(frozen=True)
class Path:
    """The queues that a tuple passes for one query, from a stream or a queue inside the network to the root."""

    query: str
    edges: tuple[Edge, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators along the path, bottom to top."""
        return tuple(edge.target for edge in self.edges)

    @property
    def source(self) -> str:
        """The start of the path: a stream, or the operator below its first queue."""
        return self.edges[0].source

    def __str__(self) -> str:
        return f"{self.query}: {' → '.join((self.source, *self.operators))}"


@dataclass(frozen=True)
class Graph:
    """Streams, operators and queries; immutable, and checked as a whole when built.

    Operators are ordered so that every input comes before its user. Ids of queues and units follow this order, so
    ties break the same way on every machine.
    """

    streams: tuple[Stream, ...] = ()
    operators: tuple[Operator, ...] = ()
    queries: tuple[Query, ...] = ()

    def __post_init__(self) -> None:
        for part in ("streams", "operators", "queries"):
            object.__setattr__(self, part, listed(getattr(self, part), f"the {part} of a network"))
        check_parts(self.streams, self.operators, self.queries)
        object.__setattr__(self, "operators", dependency_order(self.streams, self.operators, self.queries))

    def with_parts(
        self, streams: Iterable[Stream], operators: Iterable[Operator], queries: Iterable[Query]
    ) -> Self:
        """Return the same graph with other measures; cached properties of the graph are kept."""
        other = type(self)(tuple(streams), tuple(operators), tuple(queries))
        other.__dict__.update({name: self.__dict__[name] for name in SHAPE if name in self.__dict__})
        return other

    @cached_property
    def stream_by_name(self) -> Mapping[str, Stream]:
        """Every stream by its name."""
        return {stream.name: stream for stream in self.streams}

    @cached_property
    def operator_by_name(self) -> Mapping[str, Operator]:
        """Every operator by its name."""
        return {operator.name: operator for operator in self.operators}

    @cached_property
    def query_by_name(self) -> Mapping[str, Query]:
        """Every query by its name."""
        return {query.name: query for query in self.queries}

    @cached_property
    def query_place(self) -> Mapping[str, int]:
        """The index of each query."""
        return {query.name: index for index, query in enumerate(self.queries)}

    def operator(self, name: str) -> Operator:
        """Return the operator named `name`."""
        return _found(self.operator_by_name, name, "operator")

    def stream(self, name: str) -> Stream:
        """Return the stream named `name`."""
        return _found(self.stream_by_name, name, "stream")

    def query(self, name: str) -> Query:
        """Return the query named `name`."""
        return _found(self.query_by_name, name, "query")

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every queue, in the order of the operators it feeds."""
        return tuple(
            Edge(source, operator.name, port)
            for operator in self.operators
            for port, source in enumerate(operator.inputs)
        )

    @cached_property
    def out_edges(self) -> Mapping[str, tuple[Edge, ...]]:
        """The queues that a stream or an operator fills; each gets its own copy of every tuple."""
        return _grouped((edge.source, edge) for edge in self.edges)

    @cached_property
    def in_edges(self) -> Mapping[str, tuple[Edge, ...]]:
        """The queues that feed an operator, in the order of its inputs."""
        return _grouped((edge.target, edge) for edge in self.edges)

    def is_barrier(self, edge: Edge) -> bool:
        """Whether no run passes a queue: windows wait there until they close, or rows until earlier ones came."""
        return self.operator_by_name[edge.target].kind in ("close", "order")

    @cached_property
    def queries_at(self) -> Mapping[str, tuple[str, ...]]:
        """The queries whose result is the output of an operator."""
        return _grouped((query.root, query.name) for query in self.queries)

    @cached_property
    def suffixes(self) -> Mapping[Edge, tuple[Path, ...]]:
        """All paths from every queue to a root: one per query, more where a query is reached twice."""
        found: dict[Edge, tuple[Path, ...]] = {}
        for edge in reversed(self.edges):
            ends = [Path(query, (edge,)) for query in self.queries_at.get(edge.target, ())]
            longer = [
                Path(path.query, (edge, *path.edges))
                for following in self.out_edges.get(edge.target, ())
                for path in found[following]
            ]
            found[edge] = (*ends, *longer)
        return found

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Every path from a stream to a root, in the order of the queries."""
        leaves = [edge for edge in self.edges if edge.source in self.stream_by_name]
        whole = [path for edge in leaves for path in self.suffixes[edge]]
        return tuple(sorted(whole, key=lambda path: self.query_place[path.query]))

    def paths_of(self, query: str) -> tuple[Path, ...]:
        """Return the paths of one query, one for each stream occurrence in it."""
        name = self.query(query).name
        return tuple(path for path in self.paths if path.query == name)

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """The queries that use each operator: JC03's count field is the length of this."""
        using: dict[str, dict[str, None]] = defaultdict(dict)
        for query in self.queries:
            reached = [query.root]
            while reached:
                name = reached.pop()
                if name in self.operator_by_name and query.name not in using[name]:
                    using[name][query.name] = None
                    reached.extend(self.operator_by_name[name].inputs)
        return {name: tuple(queries) for name, queries in using.items()}


def _found(parts: Mapping[str, Part], name: str, what: str) -> Part:
    if not isinstance(name, str) or name not in parts:
        raise NetworkError(f"there is no {what} {name!r} in the network.{nearest(name, parts)}")
    return parts[name]


def _grouped(pairs: Iterable[tuple[str, Part]]) -> Mapping[str, tuple[Part, ...]]:
    groups: dict[str, list[Part]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
