"""Results that executors write: where a job writes them, and what the driver is told of them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class WriteTarget:
    """Where and how a job writes the results of one query, or of one group."""

    folder: Path
    """An empty folder that readers do not look into."""
    operator: str
    name: str
    """The query or group."""
    queries: Mapping[str, object] = field(default_factory=dict)
    """The queries that it serves: another of the same name gets none of the results."""
    seen: str | None = None
    """The condition in SQL on the rows that the query sees; None: all."""
    members: Mapping[int, str] | None = None
    """Of a group: its queries by their numbers."""

    def remove(self) -> None:
        """Remove the folder with whatever was written."""
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class ArrivalSums:
    """Sums over the arrivals of results, from which their responses follow at any later time."""

    count: int
    since_s: float
    """Sum of the seconds from `reference_us` to each arrival."""
    squares: float
    """Sum of the squares of these."""
    first_us: int
    """The earliest arrival."""
    reference_us: int

    @classmethod
    def counted(cls, counts: Mapping[int, int]) -> "ArrivalSums":
        """Return the sums over results of which so many arrived at each of these times.

        >>> ArrivalSums.counted({1_000_000: 1, 2_000_000: 3}).responses(4_000_000)
        (4, 9.0, 21.0, 3.0)
        """
        first = min(counts)
        since = {(arrival - first) / 1e6: count for arrival, count in counts.items()}
        return cls(
            sum(counts.values()),
            sum(count * seconds for seconds, count in since.items()),
            sum(count * seconds**2 for seconds, count in since.items()),
            first,
            first,
        )

    def responses(self, now_us: int) -> tuple[int, float, float, float]:
        """Return count, sum, sum of squares and maximum of the responses, if all results are there now.

        >>> ArrivalSums(2, 3.0, 5.0, 1_000_000, 0).responses(4_000_000)  # arrivals at 1 and 2 s
        (2, 5.0, 13.0, 3.0)
        """
        passed = (now_us - self.reference_us) / 1e6
        squares = self.count * passed**2 - 2 * passed * self.since_s + self.squares
        return (
            self.count,
            self.count * passed - self.since_s,
            max(squares, 0.0),
            (now_us - self.first_us) / 1e6,
        )


@dataclass(frozen=True)
class WrittenResults:
    """Results that a job wrote to files in a folder, which are not visible yet."""

    folder: Path
    files: tuple[Path, ...]
    rows: int
    sums: Mapping[str, ArrivalSums] = field(default_factory=dict)
    """For each query that has results."""

    def remove_folder(self) -> None:
        """Remove the folder with whatever is left in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
