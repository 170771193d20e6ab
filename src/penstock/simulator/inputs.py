"""Inputs of the fractional engine: arrival times and fates, checked before a run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from penstock.errors import ArrivalError, nearest
from penstock.network import Network, Number, checked, exact

Fates = Mapping[tuple[str, int], Number]
"""How many tuples an operator makes of an input tuple, by (operator, number); expectation where not given."""


def checked_fates(net: Network, fates: Fates, tuples: int) -> dict[tuple[str, int], Fraction]:
    """Return the fates in fractions, or raise if an operator or a tuple does not exist."""
    found = {}
    for key, made in fates.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise ArrivalError(f"a fate is given for (operator, number of the tuple), not {key!r}")
        name, number = key
        what = f"what operator {net.operator(name).name!r} makes of tuple {number!r}"
        if not isinstance(number, int) or not 0 <= number < tuples:
            raise ArrivalError(f"{what} is given, and there is no such tuple: {tuples} arrive, numbered from 0")
        found[key] = exact(checked(made, what, at_least=0, error=ArrivalError))
    return found


def sorted_arrivals(net: Network, arrivals: Mapping[str, Sequence[Number]]) -> list[tuple[Fraction, int, str]]:
    """Check the times, and number the tuples in the order of arrival."""
    if not isinstance(arrivals, Mapping):
        raise ArrivalError(f"arrivals are given as a mapping from stream to times, not {arrivals!r}")
    known = net.stream_by_name
    for stream in arrivals:
        if stream not in known:
            raise ArrivalError(f"there is no stream {stream!r} in the network.{nearest(stream, known)}")
    together = [
        (time, place, stream.name)
        for place, stream in enumerate(net.streams)
        for time in _times(stream.name, arrivals.get(stream.name, ()))
    ]
    together.sort(key=lambda arrival: arrival[:2])
    return [(time, number, stream) for number, (time, _, stream) in enumerate(together)]


def _times(stream: str, times: Sequence[Number]) -> Iterator[Fraction]:
    if isinstance(times, str) or not isinstance(times, Iterable):
        raise ArrivalError(f"the arrivals of stream {stream!r} must be a list of times, not {times!r}")
    last = Fraction(0)
    for index, time in enumerate(times):
        what = f"arrival {index} of stream {stream!r}"
        moment = exact(checked(time, what, at_least=0, error=ArrivalError))
        if moment < last:
            raise ArrivalError(f"{what}, {time}, comes before the one at {float(last):g}; times must ascend")
        last = moment
        yield moment
