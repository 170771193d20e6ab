"""One run of a unit as one Spark job: its operators fused into a plan, what leaves it told apart by a number."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from penstock.language.plan import Plan
from penstock.language.steps import ARRIVAL, TIME, Columns, Join, Lookup, Project, Select, seq
from penstock.network import Edge
from penstock.spark.columns import hidden_in
from penstock.spark.frames import Frames, arrow_frame
from penstock.spark.log import EXPIRES

BROADCAST_ROWS = 200_000
"""A side of a join with at most this many rows is sent to all tasks, rather than both being shuffled."""
PARTITION_ROWS = 50_000
"""Rows of a window that one task looks through."""
_BRANCH = "__k"


@dataclass(frozen=True)
class Work:
    """Everything a job needs: rows by entry, the edges it goes on through, and what the probes will see.

    `probes` are, for every join, port and other port, the rows of the other's window.
    """

    plan: Plan
    takes: Mapping[Edge, pa.Table]
    through: frozenset[Edge]
    probes: Mapping[tuple[str, int, int], pa.Table] = field(default_factory=dict)
    wanted: Mapping[Edge, Columns] = field(default_factory=dict)
    constants: Mapping[str, pa.Table] = field(default_factory=dict)
    """What the members of each group differ in, by the group's name."""
    partitions: int = 1
    """Into how many parts the rows of an entry are cut."""
    only: frozenset[str] | None = None
    """The operators whose output is wanted; None: all that has one."""


@dataclass(frozen=True)
class Outcome:
    """What a job made: the rows that leave, by operator, and how many each operator took and made."""

    rows: Mapping[str, pa.Table]
    taken: Mapping[str, int]
    made: Mapping[str, int]
    window_rows: int


class Builder:
    """Puts the plan of a job together."""

    def __init__(self, frames: Frames, work: Work) -> None:
        self._frames = frames
        self._work = work
        self._observed: dict[str, Observation] = {}
        self._entry_rows: dict[str, int] = defaultdict(int)
        self._arriving: dict[tuple[str, int], list[DataFrame]] = defaultdict(list)
        self._feeds: dict[str, list[str]] = defaultdict(list)
        self._rows = sum(table.num_rows for table in work.takes.values())
        self._window_rows = 0
        self._given: dict[int, tuple[DataFrame, list[str]]] = {}

    def run(self) -> Outcome:
        """Build the plan, run it as one job, and return what it made."""
        leaving = self._build()
        rows = self._collect(leaving)
        made = {name: table.num_rows for name, table in rows.items()}
        if self._work.only is not None:  # what was observed may not have run
            return Outcome(rows, {}, {}, 0)
        counts = {name: _counted(observation) for name, observation in self._observed.items()}
        made |= {name: count for name, count in counts.items() if count is not None}
        taken = {
            name: self._entry_rows[name] + sum(made[source] for source in self._feeds[name])
            for name in made
            if made.keys() >= set(self._feeds[name])
        }
        return Outcome(rows, taken, made, self._window_rows)

    def result(self, operator: str) -> DataFrame:
        """Return an operator's output, not run yet."""
        return self._build()[operator]

    def _build(self) -> dict[str, DataFrame]:
        network = self._work.plan.network
        roots = self._work.plan.roots
        for edge, table in self._work.takes.items():
            self._arriving[edge.target, edge.port].append(self._entry(edge, table))
            self._entry_rows[edge.target] += table.num_rows
        leaving: dict[str, DataFrame] = {}
        for operator in network.operators:
            inputs = {
                edge.port: self._together(edge)
                for edge in network.in_edges[operator.name]
                if (edge.target, edge.port) in self._arriving
            }
            if not inputs:
                continue
            made = self._apply(operator.name, inputs)
            onward = [edge for edge in network.out_edges.get(operator.name, ()) if edge in self._work.through]
            stays = any(edge not in self._work.through for edge in network.out_edges.get(operator.name, ()))
            if operator.name in roots or stays:
                leaving[operator.name] = self._pruned(operator.name, made, root=operator.name in roots)
            observed = made
            if onward and operator.name not in leaving:
                self._observed[operator.name] = Observation()
                observed = made.observe(self._observed[operator.name], F.count(F.lit(1)).alias("n"))
            for place, edge in enumerate(onward):
                self._arriving[edge.target, edge.port].append(made if place else observed)
                self._feeds[edge.target].append(operator.name)
        if self._work.only is not None:
            leaving = {name: frame for name, frame in leaving.items() if name in self._work.only}
        return leaving

    def _entry(self, edge: Edge, table: pa.Table) -> DataFrame:
        """Return the rows that wait at an entry, with the columns that are wanted of them.

        A column that a later query asked for is NULL in rows that were made before it came; it drops them anyway.
        """
        wanted = sorted(self._work.wanted[edge])
        here = [name for name in wanted if name in table.column_names]
        frame, names = self._rows_of(table)
        if len(names) > len(here):
            frame = frame.select(*(F.col(f"`{name}`") for name in (*here, *hidden_in(table))))
        for name in wanted:
            if name not in here:
                frame = frame.withColumn(name, F.lit(None).cast(self._work.plan.type_of(edge.source, name)))
        return frame

    def _rows_of(self, table: pa.Table) -> tuple[DataFrame, list[str]]:
        """Return rows as a frame, made once for all entries that take them, and which columns these want of it."""
        if id(table) not in self._given:
            edges = [edge for edge, rows in self._work.takes.items() if rows is table]
            wanted: Columns = frozenset().union(*(self._work.wanted[edge] for edge in edges))
            names = [name for name in sorted(wanted) if name in table.column_names]
            frame = self._frame(table.select([*names, *hidden_in(table)]), self._work.partitions)
            self._given[id(table)] = (frame, names)
        return self._given[id(table)]

    def _together(self, edge: Edge) -> DataFrame:
        """Return all rows that come by an edge: from its queue, and from the operator below in the same run."""
        frames = self._arriving[edge.target, edge.port]
        if len(frames) == 1:
            return frames[0]
        names = [*sorted(self._work.wanted[edge]), *self._hidden(edge.source)]
        return _union([frame.select(*(F.col(f"`{name}`") for name in names)) for frame in frames])

    def _frame(self, table: pa.Table, partitions: int = 1) -> DataFrame:
        return arrow_frame(self._frames.spark, table, partitions)

    def _pruned(self, name: str, frame: DataFrame, *, root: bool) -> DataFrame:
        if root:
            return frame
        edges = self._work.plan.network.out_edges[name]
        wanted: Columns = frozenset().union(*(self._work.wanted[edge] for edge in edges))
        return frame.select(*(F.col(f"`{each}`") for each in (*sorted(wanted), *self._hidden(name))))

    def _hidden(self, name: str) -> list[str]:
        """Return the columns of Penstock's own that a row of a stream or an operator carries."""
        return [TIME, ARRIVAL, *(seq(place) for place in range(self._streams_below(name)))]

    def _streams_below(self, name: str) -> int:
        """Return how many sequence numbers a row of a stream or an operator carries."""
        step = self._work.plan.steps.get(name)
        while step is not None and not isinstance(step, Join):
            name = self._work.plan.network.operator(name).inputs[0]
            step = self._work.plan.steps.get(name)
        return 1 if step is None else len(step.ports)

    # Operators ----------------------------------------------------------------------------------------------

    def _apply(self, name: str, inputs: Mapping[int, DataFrame]) -> DataFrame:
        step = self._work.plan.steps[name]
        if isinstance(step, Join):
            return _union([self._probe(name, step, port, frame) for port, frame in inputs.items()])
        return self._applied(step, inputs[0], self._streams_below(name))

    def _applied(self, step: Select | Lookup | Project, frame: DataFrame, streams: int) -> DataFrame:
        if isinstance(step, Select):
            return frame.filter(step.sql)
        if isinstance(step, Lookup):
            return self._look_up(step, frame)
        hidden = [ARRIVAL, *(seq(place) for place in range(streams))]  # the time of a result is nobody's business
        columns = (F.expr(expression).alias(name) for expression, name in step.columns)
        return frame.select(*columns, *(F.col(each) for each in hidden))

    def _look_up(self, step: Lookup, frame: DataFrame) -> DataFrame:
        name = step.table.name
        if step.table.is_constants:
            table = self._frames.constants(name, self._work.constants[name]).alias("t")
        else:
            table = self._frames.stored[name].alias("t")
        names = [F.col(f"s.`{each}`") for each in frame.columns]
        added = [F.col(f"t.`{column}`").alias(name) for name, column in step.makes.items()]
        source = frame.alias("s")
        joined = source.join(table, F.expr(step.condition)) if step.conditions else source.crossJoin(table)
        return joined.select(*names, *added)

    def _probe(self, name: str, join: Join, port: int, frame: DataFrame) -> DataFrame:
        """Join the rows of one port, each the last of its combination, with what the others' windows hold then."""
        joined = frame.alias(f"p{port}")
        taken = {port}
        waiting = list(join.conditions)
        wanted = self._wanted_of(name, join)
        for other in join.order_from(port):
            found, window_rows = self._window_frame(name, join, port, other)
            taken.add(other)
            conditions = [*_in_window(join, port, other)]
            conditions += [f"({each.sql})" for each in waiting if each.ports <= taken]
            waiting = [each for each in waiting if not each.ports <= taken]
            if len(taken) == 2 and self._rows < window_rows and self._rows <= BROADCAST_ROWS:
                joined = F.broadcast(frame).alias(f"p{port}")
            elif window_rows <= BROADCAST_ROWS:
                found = F.broadcast(found)
            joined = joined.join(found.alias(f"p{other}"), F.expr(" AND ".join(conditions)))
        columns = [
            F.col(f"p{each}.`{column}`").alias(Join.named(each, column))
            for each in range(len(join.ports))
            for column in sorted(wanted[each])
        ]
        sequences = [F.col(f"p{each}.`{seq(0)}`").alias(seq(each)) for each in range(len(join.ports))]
        arrival = F.greatest(*(F.col(f"p{each}.{ARRIVAL}") for each in range(len(join.ports)))).alias(ARRIVAL)
        return joined.select(*columns, F.col(f"p{port}.{TIME}").alias(TIME), arrival, *sequences)

    def _wanted_of(self, name: str, join: Join) -> Sequence[Columns]:
        """Return for every port the columns that are read behind the join."""
        edges = self._work.plan.network.out_edges.get(name, ())
        after: Columns = frozenset().union(*(self._work.wanted[edge] for edge in edges))
        return Join(join.ports, ()).reads(after)

    def _window_frame(self, name: str, join: Join, port: int, other: int) -> tuple[DataFrame, int]:
        window = self._work.probes[name, port, other]
        self._window_rows += window.num_rows
        frame = self._frame(window, 1 + window.num_rows // PARTITION_ROWS)
        for each in join.ports[other].path:
            step = self._work.plan.steps[each]
            assert isinstance(step, Select | Lookup)
            frame = self._applied(step, frame, 1)
        return frame, window.num_rows

    # The job ------------------------------------------------------------------------------------------------

    def _collect(self, leaving: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
        if not leaving:
            return {}
        if len(leaving) == 1:
            [(name, frame)] = leaving.items()
            return {name: frame.toArrow()}
        packed = [_Packed.of(frame) for frame in leaving.values()]
        slots = list(dict.fromkeys(slot for each in packed for slot in each.slots))
        whole = packed[0].branch(0, slots)
        for number, each in enumerate(packed[1:], 1):
            whole = whole.union(each.branch(number, slots))
        table = whole.toArrow()
        kinds = table.column(_BRANCH).to_numpy()
        found = {}
        for number, (name, each) in enumerate(zip(leaving, packed, strict=True)):
            part = table.filter(pa.array(kinds == number)).select([_slot_name(slot) for slot in each.slots])
            found[name] = part.rename_columns(each.frame.columns)
        return found


Slot = tuple[str, int]
"""A column of a job's result: its type, and a number that tells those of one type apart."""


@dataclass(frozen=True)
class _Packed:
    """A result on its way through a table that results of several kinds share: each column has a slot there."""

    frame: DataFrame
    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, frame: DataFrame) -> "_Packed":
        used: dict[str, int] = defaultdict(int)
        slots = []
        for _, kind in frame.dtypes:
            slots.append((kind, used[kind]))
            used[kind] += 1
        return cls(frame, tuple(slots))

    def branch(self, number: int, slots: Sequence[Slot]) -> DataFrame:
        """Return the rows with a number and all slots, those of other results empty."""
        names = dict(zip(self.slots, self.frame.columns, strict=True))
        columns = [
            (F.col(f"`{names[slot]}`") if slot in names else F.lit(None).cast(slot[0])).alias(_slot_name(slot))
            for slot in slots
        ]
        return self.frame.select(F.lit(number).alias(_BRANCH), *columns)


def _slot_name(slot: Slot) -> str:
    return f"{slot[0]} {slot[1]}"


def _counted(observation: Observation) -> int | None:
    """Return what was observed; None where Spark saw that the rows lead to nothing, and never made them."""
    try:
        return int(observation.get["n"])
    except Exception:  # classic raises a Java error, Connect has no such key
        return None


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole


def _in_window(join: Join, port: int, other: int) -> list[str]:
    """Return the conditions that a row of `other` precedes the last row, of `port`, and is in its window then.

    Rows stand in one order: by time, then by place in FROM. Both are compared with the last row, never pairwise.
    """
    last, time = f"p{port}.{TIME}", f"p{other}.{TIME}"
    before = other < port
    conditions = [f"{time} {'<=' if before else '<'} {last}"]
    window = join.ports[other].window
    if window.kind == "range":
        conditions.append(f"{last} - {time} <= {window.size}L")
    else:
        expires = f"p{other}.{EXPIRES}"
        conditions.append(f"({expires} IS NULL OR {expires} {'>' if before else '>='} {last})")
    return conditions
