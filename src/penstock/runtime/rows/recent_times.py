"""Times of stored rows that were read last: joins ask for the same few again and again."""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.plan.columns import Micros

MOST_ROWS = 1024 * 1024
"""Rows whose times are kept, of all files together: 9 MB."""

File = TypeVar("File")
TimesBatch = tuple[int, Micros, NDArray[np.bool_]]
"""The place of the first row in its file, the times of some rows, and which of them are known."""


class RecentTimes(Generic[File]):
    """The last batch of times that was read of each file, for the files that were read last.

    >>> recent = RecentTimes[str](most_rows=3)
    >>> recent.add("a", (10, np.array([5, 6, 7]), np.array([True, True, True])))
    >>> recent.find("a", 11, 13), recent.find("a", 9, 11)
    ((11, array([6, 7]), array([ True,  True])), None)
    >>> recent.add("b", (0, np.array([1]), np.array([True])))  # only three rows have room
    >>> recent.find("a", 11, 13)
    """

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._most_rows = most_rows
        self._rows = 0
        self._batches: OrderedDict[File, TimesBatch] = OrderedDict()
        self._lock = Lock()

    def add(self, file: File, batch: TimesBatch) -> None:
        """Remember a batch of a file, and forget the oldest ones of others if they are too many."""
        with self._lock:
            self._forget(file)
            self._batches[file] = batch
            self._rows += len(batch[1])
            while self._rows > self._most_rows:
                self._forget(next(iter(self._batches)))

    def _forget(self, file: File) -> None:
        before = self._batches.pop(file, None)
        self._rows -= 0 if before is None else len(before[1])

    def find(self, file: File, first: int, end: int) -> TimesBatch | None:
        """Return the rows of a file from `first` up to `end`, if all of them are known."""
        with self._lock:
            found = self._batches.get(file)
            if found is None or not found[0] <= first <= end <= found[0] + len(found[1]):
                return None
            self._batches.move_to_end(file)
        start, times, known = found
        return first, times[first - start : end - start], known[first - start : end - start]
