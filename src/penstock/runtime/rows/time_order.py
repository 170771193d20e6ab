"""`TimeOrder`: the rows of a log in the order of (time, sequence number), without having them in memory.

Row windows count rows in this order. Counts come from the sparse indexes of chunks; times are read only where an
index does not tell.
"""

from collections.abc import Iterable

import numpy as np

from penstock.plan.columns import Micros
from penstock.runtime.chunk import Chunk, Place

_NONE = np.empty(0, np.int64)


class TimeOrder:
    """Rows of chunks that a query sees, from one sequence number up to another."""

    def __init__(self, chunks: Iterable[Chunk], start: int = 0, end: int | None = None) -> None:
        self._start, self._end = start, end
        self._places = [chunk.place for chunk in chunks if self._sees_some(chunk.place)]

    def _sees_some(self, place: Place) -> bool:
        return place.end_sequence > self._start and (self._end is None or place.first_sequence < self._end)

    def _sees_all(self, place: Place) -> bool:
        return place.first_sequence >= self._start and (self._end is None or place.end_sequence <= self._end)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.count_below(np.inf)

    def count_below(self, time: float) -> int:
        """Return how many rows have a time below this."""
        count = 0
        for place in self._places:
            if place.first_time >= time:
                continue
            if not self._sees_all(place):
                times, _ = self._seen(place, -np.inf, time)
                count += int((times < time).sum())
            elif place.last_time < time:
                count += place.rows
            else:
                count += place.count_below(time)
        return count

    def between(self, low: float, high: float) -> tuple[Micros, Micros]:
        """Return times and sequence numbers of the rows with a time from `low` to `high`, in this order."""
        parts = [
            self._seen(place, low, high)
            for place in self._places
            if place.first_time <= high and place.last_time >= low
        ]
        times = np.concatenate([_NONE, *(each for each, _ in parts)])
        sequences = np.concatenate([_NONE, *(each for _, each in parts)])
        order = np.lexsort((sequences, times))
        return times[order], sequences[order]

    def _seen(self, place: Place, low: float, high: float) -> tuple[Micros, Micros]:
        times, sequences = place.between(low, high)
        if self._sees_all(place):
            return times, sequences
        seen = sequences >= self._start
        if self._end is not None:
            seen &= sequences < self._end
        return times[seen], sequences[seen]

    def at(self, position: int) -> tuple[int, int]:
        """Return time and sequence number of the row at a position, which exists."""
        low, high = self._around(position)
        times, sequences = self.between(low, high)
        place = position - self.count_below(low)
        return int(times[place]), int(sequences[place])

    def _around(self, position: int) -> tuple[int, int]:
        """Return times between which the row at a position is, as far as the indexes tell."""
        low = min(place.first_time for place in self._places)
        high = max(place.last_time for place in self._places)
        while low < high:
            middle = (low + high) // 2
            bounds = [self._count_bounds(place, middle + 1) for place in self._places]
            if sum(least for least, _ in bounds) > position:
                high = middle
            elif sum(most for _, most in bounds) <= position:
                low = middle + 1
            else:
                break
        return low, high

    def _count_bounds(self, place: Place, time: int) -> tuple[int, int]:
        least, most = place.count_bounds(time)
        return (least, most) if self._sees_all(place) else (0, most)
