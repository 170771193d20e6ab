"""Bins for range conditions of groups: a row is compared only with members whose range touches its bin.

A thousand queries with ``v >= low AND v < high`` are a thousand comparisons per row. With a copy of each member's
constants for every bin that its range touches, Spark finds those of a row's bin by hashing and compares only them.
A number's bin is computed by monotonic steps, so no range misses a number it contains.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.language.names import quoted
from penstock.plan.steps import Lookup

BIN = "__bin"
LEAST_MEMBERS = 32
"""Fewer members are compared as fast as they are looked up."""
COUNTS = (4096, 1024, 256, 64, 16)
"""Numbers of bins to try: the largest that does not make the table too long is used."""
MOST_COPIES = 16
"""The most copies of a member in the table, on average."""
LEAST_GAIN = 4
"""The least factor by which bins must reduce the comparisons per row."""


@dataclass(frozen=True)
class Bins:
    """Bins of equal width; the first and the last have no outer limit."""

    start: float
    width: float
    count: int

    def of(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the bins of numbers.

        >>> Bins(10.0, 5.0, 4).of(np.array([-np.inf, 14.9, 15, 29, 30, 1e300])).tolist()
        [0, 0, 1, 3, 3, 3]
        """
        with np.errstate(over="ignore"):
            places = (values - self.start) / self.width
        return np.floor(np.clip(places, 0, self.count - 1)).astype(np.int64)

    def sql(self, column: str) -> str:
        """Return the bin of a column as SQL. NaN is the greatest number, as in Spark."""
        place = f"(CAST({column} AS DOUBLE) - {self.start!r}D) / {self.width!r}D"
        return f"floor(least(greatest({place}, 0D), {self.count - 1}D))"


def binned(step: Lookup, constants: pa.Table) -> tuple[pa.Table, str]:
    """Return the constants of a group with a row for each bin, and the condition to join them by.

    If bins do not help, both are unchanged.
    """
    for column, (lows, highs) in _ranges(step, constants).items():
        if bins := _worthwhile(lows, highs):
            first, last = bins.of(lows), bins.of(highs)
            copies = np.maximum(last - first + 1, 0)
            which = np.repeat(np.arange(len(copies)), copies)
            place = np.arange(len(which)) - np.repeat(np.cumsum(copies) - copies, copies)
            table = constants.take(which).append_column(BIN, pa.array(first[which] + place))
            return table, f"{bins.sql(f's.{quoted(column)}')} = t.`{BIN}` AND {step.condition}"
    return constants, step.condition


def _ranges(step: Lookup, constants: pa.Table) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return the limits of each member's range, for every column that is bounded on both sides."""
    limits: dict[tuple[str, bool], list[NDArray[np.float64]]] = defaultdict(list)
    for condition in step.conditions:
        for bound in condition.bounds:
            values = [float(value) for value in constants.column(bound.limit).to_pylist()]
            limits[bound.column, bound.lower].append(np.array(values))
    return {
        column: (np.max(lows, axis=0), np.min(limits[column, False], axis=0))
        for (column, lower), lows in list(limits.items())
        if lower and (column, False) in limits
    }


def _worthwhile(lows: NDArray[np.float64], highs: NDArray[np.float64]) -> Bins | None:
    """Return the finest bins without too many copies of members, if they save enough comparisons."""
    if len(lows) < LEAST_MEMBERS:
        return None
    start, end = float(np.quantile(lows, 0.01)), float(np.quantile(highs, 0.99))
    for count in COUNTS:
        bins = Bins(start, (end - start) / count, count)
        if not (bins.width > 0 and np.isfinite(bins.width)):
            return None
        copies = int(np.maximum(bins.of(highs) - bins.of(lows) + 1, 0).sum())
        if copies <= MOST_COPIES * len(lows):
            return bins if copies * LEAST_GAIN <= count * len(lows) else None
    return None
