"""How many results one job may make, and how many rows it takes so that it does not make more.

All results of a job come to the driver, and a join can make millions of a few rows. What a job will make is
estimated by what jobs before it made. The estimate can be wrong, so a job that might make too many is guarded:
it fails before memory runs out, and is tried again with fewer rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.plan.steps import Join
from penstock.runtime.probes import KEY_TYPES

MOST_RESULTS = 5_000_000
"""Results that a job may make, however small."""
MOST_BYTES = 128 * 1024 * 1024
"""Bytes of results that a job may make, unless the backend has another limit."""
FIRST_ROWS = 1_000
"""Rows that a join takes before anything is known of it, if they could make too many results."""
GROWTH = 10
"""A job takes at most so many times the rows of the largest before it, if they could make too many results."""
_MARGIN = 2.0
"""Jobs take rows for this share of the limit, as the next rows may make more results than the last."""
_FORGET = 0.8
"""The maximum of results per row decays by this factor with each job."""
_RESULT_BYTES = 64.0
"""Bytes of a result, until measured."""


class TooManyResults(Exception):
    """A job was about to make more results than fit. None of them is committed."""


@dataclass(frozen=True)
class Limit:
    """How many results a job may make, in so many tasks at the same time.

    Unless `exact`, each task fails beyond its share, which may be early where one task makes most of the results.
    """

    results: int
    tasks: int = 1
    exact: bool = False

    @property
    def of_a_task(self) -> int:
        """Results that one task may make."""
        return max(self.results // self.tasks, 1)


@dataclass
class _Known:
    """What jobs of a unit made: results of a row, bytes of a result, the most rows that one job took."""

    per_row: float = 0.0
    result_bytes: float = _RESULT_BYTES
    reached: int = 0
    is_measured: bool = False
    has_exceeded: bool = False


class ResultLimits:
    """Learns how many results each unit makes, and limits the rows that a job takes."""

    def __init__(self, most_bytes: float = MOST_BYTES, most_results: int = MOST_RESULTS) -> None:
        self._most_bytes = most_bytes
        self._most_results = most_results
        self._known: dict[str, _Known] = {}

    def results(self, unit: str) -> int:
        """Return how many results of a unit fit."""
        known = self._known.get(unit)
        fitting = self._most_bytes / (known.result_bytes if known else _RESULT_BYTES)
        return max(min(self._most_results, int(fitting)), 1)

    def most_rows(self, unit: str, per_row: float) -> int:
        """Return how many rows of a unit a job takes, if each is expected to make so many results."""
        known = self._known.get(unit)
        if known is None:
            return max(int(self.results(unit) / max(per_row, 1.0)), 1)
        if known.per_row <= 0:
            return self.results(unit)
        return max(int(self.results(unit) / (_MARGIN * known.per_row)), 1)

    def per_row(self, unit: str, expected: float) -> float:
        """Return the results of a row of a unit, as measured, else as expected."""
        known = self._known.get(unit)
        return known.per_row if known is not None and (known.reached or known.has_exceeded) else expected

    def has_exceeded(self, unit: str) -> bool:
        """Whether a job of a unit made too many results before."""
        return unit in self._known and self._known[unit].has_exceeded

    def careful_rows(self, unit: str, safe: int) -> int:
        """Return how many rows a job takes if only `safe` of them cannot make too many results."""
        known = self._known.get(unit) or _Known()
        grown = max(FIRST_ROWS, GROWTH * known.reached)
        if known.per_row > 0:
            grown = min(grown, self.most_rows(unit, 1.0))
        return max(grown, safe, 1)

    def limit(self, units: Iterable[str], rows: int, tasks: int) -> Limit:
        """Return the limit of a job that takes so many rows of these units, in so many tasks at a time.

        It is exact where a single row is left to try.
        """
        names = list(units)
        exact = rows == 1 and any(name in self._known and self._known[name].has_exceeded for name in names)
        return Limit(min(map(self.results, names)), tasks, exact)

    def measured(self, unit: str, rows: int, results: int, taken_bytes: int) -> None:
        """Learn from a job that took so many rows of a unit; 0 bytes if the results are not in memory."""
        known = self._known.setdefault(unit, _Known())
        known.per_row = max(results / rows, _FORGET * known.per_row)
        known.reached = max(known.reached, rows)
        if results and taken_bytes:
            width = taken_bytes / results
            known.result_bytes = max(width, _FORGET * known.result_bytes) if known.is_measured else width
            known.is_measured = True

    def exceeded(self, unit: str, rows: int) -> None:
        """Learn that so many rows made too many results: the next job takes a quarter of them, or fewer."""
        known = self._known.setdefault(unit, _Known())
        known.per_row = max(known.per_row, 4 * self.results(unit) / (_MARGIN * rows))
        known.reached = min(known.reached, max(rows // 4, 1))
        known.has_exceeded = True

    def keep(self, units: Iterable[str]) -> None:
        """Forget what is known of other units."""
        here = set(units)
        self._known = {name: known for name, known in self._known.items() if name in here}


def most_combinations(join: Join, port: int, rows: pa.Table, windows: dict[int, pa.Table]) -> float:
    """Return how many combinations the rows of a port can find at most in the windows of the others.

    Windows are probed in the order that the join has. Where a column must equal one of the probing rows, keys are
    counted; of a later window it is the key that most rows have.
    """
    found = float(rows.num_rows)
    for place, other in enumerate(join.order_from(port)):
        window = windows[other]
        factors = [float(window.num_rows)]
        for condition in join.conditions:
            for (at, column), (there, name) in (condition.equal, condition.equal[::-1]) if condition.equal else ():
                if at == other and column in window.column_names and _is_key(window.column(column)):
                    if place == 0 and there == port and name in rows.column_names:
                        factors.append(_matches(rows.column(name), window.column(column)) / max(rows.num_rows, 1))
                    elif there != other:
                        factors.append(_most_frequent(window.column(column)))
        found *= min(factors)
    return found


def _is_key(column: pa.ChunkedArray) -> bool:
    return any(fits(column.type) for fits in KEY_TYPES)


def _matches(keys: pa.ChunkedArray, column: pa.ChunkedArray) -> float:
    """Return how many pairs of equal values there are at most; as many as there are pairs if types differ."""
    if keys.type != column.type:
        return float(len(keys)) * len(column)
    left, right = pc.value_counts(keys), pc.value_counts(column)
    places = pc.index_in(left.field("values"), value_set=right.field("values"))
    known = places.is_valid().to_numpy(zero_copy_only=False)
    counts = left.field("counts").to_numpy().astype(float)[known]
    others = right.field("counts").to_numpy().astype(float)
    return float(np.dot(counts, others[places.drop_null().to_numpy()])) if known.any() else 0.0


def _most_frequent(column: pa.ChunkedArray) -> float:
    counts = pc.value_counts(column).field("counts")
    return float(pc.max(counts).as_py() or 0)
