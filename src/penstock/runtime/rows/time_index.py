"""`TimeIndex`: a sparse index of the times of stored rows, by blocks."""

from dataclasses import dataclass

import numpy as np

from penstock.plan.columns import Micros

BLOCK_ROWS = 4096
"""Rows of a block."""


@dataclass(frozen=True)
class TimeIndex:
    """The earliest and the latest time of each block of rows, in the order of the rows."""

    lows: Micros
    highs: Micros
    block_rows: int = BLOCK_ROWS

    @classmethod
    def constant(cls, time: int) -> "TimeIndex":
        """Return the index of rows that all have one time, however many there are."""
        return cls(np.array([time], np.int64), np.array([time], np.int64))

    @property
    def is_constant(self) -> bool:
        """Whether all rows are known to have the same time."""
        return bool(len(self.lows) == 1 and self.lows[0] == self.highs[0])

    def blocks(self, first: int, end: int) -> slice:
        """Return the blocks that hold the rows from `first` up to `end`."""
        if self.is_constant:
            return slice(0, 1)
        return slice(first // self.block_rows, -(-end // self.block_rows))

    def bounds(self, first: int, end: int) -> tuple[int, int]:
        """Return a lower bound of the earliest and an upper bound of the latest time of rows."""
        here = self.blocks(first, end)
        return int(self.lows[here].min()), int(self.highs[here].max())


class TimeIndexBuilder:
    """Builds the index of rows that come in batches."""

    def __init__(self, block_rows: int = BLOCK_ROWS) -> None:
        self._block_rows = block_rows
        self._lows: list[Micros] = []
        self._highs: list[Micros] = []
        self._rest = np.empty(0, np.int64)

    def copy(self) -> "TimeIndexBuilder":
        """Return a builder that has the same rows so far."""
        other = TimeIndexBuilder(self._block_rows)
        other._lows, other._highs, other._rest = list(self._lows), list(self._highs), self._rest
        return other

    def add(self, times: Micros) -> None:
        """Add the times of the next rows."""
        times = np.concatenate([self._rest, times]) if len(self._rest) else times
        whole = len(times) // self._block_rows * self._block_rows
        blocks = times[:whole].reshape(-1, self._block_rows)
        self._lows.append(blocks.min(axis=1) if whole else np.empty(0, np.int64))
        self._highs.append(blocks.max(axis=1) if whole else np.empty(0, np.int64))
        self._rest = times[whole:].copy()

    def built(self) -> TimeIndex:
        """Return the index of all rows so far."""
        rest = self._rest
        lows = [*self._lows, *([np.array([rest.min()])] if len(rest) else [])]
        highs = [*self._highs, *([np.array([rest.max()])] if len(rest) else [])]
        return TimeIndex(np.concatenate(lows), np.concatenate(highs), self._block_rows)
