"""Merging the parts of a new query with those of a network."""

from collections.abc import Iterable

from penstock.errors import NetworkError
from penstock.network.operator import Operator, Stream


def merged_operators(here: tuple[Operator, ...], new: Iterable[Operator]) -> tuple[Operator, ...]:
    """Return all operators; raise if two of one name differ in more than their measures."""
    known = {operator.name: operator for operator in here}
    for operator in new:
        if known.setdefault(operator.name, operator).identity != operator.identity:
            raise NetworkError(f"operator {operator.name!r} already exists and differs from the new one")
    return tuple(known.values())


def merged_streams(here: tuple[Stream, ...], new: Iterable[Stream]) -> tuple[Stream, ...]:
    """Return all streams; an existing one keeps its rate, which may have been measured, unless it has none."""
    known = {stream.name: stream for stream in here}
    for stream in new:
        old = known.setdefault(stream.name, stream)
        if old.size != stream.size:
            raise NetworkError(f"stream {stream.name!r} already exists, with tuples of another size")
        if old.rate is None:
            known[stream.name] = stream
    return tuple(known.values())
