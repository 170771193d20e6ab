"""Collect the results of a job: several results in one table, those computed from the same rows in one pass.

Columns that a result copies from a row of a stream are already in the driver: Spark returns only the row's number.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from penstock.language.names import named, quoted
from penstock.plan.columns import numbers
from penstock.plan.steps import seq
from penstock.runtime.result_limits import Limit
from penstock.spark.frames import union
from penstock.spark.guarded_fetch import fetched
from penstock.spark.types import column_type

MOST_IN_PASS = 32
"""Most results of one pass: the JVM compiles the code of a longer one badly."""
_KIND = "__k"
_NUMBER = seq(0)
_TAKEN = 100_000
"""Rows looked up at a time: the strings of many more may not fit into one array."""

Slot = tuple[str, int]
"""A column of the table that all results share: its type, and its number among the columns of that type."""


class Origin:
    """The stream rows from which results are computed, one from each: copied columns are looked up here."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._numbers = numbers(table, _NUMBER)
        self._columns: dict[str, pa.Table] = {}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The columns by the SQL that names them, without the row's number, which Spark always returns."""
        return {quoted(name): name for name in self._table.column_names if name != _NUMBER}

    def places(self, rows: pa.Table) -> NDArray[np.int64]:
        """Return the place of the row from which each result was computed."""
        wanted = numbers(rows, _NUMBER)
        if self._has_no_gaps:  # a search took 35 of 450 ms for 2 million results of 200,000 rows
            places: NDArray[np.int64] = wanted - self._numbers[0]
            return places
        return np.searchsorted(self._numbers, wanted)

    @property
    def _has_no_gaps(self) -> bool:
        """Whether the rows have all numbers from the first to the last."""
        held = self._numbers
        return len(held) > 0 and int(held[-1]) - int(held[0]) == len(held) - 1

    def taken(self, column: str, places: NDArray[np.int64]) -> tuple[pa.Field, pa.ChunkedArray]:
        """Return a column of the rows at these places."""
        if column not in self._columns:
            self._columns[column] = self._table.select([column]).combine_chunks()
        held = self._columns[column]
        starts = range(0, max(len(places), 1), _TAKEN)
        parts = pa.concat_tables([held.take(places[start : start + _TAKEN]) for start in starts])
        return parts.field(0), parts.column(0)


@dataclass(frozen=True)
class Rows:
    """Rows that are not computed yet: those of a frame that meet a condition, and columns computed from them."""

    frame: DataFrame
    condition: str | None = None
    columns: tuple[tuple[str, str], ...] | None = None
    """SQL and name of each column; None: as in the frame."""
    origin: Origin | None = None
    """The stream rows from which these are computed, one from each; None if there are none."""

    @property
    def kept(self) -> DataFrame:
        """The rows that meet the condition, with the columns of the frame."""
        return self.frame if self.condition is None else self.frame.filter(self.condition)

    @cached_property
    def made(self) -> DataFrame:
        """The rows with their own columns, as a frame."""
        kept = self.kept
        return kept if self.columns is None else kept.selectExpr(*(named(*each) for each in self.columns))

    def where(self, condition: str) -> "Rows":
        """Return the rows that meet one more condition."""
        both = condition if self.condition is None else f"{self.condition} AND {condition}"
        return replace(self, condition=both)

    @cached_property
    def _copied(self) -> Mapping[str, str]:
        """The columns that are copied from the origin, with their names there."""
        if self.origin is None or self.columns is None:
            return {}
        return {name: self.origin.names[sql] for sql, name in self.columns if sql in self.origin.names}

    @property
    def computed(self) -> "Rows":
        """These rows without the columns that are copied from the origin: what Spark has to compute."""
        if not self._copied:
            return self
        return replace(self, columns=tuple(each for each in self.columns or () if each[1] not in self._copied))

    def completed(self, computed: pa.Table) -> pa.Table:
        """Return the computed columns together with those of the origin."""
        if self.origin is None or not self._copied:
            return computed
        places = self.origin.places(computed)
        fields, columns = [], []
        for _, name in self.columns or ():
            if name in self._copied:
                field, column = self.origin.taken(self._copied[name], places)
            else:
                field, column = computed.field(name), computed.column(name)
            fields.append(field.with_name(name))
            columns.append(column)
        return pa.table(columns, pa.schema(fields))


def collected(results: Mapping[str, Rows], limit: Limit | None = None) -> dict[str, pa.Table]:
    """Run one job for all results, and return each; raise `TooManyResults` if the limit is exceeded."""
    found = _fetched({name: rows.computed for name, rows in results.items()}, limit)
    return {name: rows.completed(found[name]) for name, rows in results.items()}


def _fetched(results: Mapping[str, Rows], limit: Limit | None) -> dict[str, pa.Table]:
    if not results:
        return {}
    if len(results) == 1:
        [(name, rows)] = results.items()
        return {name: fetched(rows.made, limit)}
    passes = [_Pass(each) for each in _passes(list(results.values()))]
    slots = sorted({slot for each in passes for slot in each.slots})
    table = fetched(union([each.packed(slots) for each in passes]), limit)
    kinds = table.column(_KIND).to_numpy()
    unpacked = {}
    for each in passes:
        for number, (names, used) in each.unpacking.items():
            part = table.filter(pa.array(kinds == number)).select([_slot_name(slot) for slot in used])
            unpacked[number] = part.rename_columns(names)
    return {name: unpacked[number] for number, name in enumerate(results)}


def _passes(results: Sequence[Rows]) -> Iterator[dict[int, Rows]]:
    """Group results that are computed from the same rows, by their numbers."""
    same: dict[int, list[int]] = defaultdict(list)
    for number, rows in enumerate(results):
        same[id(rows.frame)].append(number)
    for together in same.values():
        for start in range(0, len(together), MOST_IN_PASS):
            yield {number: results[number] for number in together[start : start + MOST_IN_PASS]}


@dataclass(frozen=True)
class _Pass:
    """Results of the same rows: each row is returned once per result that it belongs to, with its number."""

    results: Mapping[int, Rows]
    unpacking: dict[int, tuple[list[str], list[Slot]]] = field(default_factory=dict)
    """The names of each result's columns, and their slots."""
    _given: dict[Slot, dict[str, list[int]]] = field(default_factory=dict)
    """What goes into a slot: for every expression, the results that have it there."""

    def __post_init__(self) -> None:
        wanted = {number: self._columns_of(rows) for number, rows in self.results.items()}
        expressions = list(dict.fromkeys(sql for columns in wanted.values() for sql, _ in columns))
        typed = self._frame.selectExpr(*(named(sql, str(place)) for place, sql in enumerate(expressions)))
        types = {sql: column_type(each.dataType).name for sql, each in zip(expressions, typed.schema, strict=True)}
        for number, columns in wanted.items():
            used: dict[str, int] = defaultdict(int)
            slots = []
            for sql, _ in columns:
                slot = (types[sql], used[types[sql]])
                used[types[sql]] += 1
                slots.append(slot)
                self._given.setdefault(slot, {}).setdefault(sql, []).append(number)
            self.unpacking[number] = ([name for _, name in columns], slots)

    @property
    def slots(self) -> Sequence[Slot]:
        return list(self._given)

    @property
    def _frame(self) -> DataFrame:
        return next(iter(self.results.values())).frame

    @staticmethod
    def _columns_of(rows: Rows) -> Sequence[tuple[str, str]]:
        return rows.columns or [(quoted(name), name) for name in rows.frame.columns]

    def packed(self, slots: Sequence[Slot]) -> DataFrame:
        """Return the rows of all results, with all slots, also those of other passes."""
        columns = [named(self._filled(slot), _slot_name(slot)) for slot in slots]
        if len(self.results) == 1:
            [(number, rows)] = self.results.items()
            return rows.kept.selectExpr(f"{number} AS {_KIND}", *columns)
        kinds = [
            str(number) if rows.condition is None else f"CASE WHEN {rows.condition} THEN {number} END"
            for number, rows in self.results.items()
        ]
        spread = self._frame.selectExpr("*", f"explode(array({', '.join(kinds)})) AS {_KIND}")
        return spread.filter(f"{_KIND} IS NOT NULL").selectExpr(_KIND, *columns)

    def _filled(self, slot: Slot) -> str:
        """Return the SQL of a slot; it depends on the result that a row is for, if the results differ in it."""
        given = self._given.get(slot)
        if given is None:
            return f"CAST(NULL AS {slot[0]})"
        [first, *others] = given
        if not others and len(given[first]) == len(self.results):
            return first
        cases = [f"WHEN {_KIND} IN ({', '.join(map(str, numbers))}) THEN {sql}" for sql, numbers in given.items()]
        return f"CASE {' '.join(cases)} END"


def _slot_name(slot: Slot) -> str:
    return f"{slot[0]} {slot[1]}"
