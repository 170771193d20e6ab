"""The drop box of a stream: which rows it keeps, and the history of its shares.

A row is kept if a hash of its sequence number is below the share. So a replay with the same shares drops the same
rows, and a larger share keeps the rows of a smaller one. Boxes are at the sources (AN04 Observations 2, 3).
"""

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1


@dataclass
class DropBox:
    """The share kept of a stream. `history` has (sequence number, share): the share kept from that row on."""

    stream: str
    history: list[tuple[int, float]] = field(default_factory=lambda: [(0, 1.0)])
    dropped: int = 0
    """Rows dropped so far."""

    @property
    def keep(self) -> float:
        """The current share."""
        return self.history[-1][1]

    def set(self, keep: float, sequence: int) -> None:
        """Keep another share from a sequence number on, which is not below that of any row that arrived."""
        if self.history[-1][0] == sequence:
            self.history.pop()
        if not self.history or self.history[-1][1] != keep:
            self.history.append((sequence, keep))

    def keeps(self, sequence: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rows, by sequence number, the current share keeps."""
        return chances(self.stream, sequence) < self.keep

    def mean(self, first: int, end: int) -> float:
        """Return the average share from sequence number `first` up to, but not including, `end`."""
        if end <= first:
            return self.keep
        ends = [start for start, _ in self.history[1:]] + [max(end, self.history[-1][0])]
        kept = sum(
            max(min(until, end) - max(start, first), 0) * share
            for (start, share), until in zip(self.history, ends, strict=True)
        )
        return kept / (end - first)


def chances(stream: str, sequence: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a hash in [0, 1) of each sequence number of a stream: splitmix64, salted with the stream's name.

    >>> chances("a", np.array([0, 1, 2])).round(3).tolist()
    [0.713, 0.655, 0.34]
    """
    salt = crc32(stream.encode()) * _GOLDEN & _WORD
    word = sequence.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(salt)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(_FIRST)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(_SECOND)
    word ^= word >> np.uint64(31)
    return (word >> np.uint64(11)).astype(np.float64) / float(1 << 53)
