"""What makes a network impossible, said with the name of the part that is wrong."""

from collections import deque
from collections.abc import Collection, Sequence

from penstock.errors import NetworkError, nearest
from penstock.network.operator import Operator, Query, Stream


def check_parts(streams: Sequence[Stream], operators: Sequence[Operator], queries: Sequence[Query]) -> None:
    """Raise if parts are of the wrong type, a name stands twice, or something named is not there."""
    for part, kind in (*_each(streams, Stream), *_each(operators, Operator), *_each(queries, Query)):
        if not isinstance(part, kind):
            raise NetworkError(f"{part!r} is not a {kind.__name__}")
    _check_duplicates([*(stream.name for stream in streams), *(op.name for op in operators)], "stream or operator")
    _check_duplicates([query.name for query in queries], "query")

    names = {operator.name for operator in operators}
    known = names | {stream.name for stream in streams}
    for operator in operators:
        check_inputs(operator, known)
    for query in queries:
        check_root(query, names, known)


def check_inputs(operator: Operator, known: Collection[str]) -> None:
    """Raise if `operator` reads something that is not known."""
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


def bottom_up(operators: Sequence[Operator]) -> list[Operator]:
    """Return the operators with inputs before users, otherwise as given; raise if there is a cycle."""
    for operator in operators:
        if not isinstance(operator, Operator):
            raise NetworkError(f"{operator!r} is not an operator")
    ordered: list[Operator] = []
    here = {operator.name for operator in operators}
    missing = {operator.name: len(set(operator.inputs) & here) for operator in operators}
    readers: dict[str, list[Operator]] = {}
    for operator in operators:
        for source in dict.fromkeys(operator.inputs):
            readers.setdefault(source, []).append(operator)
    ready = deque(operator for operator in operators if missing[operator.name] == 0)
    while ready:
        operator = ready.popleft()
        ordered.append(operator)
        for reader in readers.get(operator.name, ()):
            missing[reader.name] -= 1
            if missing[reader.name] == 0:
                ready.append(reader)
    if len(ordered) < len(operators):
        raise NetworkError(_cycle_message([op for op in operators if missing[op.name] > 0]))
    return ordered


def dependency_order(
    streams: Sequence[Stream], operators: Sequence[Operator], queries: Sequence[Query]
) -> tuple[Operator, ...]:
    """Return the operators with inputs before users, otherwise as declared; raise for what cannot run.

    That is: a cycle, an operator that leads to no query, a range window over a stream of unknown rate.
    """
    ordered = bottom_up(operators)
    used = {query.root for query in queries}
    for operator in reversed(ordered):
        if operator.name not in used:
            raise NetworkError(f"operator {operator.name!r} leads to no query; register one, or leave it out")
        used.update(operator.inputs)
    _check_rates(streams, ordered)
    return _as_declared(operators, ordered)


def _as_declared(operators: Sequence[Operator], ordered: list[Operator]) -> tuple[Operator, ...]:
    """Keep the declared order where it already puts inputs first: ids then follow the user's own order."""
    own = {operator.name for operator in operators}
    seen: set[str] = set()
    for operator in operators:
        if any(source in own and source not in seen for source in operator.inputs):
            return tuple(ordered)
        seen.add(operator.name)
    return tuple(operators)


def _each(parts: Sequence[object], kind: type) -> list[tuple[object, type]]:
    return [(part, kind) for part in parts]


def _check_duplicates(names: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise NetworkError(f"the name {name!r} stands for more than one {what}")
        seen.add(name)


def _cycle_message(stuck: Sequence[Operator]) -> str:
    """Walk back along inputs that cannot be ready until one repeats: that is a cycle, named in full."""
    by_name = {operator.name: operator for operator in stuck}
    walk = [stuck[0].name]
    while True:
        below = next(source for source in by_name[walk[-1]].inputs if source in by_name)
        if below in walk:
            cycle = [*walk[walk.index(below) :], below]
            return f"operators feed each other in a cycle: {' → '.join(reversed(cycle))}"
        walk.append(below)


def _check_rates(streams: Sequence[Stream], ordered: Sequence[Operator]) -> None:
    """A range window holds rate × range tuples, so every stream below one needs a rate."""
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
