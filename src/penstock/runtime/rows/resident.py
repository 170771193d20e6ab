"""`ResidentRows`: rows in the driver's memory, as an Arrow table."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from penstock.plan.columns import Micros, numbers
from penstock.plan.steps import ARRIVAL, TIME, seq


@dataclass(frozen=True, eq=False)
class ResidentRows:
    """Rows of a table, with the hidden columns."""

    table: pa.Table
    first: int = 0
    """The place of the first row in its chunk, of which others may have been taken."""

    @cached_property
    def times(self) -> Micros:
        """The times of the rows, in microseconds."""
        return numbers(self.table, TIME)

    @cached_property
    def first_time(self) -> int:
        """The earliest time."""
        return int(self.times.min())

    @cached_property
    def last_time(self) -> int:
        """The latest time."""
        return int(self.times.max())

    @cached_property
    def arrival(self) -> int:
        """The arrival of the row that has waited longest."""
        return int(numbers(self.table, ARRIVAL).min())

    @cached_property
    def mean_arrival(self) -> float:
        """When the rows arrived, on average."""
        return float(numbers(self.table, ARRIVAL).mean())

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    @cached_property
    def bytes(self) -> int:
        """Bytes of the rows."""
        return int(self.table.nbytes)

    @property
    def first_sequence(self) -> int:
        """The sequence number of the first row."""
        return int(numbers(self.table, seq(0))[0])

    @property
    def end_sequence(self) -> int:
        """The number after the sequence number of the last row."""
        return int(numbers(self.table, seq(0))[-1]) + 1

    def ready(self, bound: float) -> int:
        """Return how many rows precede the first with a time above the bound."""
        if self.last_time <= bound:
            return self.rows
        return int(np.argmax(self.times > bound))

    def cut(self, rows: int) -> tuple["ResidentRows", "ResidentRows"]:
        """Return the first rows and the rest."""
        first = ResidentRows(self.table.slice(0, rows), self.first)
        return first, ResidentRows(self.table.slice(rows), self.first + rows)

    def between(self, low: float, high: float) -> tuple[Micros, Micros]:
        """Return times and sequence numbers of the rows with a time from `low` to `high`, in their order."""
        inside = (self.times >= low) & (self.times <= high)
        return self.times[inside], numbers(self.table, seq(0))[inside]

    def count_below(self, time: float) -> int:
        """Return how many rows have a time below this."""
        return int((self.times < time).sum())

    def count_bounds(self, time: float) -> tuple[int, int]:
        """Return how many rows have a time below this: at least, and at most."""
        count = self.count_below(time)
        return count, count
