"""Aggregates as Spark frames: partial ones by pane, and those of the windows that close."""

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.language.names import named, quoted
from penstock.language.statements import WINDOW_END, WINDOW_START
from penstock.plan.aggregates import Kept, kept
from penstock.plan.plan import Plan
from penstock.plan.steps import (
    ARRIVAL,
    BLOCK,
    EXTRA,
    MEMBER,
    PANE,
    POSITION,
    TIME,
    VARIANT,
    Aggregate,
    Call,
    Close,
    seq,
)
from penstock.runtime.closings import FROM, UNTIL
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.work import PARTITION_ROWS, ClosingPanes, Work
from penstock.shedding.drop_box import WHOLE, extra_sql
from penstock.spark.frames import Frames
from penstock.spark.stored_frames import stored_frame
from penstock.spark.types import column_type

_HIDDEN = ((TIME, "BIGINT"), (seq(0), "BIGINT"), (ARRIVAL, "BIGINT"), (EXTRA, "DECIMAL(12, 6)"))
SINGLE_ROWS = 100_000
"""Rows that one task sums up: Spark need not shuffle them then."""
_FIRST_ARRIVAL = f"min({ARRIVAL}) AS {ARRIVAL}"
_PANE_AND_BLOCK = (
    f"CASE WHEN {BLOCK} = 0 THEN array(named_struct('t', {TIME}, 'b', 0L)) ELSE array("
    f"named_struct('t', {TIME}, 'b', -{BLOCK}), named_struct('t', {TIME} - pmod({TIME}, {BLOCK}), 'b', {BLOCK})"
    ") END"
)
"""For a partial aggregate of a pane: the rows that it becomes, as beginnings and `BLOCK`."""


class Aggregation:
    """Builds the aggregates of a job."""

    def __init__(self, frames: Frames, work: Work) -> None:
        self._frames = frames
        self._work = work
        self._is_small = sum(rows.num_rows for rows in work.takes.values()) <= SINGLE_ROWS

    def partial(self, name: str, step: Aggregate, rows: DataFrame) -> DataFrame:
        """Return one row for each pane and group of some rows, and for each block and group.

        They are merged with older ones if the job has some.
        """
        network = self._work.plan.network
        wanted = frozenset().union(*(self._work.wanted[edge] for edge in network.out_edges[name]))
        below = network.operator(name).inputs[0]
        parts = [part for call in step.wanted_calls(wanted) for part in self._kept(below, call).parts]
        size = quoted(step.pane_column) if step.pane_column else f"{step.pane}L"
        columns = [named(key.sql, key.name) for key in step.keys]
        columns.append(f"{extra_sql(self._work.boxes.get(name, WHOLE), seq(0))} AS {EXTRA}")
        keys = [quoted(key.name) for key in step.keys]
        rows = rows.coalesce(1) if self._is_small else rows
        at = TIME if step.by == "range" else POSITION
        if step.by == "rows":  # rows from before rows were counted are in no window
            rows = rows.filter(f"{POSITION} IS NOT NULL")
        block = quoted(step.block_column) if step.block_column else f"{self._work.plan.block_of(name)}L"
        made = (
            rows.selectExpr("*", *columns, f"{at} - pmod({at}, {size}) AS {PANE}")
            .groupBy(*keys, F.expr(f"{PANE} AS {TIME}"))
            .agg(
                F.expr(_FIRST_ARRIVAL),
                F.expr(f"first({block}) AS {BLOCK}"),
                *(F.expr(named(part.made, part.name)) for part in parts),
            )
        )
        has_blocks = block != "0L"
        if has_blocks:
            names = [*keys, ARRIVAL, *(quoted(part.name) for part in parts)]
            made = made.selectExpr(*names, f"inline({_PANE_AND_BLOCK}) AS ({TIME}, {BLOCK})")
        older = self._work.merged.get(name)
        if older is not None:
            made = self._with_older(made, older)
        if has_blocks or older is not None:
            merged = [F.expr(named(part.merged, part.name)) for part in parts]
            made = made.groupBy(*keys, TIME, BLOCK).agg(F.expr(_FIRST_ARRIVAL), *merged)
        return made

    def _with_older(self, made: DataFrame, older_rows: pa.Table) -> DataFrame:
        older = self._frames.of(older_rows, 1 + older_rows.num_rows // PARTITION_ROWS)
        both = made.unionByName(older, allowMissingColumns=True)
        return both.coalesce(1) if self._is_small and older_rows.num_rows <= SINGLE_ROWS else both

    def closed(self, name: str) -> DataFrame:
        """Return the groups of the windows that close, with their aggregates."""
        step, closing = self._work.plan.steps[name], self._work.closing[name]
        assert isinstance(step, Close)
        if not closing.stored and closing.most_rows <= SINGLE_ROWS:  # one task without a join is quicker
            joined = self._with_parts(name, step, self._frames.of(closing.joined())).coalesce(1)
        else:
            joined = self._joined(step, self._partial_rows(name, step, closing), self._frames.of(closing.windows))
        return self._merged(name, step, joined)

    def checked(self, name: str, step: Close, rows: DataFrame) -> DataFrame:
        """Return the groups of no windows: Spark then tells their types."""
        numbers = (MEMBER, VARIANT) if step.group else ()
        member = "".join(f"CAST(NULL AS INT) AS {each}, " for each in numbers)
        columns = (f"CAST(NULL AS BIGINT) AS {each}" for each in (seq(0), FROM, UNTIL, TIME, ARRIVAL, PANE, BLOCK))
        none = self._frames.spark.sql(f"SELECT {member}{', '.join(columns)} WHERE false")
        return self._merged(name, step, self._joined(step, rows, none))

    def _partial_rows(self, name: str, step: Close, closing: ClosingPanes) -> DataFrame:
        rows = closing.rows
        partitions = 1 + rows.num_rows // PARTITION_ROWS
        frame = self._with_parts(name, step, self._frames.of(rows, partitions))
        if not closing.stored:
            return frame.coalesce(1) if partitions == 1 else frame  # Spark need not shuffle a single partition
        names = sorted({column.name for each in closing.stored for column in each.batch.stream.columns})
        stored = [self._stored(each, [n for n in names if n in each.batch.names]) for each in closing.stored]
        return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), stored, frame)

    def _with_parts(self, name: str, step: Close, rows: DataFrame) -> DataFrame:
        """Return partial aggregates with all parts; older ones may lack those that newer queries need."""
        there = set(rows.columns)
        types = (each for call in step.calls for each in self._part_types(name, call))
        missing = [named(f"CAST(NULL AS {kind})", part) for part, kind in types if part not in there]
        return rows.selectExpr("*", *missing) if missing else rows

    def _joined(self, step: Close, rows: DataFrame, windows: DataFrame) -> DataFrame:
        """Return partial aggregates, each once for every window that consists of it, with the window's columns."""
        same = f"p.{TIME} = w.{PANE} AND p.{BLOCK} = w.{BLOCK}"
        same += f" AND p.{VARIANT} = w.{VARIANT}" if step.by_variant else ""
        both = rows.alias("p").join(F.broadcast(windows).alias("w"), F.expr(same))
        parts = (f"p.{quoted(column)}" for column in rows.columns if column not in windows.columns)
        return both.select(*parts, "w.*")

    def _stored(self, rows: StoredRows, names: Sequence[str]) -> DataFrame:
        return stored_frame(self._frames.spark, [rows], names).drop(seq(0))

    def _merged(self, name: str, step: Close, joined: DataFrame) -> DataFrame:
        """Return the aggregates of windows, from partial ones that were joined with them."""
        below = self._below(name)
        every = [self._kept(below, call) for call in step.calls]
        keys = [quoted(key.name) for key in step.keys if not key.is_variant]
        member = [MEMBER] if step.group else []
        times = [f"min({each}) AS {each}" for each in (FROM, UNTIL, TIME, ARRIVAL)]
        parts = [named(part.merged, part.name) for each in every for part in each.parts]
        results = [named(each.result, call.name) for call, each in zip(step.calls, every, strict=True)]
        shown = [f"timestamp_micros({FROM}) AS {WINDOW_START}", f"timestamp_micros({UNTIL}) AS {WINDOW_END}"]
        grouped = joined.groupBy(*keys, *member, seq(0)).agg(*map(F.expr, [*times, *parts]))
        return grouped.selectExpr(*keys, *results, *shown, *member, TIME, ARRIVAL, seq(0))

    # Types --------------------------------------------------------------------------------------------------

    def _below(self, close: str) -> str:
        """Return what the partial aggregates are made of that an operator merges."""
        network = self._work.plan.network
        return network.operator(network.operator(close).inputs[0]).inputs[0]

    def _kept(self, below: str, call: Call) -> Kept:
        """Return how an aggregate is kept; Spark is asked once for the types of its arguments."""
        types = _types_below(self._work.plan, below, call)

        def ask() -> Kept:
            fields = self._no_rows(types).selectExpr(*call.arguments).schema.fields if call.arguments else []
            return kept(call, [column_type(field.dataType).name for field in fields])

        return self._frames.cached(("kept", types, call.sql), ask)

    def _part_types(self, close: str, call: Call) -> Sequence[tuple[str, str]]:
        """Return the columns in which an aggregate is kept, with their types."""
        below = self._below(close)
        types = _types_below(self._work.plan, below, call)

        def ask() -> list[tuple[str, str]]:
            made = [F.expr(named(part.made, part.name)) for part in self._kept(below, call).parts]
            return [
                (field.name, field.dataType.simpleString()) for field in self._no_rows(types).agg(*made).schema
            ]

        return self._frames.cached(("parts", types, call.sql), ask)

    def _no_rows(self, types: Sequence[tuple[str, str]]) -> DataFrame:
        columns = [named(f"CAST(NULL AS {kind})", column) for column, kind in (*types, *_HIDDEN)]
        return self._frames.spark.sql(f"SELECT {', '.join(columns)} WHERE false")


def _types_below(plan: Plan, below: str, call: Call) -> tuple[tuple[str, str], ...]:
    """Return the columns that an aggregate reads, with their types."""
    return tuple((column, plan.type_of(below, column)) for column in sorted(call.columns))
