"""Run units as one Spark job: their operators are combined into one plan."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from penstock.formats.parquet_scan import RowFilter
from penstock.formats.row_filter import all_of, any_of, row_filter
from penstock.language.names import named, quoted
from penstock.network import Edge
from penstock.plan.columns import hidden_in, numbers
from penstock.plan.steps import (
    ARRIVAL,
    POSITION,
    TIME,
    Aggregate,
    Close,
    Columns,
    Join,
    Lookup,
    Order,
    Project,
    Select,
    seq,
)
from penstock.runtime.admission import time_name
from penstock.runtime.rows.job_input import InputRows
from penstock.runtime.rows.place_choice import PlaceChoice
from penstock.runtime.rows.written import WriteTarget
from penstock.runtime.work import Outcome, Work
from penstock.spark.aggregation import Aggregation
from penstock.spark.collect import Origin, Rows, collected
from penstock.spark.frames import Frames, union
from penstock.spark.guarded_fetch import guarded, too_many
from penstock.spark.stored_frames import HIDDEN, arrivals_of, stored_frame
from penstock.spark.window_joins import WindowJoins
from penstock.spark.write_results import Counted, observed_values, write_results

_MOST_FILTERS = 8
"""Several filters together hardly ever leave few rows."""


class JobBuilder:
    """Builds the plan of a job and runs it."""

    def __init__(self, frames: Frames, work: Work, places: PlaceChoice | None = None, tasks: int = 4) -> None:
        self._tasks = tasks
        """Files that a job writes at most."""
        self._frames = frames
        self._places = places or PlaceChoice()
        self._work = work
        self._observed: dict[str, Observation] = {}
        self._entry_rows: dict[tuple[str, int], int] = defaultdict(int)
        self._arriving: dict[tuple[str, int], list[Rows]] = defaultdict(list)
        self._feeds: dict[tuple[str, int], list[str]] = defaultdict(list)
        self._given: dict[int, Rows] = {}
        self._arrivals = self._known_arrivals()
        """The arrivals of all rows, if the job gets only their places in this list."""
        self._joins = WindowJoins(frames, work, tasks, self._through_path, self._arrivals)
        self._aggregation = Aggregation(frames, work)
        self._mirrored: dict[str, str] = {}
        """Operators below a projection, which outputs as many rows as it takes: its count is theirs."""

    def run(self) -> Outcome:
        """Build the plan, run it as one job, and return its outcome."""
        leaving = self._build()
        if self._work.discard:
            for each in leaving.values():
                with too_many():
                    guarded(each.made, self._work.limit).write.format("noop").mode("overwrite").save()
            return Outcome({}, {}, {}, 0)
        if self._work.target is not None:
            return self._written(leaving, self._work.target)
        rows = {name: self._arrived(table) for name, table in collected(leaving, self._work.limit).items()}
        if self._work.only is not None:  # observed operators may not have run
            return Outcome(rows, {}, {}, 0)
        return self._outcome(rows, {name: table.num_rows for name, table in rows.items()})

    def _known_arrivals(self) -> list[int] | None:
        """Return the arrivals of the rows, if these are stored, and no join compares them with times."""
        takes = self._work.takes.values()
        others = [window for both in self._work.symmetric.values() for window in both.others]
        resident = any(taken.table is not None for taken in takes) or any(each.table.num_rows for each in others)
        if self._work.numbered or resident:
            return None
        stored = [rows for taken in takes for rows in taken.stored]
        stored += [rows for window in others for rows in window.stored]
        timed = all(time_name(rows.batch.stream) is not None for rows in stored)
        return arrivals_of(stored) if timed or not self._work.symmetric else None

    def _written(self, leaving: Mapping[str, Rows], target: WriteTarget) -> Outcome:
        """Let executors write the results; return how many there are."""
        rows = leaving[target.operator].made
        first_us = min(taken.arrival for taken in self._work.takes.values())
        counted = Counted(self._arrivals, first_us)
        written = write_results(rows, target, self._work.limit, counted, self._tasks)
        return replace(self._outcome({}, {target.operator: written.rows}), written=written)

    def _arrived(self, table: pa.Table) -> pa.Table:
        """Return rows with their arrivals instead of the places of these."""
        if self._arrivals is None or ARRIVAL not in table.column_names:
            return table
        arrivals = pa.array(np.asarray(self._arrivals)[numbers(table, ARRIVAL)], pa.int64())
        return table.set_column(table.column_names.index(ARRIVAL), ARRIVAL, arrivals)

    def _outcome(self, rows: Mapping[str, pa.Table], made: dict[str, int]) -> Outcome:
        counts = {name: _counted(observation) for name, observation in self._observed.items()}
        made |= {name: count for name, count in counts.items() if count is not None}
        made |= {name: made[above] - self._entry_rows[above, 0] for name, above in self._mirrored.items()}
        ports = {name: found for name in made if (found := self._taken(name, made)) is not None}
        taken = {name: sum(by_port) for name, by_port in ports.items()}
        joins = {name: by_port for name, by_port in ports.items() if len(by_port) > 1}
        return Outcome(rows, taken, made, self._joins.window_rows, joins)

    def _taken(self, name: str, made: Mapping[str, int]) -> tuple[int, ...] | None:
        """Return how many rows an operator took from each port; None if the counts below it are unknown."""
        ports = [(name, port) for port in range(len(self._work.plan.network.in_edges[name]))]
        if not made.keys() >= {source for port in ports for source in self._feeds[port]}:
            return None
        return tuple(self._entry_rows[port] + sum(made[source] for source in self._feeds[port]) for port in ports)

    def result(self, operator: str) -> DataFrame:
        """Return an operator's output as a frame that has not run yet."""
        return self._build()[operator].made

    def _build(self) -> dict[str, Rows]:
        network = self._work.plan.network
        roots = self._work.plan.roots
        for edge, taken in self._work.takes.items():
            closing = self._work.closing.get(edge.target)
            rows = self._entry(edge, taken) if closing is None else Rows(self._aggregation.closed(edge.target))
            self._arriving[edge.target, edge.port].append(rows)
            self._entry_rows[edge.target, edge.port] += (closing or taken).num_rows
        leaving: dict[str, Rows] = {}
        for operator in network.operators:
            name = operator.name
            inputs = {
                edge.port: self._together(edge)
                for edge in network.in_edges[name]
                if (edge.target, edge.port) in self._arriving
            }
            if not inputs:
                continue
            rows = self._apply(name, inputs)
            onward = [edge for edge in network.out_edges.get(name, ()) if edge in self._work.through]
            stays = any(edge not in self._work.through for edge in network.out_edges.get(name, ()))
            if name in roots or stays:
                leaving[name] = self._pruned(name, rows, root=name in roots)
            for edge, each in zip(onward, self._handed_on(name, rows, onward, name in leaving), strict=True):
                self._arriving[edge.target, edge.port].append(each)
                self._feeds[edge.target, edge.port].append(name)
        if self._work.only is not None:
            leaving = {name: rows for name, rows in leaving.items() if name in self._work.only}
        return leaving

    def _handed_on(self, name: str, rows: Rows, onward: Sequence[Edge], leaves: bool) -> list[Rows]:
        """Return the rows that pass through each edge; they are counted, unless another operator's count tells."""
        if len(onward) > 1:
            rows = Rows(rows.made, origin=rows.origin)
        if leaves or not onward:
            return [rows] * len(onward)
        for edge in onward:
            if isinstance(self._work.plan.steps[edge.target], Project):
                self._mirrored[name] = edge.target
                return [rows] * len(onward)
        self._observed[name] = Observation()
        counted = Rows(rows.made.observe(self._observed[name], F.expr("count(1) AS n")), origin=rows.origin)
        return [counted, *([rows] * (len(onward) - 1))]

    def _entry(self, edge: Edge, taken: InputRows) -> Rows:
        """Return the rows that wait at an entry.

        Rows from before a query began have NULL in the columns that only it reads; it drops these rows anyway.
        """
        if taken.table is None:
            return self._rows_of(taken)
        missing = [name for name in sorted(self._work.wanted[edge]) if name not in taken.table.column_names]
        if not missing:
            return self._rows_of(taken)
        types = [self._work.plan.type_of(edge.source, name) for name in missing]
        added = [named(f"CAST(NULL AS {kind})", name) for kind, name in zip(types, missing, strict=True)]
        rows = self._rows_of(taken)
        return replace(rows, frame=rows.frame.selectExpr("*", *added))

    def _rows_of(self, taken: InputRows) -> Rows:
        """Return taken rows with the columns that some entry reads; entries share one frame."""
        if id(taken) not in self._given:
            edges = [edge for edge, rows in self._work.takes.items() if rows is taken]
            wanted: Columns = frozenset().union(*(self._work.wanted[edge] for edge in edges))
            self._given[id(taken)] = self._read(taken, sorted(wanted), edges)
        return self._given[id(taken)]

    def _read(self, taken: InputRows, wanted: list[str], edges: Sequence[Edge]) -> Rows:
        table = taken.table
        of_a_stream = edges[0].source in self._work.plan.network.stream_by_name
        filtered = taken.stored and len(edges) <= _MOST_FILTERS
        where = any_of([self._filter_at(edge) for edge in edges]) if filtered else None
        if table is None:
            return Rows(self._stored(taken, wanted, where))
        names = [name for name in wanted if name in table.column_names]
        if not taken.stored:
            start = time.perf_counter()
            given = table.select(list(dict.fromkeys([*names, *hidden_in(table)])))
            frame = self._frames.of(given, self._work.partitions)
            self._places.handed_over(given.nbytes, time.perf_counter() - start)
            return Rows(frame, origin=Origin(table) if of_a_stream else None)
        resident = self._frames.of(table.select([*names, *HIDDEN]), self._work.partitions)
        return Rows(union([resident, self._stored(taken, names, where)]))

    def _filter_at(self, edge: Edge) -> RowFilter | None:
        """Return a filter of the rows that an entry's selection keeps, if executors can scan files with it."""
        step = self._work.plan.steps[edge.target]
        if not isinstance(step, Select):
            return None
        kinds = {name: self._work.plan.type_of(edge.source, name) for name in self._work.wanted[edge]}
        found = [row_filter(each.sql, kinds) for each in step.conditions if not each.late]
        return all_of([each for each in found if each is not None])

    def _stored(self, taken: InputRows, names: list[str], where: RowFilter | None) -> DataFrame:
        start = time.perf_counter()
        frame = stored_frame(
            self._frames.spark,
            taken.stored,
            [name for name in names if name != POSITION],
            numbered=self._work.numbered,
            arrivals=self._arrivals,
            where=where,
        )
        if POSITION in names:
            columns = [
                f"{seq(0)} - {taken.before}L AS {POSITION}" if name == POSITION else quoted(name) for name in names
            ]
            frame = frame.selectExpr(*columns, *HIDDEN)
        self._places.planned(time.perf_counter() - start)
        return frame

    def _together(self, edge: Edge) -> Rows:
        """Return all rows of an edge: from its queue, and from the operator below in the same job."""
        several = self._arriving[edge.target, edge.port]
        if len(several) == 1:
            return several[0]
        names = [*sorted(self._work.wanted[edge]), *self._hidden(edge.source)]
        return Rows(union([rows.made.select(*map(quoted, names)) for rows in several]))

    def _pruned(self, name: str, rows: Rows, *, root: bool) -> Rows:
        if root or isinstance(self._work.plan.steps[name], Aggregate | Project):
            return rows
        edges = self._work.plan.network.out_edges[name]
        wanted: Columns = frozenset().union(*(self._work.wanted[edge] for edge in edges))
        names = [*sorted(wanted), *self._hidden(name)]
        return replace(rows, columns=tuple((quoted(each), each) for each in names))

    def _hidden(self, name: str) -> list[str]:
        """Return the hidden columns of the rows of a stream or an operator."""
        return [TIME, ARRIVAL, *(seq(place) for place in range(self._streams_below(name)))]

    def _streams_below(self, name: str) -> int:
        """Return how many sequence numbers the rows of a stream or an operator have."""
        step = self._work.plan.steps.get(name)
        while step is not None and not isinstance(step, Join | Order):
            name = self._work.plan.network.operator(name).inputs[0]
            step = self._work.plan.steps.get(name)
        return len(step.ports) if isinstance(step, Join) else 1

    # Operators ----------------------------------------------------------------------------------------------

    def _apply(self, name: str, inputs: Mapping[int, Rows]) -> Rows:
        step = self._work.plan.steps[name]
        if isinstance(step, Join):
            return Rows(self._joins.joined(name, step, {port: rows.made for port, rows in inputs.items()}))
        if isinstance(step, Order):
            return Rows(union([_in_order(step, port, rows.made) for port, rows in inputs.items()]))
        if isinstance(step, Aggregate):
            return Rows(self._aggregation.partial(name, step, inputs[0].made))
        if isinstance(step, Close):
            if name in self._work.closing:
                return inputs[0]
            return Rows(self._aggregation.checked(name, step, inputs[0].made))
        onward = self._work.plan.network.out_edges.get(name, ())
        is_timed = any(isinstance(self._work.plan.steps[edge.target], Order) for edge in onward)
        return self._applied(step, inputs[0], self._streams_below(name), is_timed=is_timed)

    def _applied(
        self, step: Select | Lookup | Project, rows: Rows, streams: int, *, is_timed: bool = False
    ) -> Rows:
        if isinstance(step, Select):
            return rows.where(step.sql)
        if isinstance(step, Lookup):
            return Rows(self._look_up(step, rows.made), origin=rows.origin)
        hidden = [ARRIVAL, *(seq(place) for place in range(streams))]
        hidden += [TIME] if is_timed else []  # only the rows of a derived stream carry a time
        return replace(rows, columns=(*step.columns, *((quoted(each), each) for each in hidden)))

    def _through_path(self, frame: DataFrame, path: Sequence[str]) -> DataFrame:
        """Return the rows of a window after the operators below the join."""
        rows = Rows(frame)
        for name in path:
            step = self._work.plan.steps[name]
            assert isinstance(step, Select | Lookup)
            rows = self._applied(step, rows, 1)
        return rows.made

    def _look_up(self, step: Lookup, frame: DataFrame) -> DataFrame:
        name = step.table.name
        if step.table.is_constants:
            table, condition = self._frames.constants(step, self._work.constants[name])
        else:
            table, condition = self._frames.stored[name], step.condition
        added = [named(f"t.{quoted(column)}", name) for name, column in step.makes.items()]
        source, table = frame.alias("s"), table.alias("t")
        if step.outer:
            joined = source.join(table, F.expr(condition), "left")
        else:
            joined = source.join(table, F.expr(condition)) if condition else source.crossJoin(table)
        return joined.selectExpr("s.*", *added)


def _in_order(step: Order, port: int, rows: DataFrame) -> DataFrame:
    """Return the rows of a branch of a derived stream with the columns of the stream, to see their types."""
    pairs = zip(step.branches[port], step.columns, strict=True)
    columns = [named(quoted(name), column.name) for name, column in pairs]
    numbers_of_rows = (f"CAST(NULL AS BIGINT) AS {each}" for each in (seq(0), POSITION))
    return rows.selectExpr(*columns, TIME, ARRIVAL, *numbers_of_rows)


def _counted(observation: Observation) -> int | None:
    """Return an observed count; None if Spark optimized the rows away and never computed them."""
    count = observed_values(observation).get("n")
    return None if count is None else int(count)
