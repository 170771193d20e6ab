"""What a network takes and brings, by the shares that drop boxes keep of its streams."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from penstock.errors import PlanError
from penstock.network import Network
from penstock.optimizer.boxes import Load, Parts

_Sum: TypeAlias = Mapping[tuple[int, ...], float]
"""Amounts by the powers of the shares that they are multiplied with."""


def load_of(network: Network) -> Load:
    """Return what a network costs a second, and brings, as sums of products of the shares kept of its streams.

    A window of time holds more the more arrives, so what is made of it is a product of shares; one of rows does
    not. Of each query counts the share of its results that is left.

    >>> load = load_of(Network.chains([[(0.2, 0.5), (0.1, 1)], [(0.5, 1)]], rate=4))
    >>> load.cost.at([0.5]), load.value.at([0.5]), load.kept(1.5).tolist()
    (1.5, 1.0, [0.5])
    """
    places = {stream.name: place for place, stream in enumerate(network.streams)}
    made: dict[str, _Sum] = {}
    for stream in network.streams:
        if stream.rate is None:
            raise PlanError(f"the rate of {stream.name!r} is not known, so neither is what it takes")
        made[stream.name] = {
            tuple(int(place == places[stream.name]) for place in places.values()): float(stream.rate)
        }
    nothing = (0,) * len(places)
    for operator in network.operators:
        total: list[_Sum] = []
        for port, source in enumerate(operator.inputs):
            some: _Sum = {powers: amount * float(operator.selectivity) for powers, amount in made[source].items()}
            for other, window in enumerate(operator.windows):
                if other != port and window.kind == "rows":
                    some = _product(some, {nothing: float(window.size)})
                elif other != port:
                    held = made[operator.inputs[other]]
                    some = _product(some, {powers: each * float(window.size) for powers, each in held.items()})
            total.append(some)
        made[operator.name] = _added(total)
    taken = [
        {powers: amount * float(network.costs[edge]) for powers, amount in made[edge.source].items()}
        for edge in network.edges
    ]
    brought = []
    for query in network.queries:
        whole = sum(made[query.root].values())
        brought.append({powers: amount / whole for powers, amount in made[query.root].items() if whole > 0})
    return Load(_parts(len(places), _added(brought)), _parts(len(places), _added(taken)))


def _product(one: _Sum, other: _Sum) -> _Sum:
    return _added(
        {tuple(map(sum, zip(powers, others, strict=True))): amount * each}
        for powers, amount in one.items()
        for others, each in other.items()
    )


def _added(sums: Iterable[_Sum]) -> _Sum:
    found: dict[tuple[int, ...], float] = defaultdict(float)
    for some in sums:
        for powers, amount in some.items():
            found[powers] += amount
    return dict(found)


def _parts(streams: int, total: _Sum) -> Parts:
    return Parts.of(
        streams,
        [
            (amount, [place for place, power in enumerate(powers) for _ in range(power)])
            for powers, amount in total.items()
        ],
    )
