"""`Chunk`: rows that came together, with their times and arrivals."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from penstock.plan.columns import Micros, numbers
from penstock.plan.steps import ARRIVAL, TIME


@dataclass(frozen=True)
class Chunk:
    """Rows that came together; `number` is the order in which chunks came."""

    table: pa.Table
    number: int

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

    def ready(self, bound: float) -> int:
        """Return how many rows precede the first with a time above the bound."""
        if self.last_time <= bound:
            return self.rows
        return int(np.argmax(self.times > bound))

    def cut(self, rows: int) -> tuple["Chunk", "Chunk"]:
        """Return the first rows and the rest."""
        return Chunk(self.table.slice(0, rows), self.number), Chunk(self.table.slice(rows), self.number)
