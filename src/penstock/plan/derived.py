"""Derived streams of a plan: which streams a query reads, directly and below them, and where these begin."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.language.derived import derived_streams
from penstock.language.statements import QueryDef, StreamDef


@dataclass(frozen=True)
class Starts:
    """Where a query that begins during a run, and the derived streams that begin with it, see the first row.

    A derived stream that others read already goes on.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    """The first sequence number, by stream."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """The earliest beginning of a window of aggregates, by branch of a derived stream."""


def derived_below(query: QueryDef) -> Iterator[StreamDef]:
    """Yield the derived streams that a query reads, each after those that it reads itself."""
    return derived_streams(item.relation for item in query.streams)


def sources_of(query: QueryDef) -> list[str]:
    """Return the streams with rows from outside that a query reads, directly or through derived streams."""
    items = (item for each in queries_below([query]) for item in each.streams)
    found = (item.relation for item in items if isinstance(item.relation, StreamDef))
    return list(dict.fromkeys(stream.name for stream in found if not stream.is_derived))


def queries_below(queries: Iterable[QueryDef]) -> Iterator[QueryDef]:
    """Yield the branches of the derived streams that queries read, each before its readers, and the queries."""
    every = list(queries)
    for stream in derived_streams(item.relation for query in every for item in query.streams):
        yield from stream.branches
    yield from every
