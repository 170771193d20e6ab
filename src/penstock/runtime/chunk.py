"""`Chunk`: rows that came together. Its numbers are in the driver; its rows are resident or stored."""

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from penstock.plan.columns import is_sequence, numbers
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.stored import StoredRows

Place = ResidentRows | StoredRows
"""Where rows are."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that came together; `number` is the order in which chunks came."""

    place: Place
    number: int
    position: int = 0
    """Of a stream: how many rows were kept before its first one."""

    @classmethod
    def of(cls, table: pa.Table, number: int) -> "Chunk":
        """Return a chunk of resident rows."""
        return cls(ResidentRows(table), number)

    @property
    def is_stored(self) -> bool:
        """Whether executors read the rows from files."""
        return isinstance(self.place, StoredRows)

    @property
    def table(self) -> pa.Table:
        """The rows; they must be resident."""
        assert isinstance(self.place, ResidentRows)
        return self.place.table

    @property
    def first_time(self) -> int:
        """The earliest time, or a lower bound of it."""
        return self.place.first_time

    @property
    def last_time(self) -> int:
        """The latest time, or an upper bound of it."""
        return self.place.last_time

    @cached_property
    def first_sequences(self) -> list[int]:
        """The lowest sequence number of each stream of which the rows are made."""
        if isinstance(self.place, StoredRows):
            return [self.place.first_sequence]
        names = sorted(name for name in self.table.column_names if is_sequence(name))
        return [int(numbers(self.table, name).min()) for name in names]

    @property
    def arrival(self) -> int:
        """The arrival of the row that has waited longest."""
        return self.place.arrival

    @property
    def mean_arrival(self) -> float:
        """When the rows arrived, on average."""
        return self.place.mean_arrival

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.place.rows

    @property
    def bytes(self) -> int:
        """Bytes of the rows."""
        return self.place.bytes

    @property
    def first_position(self) -> int:
        """Of a stream: the position of the first row among the rows that were kept."""
        return self.position + self.place.first

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The files that hold the rows; none if they are resident."""
        return self.place.segments if isinstance(self.place, StoredRows) else ()

    def without(self, lost: Set[Segment]) -> list["Chunk"]:
        """Return the rows that are not in lost files, in chunks."""
        if not isinstance(self.place, StoredRows) or lost.isdisjoint(self.segments):
            return [self]
        return [Chunk(rows, self.number, self.position) for rows in self.place.without(lost)]

    def ready(self, bound: float) -> int:
        """Return how many rows precede the first with a time above the bound."""
        return self.place.ready(bound)

    def cut(self, rows: int) -> tuple["Chunk", "Chunk"]:
        """Return the first rows and the rest."""
        first, rest = self.place.cut(rows)
        return Chunk(first, self.number, self.position), Chunk(rest, self.number, self.position)
