"""`Queue`: the chunks that wait at an edge of the network."""

import math
from collections import deque
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.segment import LostSegmentError, Segment


@dataclass
class Queue:
    """What waits at an edge of the network, oldest first."""

    chunks: deque[Chunk] = field(default_factory=deque)
    rows: int = 0
    bytes: int = 0

    def put(self, chunk: Chunk) -> None:
        """Add rows at the end."""
        if chunk.rows:
            self.chunks.append(chunk)
            self.rows += chunk.rows
            self.bytes += chunk.bytes

    def put_back(self, chunks: Iterable[Chunk]) -> None:
        """Return rows to the front, in their order."""
        for chunk in reversed(list(chunks)):
            self.chunks.appendleft(chunk)
            self.rows += chunk.rows
            self.bytes += chunk.bytes

    def remove(self, lost: Set[Segment]) -> None:
        """Remove the rows of lost files."""
        chunks, self.chunks, self.rows, self.bytes = self.chunks, deque(), 0, 0
        for chunk in chunks:
            for each in chunk.without(lost):
                self.put(each)

    def copy(self) -> "Queue":
        """Return a queue that holds the same."""
        return Queue(deque(self.chunks), self.rows, self.bytes)

    def ready(self, bound: float) -> int:
        """Return how many rows precede the first with a time above the bound."""
        if bound == math.inf:
            return self.rows
        count = 0
        for chunk in self.chunks:
            some = chunk.ready(bound)
            count += some
            if some < chunk.rows:
                break
        return count

    def take(self, bound: float, most: int, most_stored: int | None = None) -> list[Chunk]:
        """Remove and return the rows that precede the first above the bound, at most so many.

        Of stored rows, more may be taken than of all.
        """
        taken: list[Chunk] = []
        try:
            self._take_into(taken, bound, most, most if most_stored is None else most_stored)
        except LostSegmentError:
            self.put_back(taken)
            raise
        return taken

    def _take_into(self, taken: list[Chunk], bound: float, left: int, left_stored: int) -> None:
        while self.chunks and min(left, left_stored) > 0:
            chunk = self.chunks[0]
            some = min(chunk.ready(bound), left_stored if chunk.is_stored else min(left, left_stored))
            if some == 0:
                break
            first, *rest = (chunk,) if some == chunk.rows else chunk.cut(some)
            self.chunks.popleft()
            self.rows -= chunk.rows
            self.bytes -= chunk.bytes
            taken.append(first)
            self.put_back(rest)
            if rest:
                break
            left_stored -= some
            left -= 0 if chunk.is_stored else some

    @property
    def first_time(self) -> float:
        """The earliest time of a row that waits."""
        return min((chunk.first_time for chunk in self.chunks), default=math.inf)
