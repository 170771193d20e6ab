"""The arriving tuples: checked, numbered in the order of time, as arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError, nearest
from penstock.network import Network
from penstock.simulator.attributes import Attributes
from penstock.simulator.compiled.bundles import ArrivalArrays
from penstock.simulator.compiled.records import Floats, Ints, Words
from penstock.simulator.layout.moments import ARRIVAL, moments_of


class Feed:
    """The arriving tuples, numbered by time; at equal times, in the network's order of streams.

    The moments at which windows end are numbered with them, as a stream that no queue is filled from.
    """

    def __init__(self, net: Network, times: Mapping[str, Floats], attributes: Attributes | None) -> None:
        each = [times.get(stream.name, np.empty(0)) for stream in net.streams]
        arriving = np.concatenate([np.empty(0), *each])
        self.span = float(arriving.min()), float(arriving.max())
        """When the first and the last tuple arrive."""
        self.clock = len(each) + 1
        """The stream of moments; the one before it is that of dropped tuples."""
        moments = moments_of(net, *self.span)
        self.ends = moments.places
        """The moments at which the windows of each close end."""
        together = np.concatenate([arriving, moments.time])
        ranks = np.concatenate([np.full(len(arriving), ARRIVAL), moments.rank])
        order = np.lexsort((ranks, together)) if len(moments.time) else np.argsort(together, kind="stable")
        self.time: Floats = together[order]
        lengths = [*(len(part) for part in each), 0, len(moments.time)]
        self.stream: Ints = np.repeat(np.arange(len(lengths)), lengths)[order].astype(np.int64)
        self.moments: Ints = np.flatnonzero(self.stream == self.clock)
        """The numbers of moments: they are numbered with the tuples, so that an older one has a lower number."""
        self.identities: Words = np.cumsum(self.stream != self.clock).astype(np.uint64)
        self.numbers: Ints = np.argsort(self.stream, kind="stable").astype(np.int64)
        """The numbers of the first stream's tuples, then those of the second, …"""
        self.start = np.cumsum([0, *(len(part) for part in each)], dtype=np.int64)
        self.values: Floats = np.empty((len(together), 0))
        if attributes is not None:
            self.values = np.zeros((len(self.time), attributes.columns))
            for place, name in enumerate(net.stream_by_name):
                if name in attributes.values:
                    own = self.numbers[self.start[place] : self.start[place + 1]]
                    self.values[own, : attributes.values[name].shape[1]] = attributes.values[name]

    def tuples_before(self, number: int) -> int:
        """Return how many tuples have a lower number."""
        return number - int(np.searchsorted(self.moments, number))

    @property
    def arrays(self) -> ArrivalArrays:
        """The arrays for compiled code."""
        return ArrivalArrays(self.time, self.stream, self.numbers, self.values)


def checked_times(net: Network, arrivals: Mapping[str, Any]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the arrival times as arrays, or raise unless they are numbers from 0 on, in ascending order."""
    if not isinstance(arrivals, Mapping):
        raise ArrivalError(f"arrivals are given as a mapping from stream to times, not {type(arrivals).__name__}")
    known = net.stream_by_name
    found = {}
    for stream, given in arrivals.items():
        if stream not in known:
            raise ArrivalError(f"there is no stream {stream!r} in the network.{nearest(stream, known)}")
        try:
            times = np.array(given, np.float64)
        except (TypeError, ValueError) as error:
            raise ArrivalError(f"the arrivals of stream {stream!r} must be a list of times in seconds") from error
        if times.ndim != 1:
            raise ArrivalError(f"the arrivals of stream {stream!r} must be one list of times in seconds")
        _check_times(stream, times)
        found[stream] = times
    if not sum(map(len, found.values())):
        raise ArrivalError("nothing arrives: the arrivals are empty, and there is nothing to simulate")
    return found


def _check_times(stream: str, times: npt.NDArray[np.float64]) -> None:
    for bad, what in (
        (~np.isfinite(times), "is not a number"),
        (times < 0, "is negative"),
        (np.diff(times, prepend=times[:1]) < 0, "comes before the one ahead of it; times must ascend"),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            raise ArrivalError(f"arrival {at} of stream {stream!r}, {times[at]:g}, {what}")
