"""`Population`: a network of many queries with the arrival processes of its streams.

    load = Σ rate × cost over all queues

A paper's experiment is such a population and a load. Builders draw operators with relative costs, and `scaled`
turns these into seconds: the K of SCLP08 §8, for any network.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isclose

import numpy as np

from penstock.errors import ArrivalError, nearest
from penstock.network import Network
from penstock.workloads.arrivals import Arrivals, Times, check_process, take, until
from penstock.workloads.checks import number, whole


@dataclass(frozen=True)
class Predicate:
    """The condition on which an operator passes a tuple: attribute `column` is in [low, low + selectivity).

    The interval is circular on [0, 1), so any `low` can be combined with any selectivity. With uniform
    attributes, an operator has the selectivity that it has in the network.
    """

    column: int
    low: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", whole(self.column, "the column of a predicate"))
        low = number(self.low, "the low end of a predicate", at_least=0)
        if low >= 1:
            raise ArrivalError(f"the low end of a predicate must be below 1, not {low:g}")
        object.__setattr__(self, "low", low)


@dataclass(frozen=True)
class Population:
    """Queries with their load and their streams.

    `arrivals` has one process for each stream of `network`, with the rate of the stream. `classes` are the
    classes of queries in results. With `predicates`, the fate of a tuple depends on its attributes in all
    queries (without, fates are independent). With `blocking`, joins take their inputs in the order of timestamps
    and wait for an empty one, as in BBDM03. `note` says what the paper leaves open and was chosen here.

    >>> from penstock.workloads.poisson import Poisson
    >>> net = scaled(Network.chains([[(1, 0.5), (2, 1)]], rate=10), load=0.8)
    >>> net.load, [operator.cost for operator in net.operators]
    (0.8, [0.04, 0.08])
    >>> [len(times) for times in Population("one", net, {"s": Poisson(10)}).times(seed=1, seconds=60).values()]
    [598]
    """

    name: str
    network: Network
    arrivals: Mapping[str, Arrivals]
    classes: Mapping[str, str] = field(default_factory=dict)
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    blocking: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        _check_names(self.arrivals, self.network.stream_by_name, "arrivals are given for the stream")
        _check_names(self.classes, self.network.query_by_name, "a class is given for the query")
        _check_names(self.predicates, self.network.operator_by_name, "a predicate is given for the operator")
        for stream in self.network.streams:
            if stream.name not in self.arrivals:
                raise ArrivalError(f"stream {stream.name!r} has no arrivals")
            rate = rate_known(self.arrivals[stream.name], f"the arrivals of stream {stream.name!r}")
            if stream.rate is None or not isclose(stream.rate, rate):
                raise ArrivalError(
                    f"stream {stream.name!r} has the rate {stream.rate} in the network, "
                    f"but its arrivals have {rate:g}"
                )

    @property
    def load(self) -> float:
        """The share of one processor that the arrivals need."""
        return float(self.network.load or 0)

    def times(self, seed: int, *, count: int | None = None, seconds: float | None = None) -> dict[str, Times]:
        """Return the arrival times of every stream: the first `count` of all together, or all before `seconds`.

        Each stream has its own seed, derived from the seed and its place.
        """
        if (count is None) == (seconds is None):
            raise ArrivalError("give either the number of arrivals, count=, or the end time, seconds=")
        base = whole(seed, "a seed", most=2**64 - 1)
        runs = [(name, process, _seed(base, i)) for i, (name, process) in enumerate(self.arrivals.items())]
        if seconds is not None:
            return {name: until(process, own, seconds) for name, process, own in runs}
        wanted = whole(count, "the number of arrivals to take")
        return first({name: take(process, own, wanted) for name, process, own in runs}, wanted)


def first(times: Mapping[str, Times], count: int) -> dict[str, Times]:
    """Return the first `count` arrivals of all streams together; at equal times, the earlier stream comes first.

    >>> cut = first({"a": np.array([1.0, 3.0, 4.0]), "b": np.array([2.0, 3.0, 9.0])}, count=3)
    >>> {name: times.tolist() for name, times in cut.items()}
    {'a': [1.0, 3.0], 'b': [2.0]}
    """
    owners = np.repeat(np.arange(len(times)), [len(of_stream) for of_stream in times.values()])
    order = np.argsort(np.concatenate([np.empty(0), *times.values()]), kind="stable")[:count]
    lengths = np.bincount(owners[order], minlength=len(times))
    return {name: times[name][:length] for name, length in zip(times, lengths.tolist(), strict=True)}


def scaled(network: Network, load: float) -> Network:
    """Return the network with all costs multiplied by one factor, so that its load is `load`."""
    wanted = number(load, "the load", above=0)
    if not network.load:
        raise ArrivalError("a network without rates, or without operators, cannot be scaled to a load")
    k = wanted / float(network.load)
    return network.measured(
        costs={
            operator.name: tuple(k * cost for cost in operator.cost)
            if isinstance(operator.cost, tuple)
            else k * operator.cost
            for operator in network.operators
        }
    )


def rate_known(process: Arrivals, what: str = "the arrivals of a population") -> float:
    """Return the rate of a process, or raise if it is not a process or has no rate."""
    check_process(process, what)
    if process.rate is None:
        raise ArrivalError(f"{what} must have a rate, but {process!r} has none")
    return process.rate


def _seed(base: int, place: int) -> int:
    return int(np.random.SeedSequence((base, place)).generate_state(1, np.uint64)[0])


def _check_names(given: Mapping[str, object], known: Mapping[str, object], what: str) -> None:
    for name in given:
        if name not in known:
            raise ArrivalError(f"{what} {name!r}, which is not in the network.{nearest(name, known)}")
