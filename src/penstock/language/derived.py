"""Derived streams: those that queries read, and who reads a stream."""

from collections.abc import Iterable, Iterator

from penstock.language.names import name_key
from penstock.language.statements import QueryDef, Relation, StreamDef


def is_anonymous(stream: StreamDef) -> bool:
    """Return whether a stream is that of a subquery, a name of WITH or a UNION: no script can name it."""
    return not stream.name.replace("_", "a").isalnum()


def derived_streams(relations: Iterable[Relation]) -> Iterator[StreamDef]:
    """Yield the derived streams among the relations and those below them, each once and before its readers."""
    seen: set[str] = set()
    pending = [(each, False) for each in reversed(list(relations))]
    while pending:
        stream, is_expanded = pending.pop()
        if not isinstance(stream, StreamDef) or not stream.is_derived:
            continue
        if is_expanded:
            yield stream
        elif name_key(stream.name) not in seen:
            seen.add(name_key(stream.name))
            pending.append((stream, True))
            pending += [(each, False) for each in reversed(list(read_by(stream.branches)))]


def read_by(queries: Iterable[QueryDef]) -> Iterator[Relation]:
    """Yield the streams in FROM of the queries."""
    return (item.relation for query in queries for item in query.streams)


def reads(queries: Iterable[QueryDef], name: str) -> bool:
    """Return whether the queries, or their subqueries, read the stream of that name."""
    pending = list(read_by(queries))
    seen: set[str] = set()
    while pending:
        stream = pending.pop()
        if name_key(stream.name) == name_key(name):
            return True
        if isinstance(stream, StreamDef) and is_anonymous(stream) and stream.name not in seen:
            seen.add(stream.name)
            pending += read_by(stream.branches)
    return False
