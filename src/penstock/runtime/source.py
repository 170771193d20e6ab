"""`Source`: what every source of rows has."""

from collections.abc import Iterator
from typing import Any, Protocol

from penstock.runtime.admission import Arrived
from penstock.runtime.rows.segment import ArrivedFiles


class Source(Protocol):
    """A source of rows. It is polled when there is room; nothing is lost if it is not polled for a while."""

    ended: bool
    """Whether no row will come any more."""
    buffer_bytes: int
    """Bytes that the source may read ahead; 0 if it does not."""

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived | ArrivedFiles]:
        """Return the rows that have come by now, in order; about as many as asked for, or none."""
        ...

    def watermark(self, now_us: int) -> int | None:
        """Return the time up to which every row was returned, if the source knows; else the rows tell."""
        ...

    def offered(self, now_us: int) -> int | None:
        """Return how many rows have come by now, read or not; None if they can wait where they are."""
        ...

    @property
    def held_bytes(self) -> int:
        """Bytes read ahead and not polled yet, at most `buffer_bytes`."""
        ...

    def position(self, *, whole: bool) -> dict[str, Any]:
        """Return where a later run goes on after the rows that were polled, as JSON has it.

        If it is not the whole position, lists have what is new since the last call, under names that end in +.
        """
        ...

    def stop(self, now_us: int) -> None:
        """Accept nothing that comes after now; what has come can still be polled."""
        ...

    def close(self) -> None:
        """Release files, threads and ports."""
        ...
