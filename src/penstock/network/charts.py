"""Progress charts and their lower envelopes (BBDM03 §3), by which the Chain policy ranks operators."""

from dataclasses import dataclass
from itertools import pairwise

from penstock.errors import NetworkError
from penstock.network.numbers import Number


@dataclass(frozen=True)
class EnvelopeSegment:
    """A segment of the lower envelope: operators `start` to `stop` (exclusive) release `drop` memory in `span`."""

    start: int
    stop: int
    drop: Number
    span: Number

    @property
    def slope(self) -> Number:
        """Memory released per unit time along the segment: the priority of each of its operators."""
        return self.drop / self.span


@dataclass(frozen=True)
class ProgressChart:
    """Points (time, size): what is left of one tuple after each operator of its path, and when.

    The first point is (0, size of the tuple); the last has size 0, because the root's output leaves at once.

    >>> chart = ProgressChart(((0, 1), (1, 0.5), (4, 0.4), (5, 0)))
    >>> [(segment.start, segment.stop) for segment in chart.envelope()]
    [(0, 1), (1, 3)]
    """

    points: tuple[tuple[Number, Number], ...]

    def __post_init__(self) -> None:
        times = [time for time, _ in self.points]
        if len(times) < 2 or times != sorted(times):
            raise NetworkError("a progress chart needs at least two points, in the order of time")
        if self.points[-1][1] != 0:
            raise NetworkError("the last point of a progress chart must have size 0")

    def envelope(self) -> tuple[EnvelopeSegment, ...]:
        """Return the segments of the lower envelope: each ends at the steepest-descent point from its start.

        Operators are merged from left to right: one that is steeper than the segment before it joins that segment.
        An equally steep one does not, so ties go to the nearest point.
        """
        segments: list[EnvelopeSegment] = []
        for place, ((time, size), (later, smaller)) in enumerate(pairwise(self.points)):
            if later == time:  # no tuple reaches the operators from here on, so they release nothing
                return (*segments, EnvelopeSegment(place, len(self.points) - 1, 0, 1))
            segment = EnvelopeSegment(place, place + 1, size - smaller, later - time)
            while segments and segment.slope > segments[-1].slope:
                before = segments.pop()
                segment = EnvelopeSegment(
                    before.start, segment.stop, before.drop + segment.drop, before.span + segment.span
                )
            segments.append(segment)
        return tuple(segments)
