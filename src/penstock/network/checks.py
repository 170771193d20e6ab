"""Checks of a network; every error names the part that is wrong."""

from collections.abc import Collection, Sequence

from penstock.errors import NetworkError, nearest
from penstock.network.operator import Operator, Query, Stream


def check_parts(streams: Sequence[Stream], operators: Sequence[Operator], queries: Sequence[Query]) -> None:
    """Raise if parts have the wrong type, a name is used twice, or a name is unknown."""
    check_types(streams, Stream)
    check_types(operators, Operator)
    check_types(queries, Query)
    names_in_use = [*(stream.name for stream in streams), *(operator.name for operator in operators)]
    check_unique(names_in_use, "stream or operator")
    check_unique([query.name for query in queries], "query")

    names = {operator.name for operator in operators}
    known = names | {stream.name for stream in streams}
    for operator in operators:
        check_inputs(operator, known)
    for query in queries:
        check_root(query, names, known)


def check_inputs(operator: Operator, known: Collection[str]) -> None:
    """Raise if `operator` reads an unknown stream or operator."""
    for source in operator.inputs:
        if source not in known:
            raise NetworkError(
                f"operator {operator.name!r} reads {source!r}, which is neither a stream nor an operator."
                f"{nearest(source, known)}"
            )


def check_root(query: Query, operators: Collection[str], known: Collection[str]) -> None:
    """Raise if the root of `query` is not an operator."""
    if query.root in operators:
        return
    if query.root in known:
        raise NetworkError(f"query {query.name!r} is empty: its root {query.root!r} is a stream, not an operator")
    raise NetworkError(
        f"the root of query {query.name!r}, {query.root!r}, is not an operator.{nearest(query.root, operators)}"
    )


def check_types(parts: Sequence[object], kind: type) -> None:
    """Raise if one of `parts` is not of this type."""
    for part in parts:
        if not isinstance(part, kind):
            raise NetworkError(f"{part!r} is not of type {kind.__name__}")


def check_unique(names: Sequence[str], what: str) -> None:
    """Raise if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise NetworkError(f"more than one {what} is named {name!r}")
        seen.add(name)


def bottom_up(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """Return the operators with inputs before users, otherwise as given; raise if there is a cycle."""
    by_name = {operator.name: operator for operator in operators}
    done: dict[str, Operator] = {}
    for operator in operators:
        waiting = {operator.name: operator}  # each is needed by the one before it
        while waiting:
            name, last = next(reversed(waiting.items()))
            needed = next((source for source in last.inputs if source in by_name and source not in done), None)
            if needed is None:
                done[name] = waiting.pop(name)
            elif needed in waiting:
                names = [*waiting]
                cycle = [*names[names.index(needed) :], needed]
                raise NetworkError(f"operators feed each other in a cycle: {' → '.join(reversed(cycle))}")
            else:
                waiting[needed] = by_name[needed]
    return tuple(done.values())


def dependency_order(
    streams: Sequence[Stream], operators: Sequence[Operator], queries: Sequence[Query]
) -> tuple[Operator, ...]:
    """Return the operators with inputs before users, otherwise as declared; raise if they cannot run.

    They cannot with a cycle, an operator that leads to no query, or a range window over a stream of unknown rate.
    """
    ordered = bottom_up(operators)
    used = {query.root for query in queries}
    for operator in reversed(ordered):
        if operator.name not in used:
            raise NetworkError(
                f"operator {operator.name!r} leads to no query; register a query, or remove the operator"
            )
        used.update(operator.inputs)
    _check_rates(streams, ordered)
    return ordered


def _check_rates(streams: Sequence[Stream], ordered: Sequence[Operator]) -> None:
    """Raise if a stream below a range window has no rate: the window holds rate × range tuples."""
    unknown: dict[str, str | None] = {s.name: s.name if s.rate is None else None for s in streams}
    for operator in ordered:
        without = [unknown[source] for source in operator.inputs]
        for name, window in zip(without, operator.windows, strict=False):
            if window.kind == "range" and name is not None:
                raise NetworkError(
                    f"operator {operator.name!r} has a range window over stream {name!r}, whose rate is unknown; "
                    f"give the stream a rate"
                )
        unknown[operator.name] = next((name for name in without if name is not None), None)
