"""`RowTimes`: of a stream whose rows are counted, the times of the rows at which windows of rows begin and end."""

from dataclasses import dataclass, field

import numpy as np

from penstock.plan.columns import Micros
from penstock.runtime.chunk import Place
from penstock.runtime.rows.resident import ResidentRows


@dataclass
class RowTimes:
    """The times of the first and last row of each pane of a stream. Rows come in the order of time.

    >>> times = RowTimes(pane=2)
    >>> times.first_newest
    0
    """

    pane: int
    """The size of a pane in rows: windows begin and end where panes do."""
    first_newest: int = 0
    """The position of the first row that has the newest time: rows before it have lower times."""
    _positions: list[int] = field(default_factory=list)
    _times: list[int] = field(default_factory=list)
    _told: int = 0
    """How many of these somebody who keeps them was told."""

    def add(self, place: Place, first: int, newest: int | None) -> None:
        """Take admitted rows, of which the first has this position; `newest` is the newest time before them."""
        if newest is None or place.last_time > newest:
            self.first_newest = first + place.ready(place.last_time - 1)
        marks = np.arange(-(-first // self.pane) * self.pane, first + place.rows, self.pane)
        ends = np.arange(first + (self.pane - 1 - first) % self.pane, first + place.rows, self.pane)
        here = np.union1d(marks, ends) if self.pane > 1 else marks
        if len(here):
            times = _times(place)[here - first]
            self._positions += here.tolist()
            self._times += times.tolist()

    def at(self, positions: Micros) -> Micros:
        """Return the times of rows with these positions, at which panes begin or end."""
        known = np.searchsorted(np.array(self._positions), positions)
        found: Micros = np.array(self._times, dtype=np.int64)[known]
        return found

    def until(self, watermark: float, newest: int | None, kept: int) -> int:
        """Return how many rows have a time that the watermark has reached, of all that were kept."""
        if newest is None:
            return 0
        if watermark >= newest:
            return kept
        return self.first_newest if watermark >= newest - 1 else 0

    def release(self, first: float) -> None:
        """Forget the rows before a position."""
        gone = int(np.searchsorted(np.array(self._positions), first)) if self._positions else 0
        if gone > len(self._positions) // 2:
            del self._positions[:gone], self._times[:gone]
            self._told = max(self._told - gone, 0)

    # What a state keeps -------------------------------------------------------------------------------------

    def take_new(self) -> list[list[int]]:
        """Return positions and times since the last call."""
        positions, times = self._positions[self._told :], self._times[self._told :]
        self._told = len(self._positions)
        return [positions, times]

    def all(self) -> list[list[int]]:
        """Return all positions and times that are kept."""
        return [self._positions, self._times]


def _times(place: Place) -> Micros:
    return place.times if isinstance(place, ResidentRows) else place.between(-np.inf, np.inf)[0]
