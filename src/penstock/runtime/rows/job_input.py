"""Rows that a job reads: those that it takes from queues, and those of the windows that it probes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from penstock.plan.columns import numbers
from penstock.plan.steps import ARRIVAL
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.stored import StoredRows


@dataclass(frozen=True, eq=False)
class InputRows:
    """Rows that a job takes at an entry. Entries that take the same rows share one value."""

    table: pa.Table | None
    """The resident rows; None if there are none."""
    stored: tuple[StoredRows, ...] = ()
    before: int | None = None
    """Of stored rows that need positions: how much lower these are than sequence numbers."""

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> "InputRows":
        """Return the rows of chunks.

        Chunks from before a query that reads more columns lack them, and it drops their rows.
        """
        every = list(chunks)
        tables = [chunk.table for chunk in every if not chunk.is_stored]
        stored = tuple(chunk.place for chunk in every if isinstance(chunk.place, StoredRows))
        return cls(pa.concat_tables(tables, promote_options="default") if tables else None, stored)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return (0 if self.table is None else self.table.num_rows) + sum(each.rows for each in self.stored)

    @property
    def arrival(self) -> int:
        """The arrival of the row that has waited longest."""
        table = self.table
        resident = [int(numbers(table, ARRIVAL).min())] if table is not None and table.num_rows else []
        return min([*resident, *(rows.arrival for rows in self.stored)], default=0)


@dataclass(frozen=True, eq=False)
class WindowRows:
    """The rows of a log that probing rows can find in a window, and perhaps some more.

    Rows of a row window have the column ``__x``, the time from which they are outside it; NULL if that is after
    every probing row.
    """

    table: pa.Table
    """The resident rows, with the columns that are read."""
    stored: tuple[StoredRows, ...] = ()
    low: int | None = None
    """The earliest time of stored rows."""
    low_sequence: int = 0
    """Of the stored rows with that time, the first."""
    high: int | None = None
    """The latest time of stored rows."""
    start: int = 0
    """Rows before this sequence number do not exist."""
    end: int | None = None
    """Rows from this sequence number on do not exist."""
    expiries: pa.Table | None = None
    """Of a row window: the sequence numbers of the stored rows that leave it meanwhile, and when."""

    @property
    def num_rows(self) -> int:
        """How many rows there are at most."""
        return int(self.table.num_rows) + sum(each.rows for each in self.stored)

    def without(self, taken: Iterable[StoredRows]) -> "WindowRows":
        """Return the window without stored rows that a job takes anyway."""
        every = list(taken)
        return replace(self, stored=tuple(left for rows in self.stored for left in rows.minus(every)))


@dataclass(frozen=True, eq=False)
class BothSides:
    """Of a join of two streams: the rows that a job takes at each port, and the other rows of its window."""

    taken: tuple[int, int]
    others: tuple[WindowRows, WindowRows]
    same_keys: float = math.inf
    """How many rows of the second stream have the keys of a row of the first, at any time; estimated."""

    def rows(self, port: int) -> int:
        """Return how many rows a port has at most."""
        return self.taken[port] + self.others[port].num_rows
