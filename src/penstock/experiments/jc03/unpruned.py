"""Simplified segments that are not pruned, to see what pruning does (JC03 §3.3).

The paper keeps one list of segments over all paths, in which a segment gives way to one that contains it. The
second segments of a query with several joins all end at its root, so that only the longest is left, and what
enters at the highest join has the priority of what enters at the lowest.
"""

from collections.abc import Iterator

from penstock.network import Network, Number, Segment
from penstock.network.segments import first_run_and_rest

NOT_PRUNED = "simplified_segment_not_pruned"
"""A policy for this experiment only: the simplified segments of every path, whether or not others contain them."""


class Unpruned(Network):
    """A network whose simplified segments are those of every path, equal ones once.

    >>> from penstock.workloads import population
    >>> net = population("jc03", rows=100).network
    >>> len(net.simplified_segments()) < len(Unpruned.like(net).simplified_segments())
    True
    """

    @classmethod
    def like(cls, net: Network) -> "Unpruned":
        """Return the same network, unpruned."""
        return cls(net.streams, net.operators, net.queries)

    def simplified_segments(self, gamma: Number = 0.75) -> tuple[Segment, ...]:
        """Return at most two segments for every path."""
        once = {segment.operators: segment for segment in self._candidates(gamma)}
        return tuple(once.values())

    def _candidates(self, gamma: Number) -> Iterator[Segment]:
        for path in self.paths:
            for start, stop in first_run_and_rest(self.releases(path), gamma):
                yield Segment(path, start, stop, self.released(path, start, stop), self.time(path, start, stop))
