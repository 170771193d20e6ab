"""What every source of rows has in common."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.runtime.admission import Arrived
from penstock.runtime.checks import found_path


class Source(Protocol):
    """A source of rows. It is asked when there is room; nothing is lost if it is not asked for a while."""

    ended: bool
    """Whether no row will come any more."""
    buffer_bytes: int
    """What the source may take from outside before it is asked for it; 0 if it takes nothing."""

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived]:
        """Return what has come by now, in order; about as many rows as asked for, or none."""
        ...

    def watermark(self, now_us: int) -> int | None:
        """Return the time up to which every row was returned, if the source knows; else the rows tell."""
        ...

    def offered(self, now_us: int) -> int | None:
        """Return how many rows have come by now, read or not; None if they wait elsewhere as long as it takes."""
        ...

    @property
    def held_bytes(self) -> int:
        """What the source has taken from outside and nobody has asked for yet, `buffer_bytes` at most."""
        ...

    def stop(self, now_us: int) -> None:
        """Let nothing in that comes after now; what has come can still be asked for."""
        ...

    def close(self) -> None:
        """Let go of files, threads and ports."""
        ...


@dataclass(frozen=True)
class Surroundings:
    """What sources are opened with."""

    spark: SparkSession
    folder: Path
    drain: bool
    seconds: float | None
    chunk_rows: int
    chunk_us: int
    scratch: Path
    tell: Callable[[str], object] = lambda text: None
    """Takes what a person should know of a source, such as that it waits for a client."""
    buffer_bytes: int = 16 * 1024 * 1024
    """What a source may take from outside before it is asked for."""

    def path(self, written: str, what: str) -> Path:
        """Return a path of the script."""
        return found_path(self.folder, written, what)
