"""Window joins as Spark frames: rows of a stream, each the last of its combination, with the others' windows.

Where a job takes rows of both streams from files, it reads and shuffles each stream once: as rows that probe, and
as the other's window.
"""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from penstock.language.names import named, quoted
from penstock.plan.columns import is_hidden
from penstock.plan.steps import ARRIVAL, TIME, Columns, Join, seq
from penstock.runtime.rows.job_input import BothSides, WindowRows
from penstock.runtime.rows.row_window import EXPIRES
from penstock.runtime.work import PARTITION_ROWS, Work
from penstock.spark.frames import Frames, union
from penstock.spark.stored_frames import seen_in, window_frame, with_expiries

BROADCAST_ROWS = 200_000
"""A side of a join with at most this many rows is broadcast; otherwise both sides are shuffled."""
SHUFFLED_ROWS = 300_000
"""Rows of both sides in each part of a join that is shuffled."""
MOST_COMPARED = 20
"""If a row meets more rows with its keys, rows are put into bins of time. Otherwise bins only cost: a join of 20
million rows took 7.9 instead of 5.5 s."""
BIN_WINDOWS = 8
"""Length of a bin of time, in windows: rows near its ends are in two bins, so longer ones copy fewer rows."""
LEAST_BINS = 4
"""Rows over fewer bins are not put into any."""
_BIN = "__bin"
_PROBES, _SEEN = "__probes", "__seen"
"""Of a row in a symmetric join: whether the job takes it, and whether it can be found in its stream's window."""


class WindowJoins:
    """Builds the window joins of a job.

    `through_path` applies operators by name to the rows of a window. With `arrivals`, a row has the place of its
    arrival in this sorted list.
    """

    def __init__(
        self,
        frames: Frames,
        work: Work,
        tasks: int,
        through_path: Callable[[DataFrame, Sequence[str]], DataFrame],
        arrivals: Sequence[int] | None = None,
    ) -> None:
        self._arrivals = arrivals
        self._frames = frames
        self._work = work
        self._tasks = tasks
        self._through_path = through_path
        self._rows = sum(rows.num_rows for rows in work.takes.values())
        self.window_rows = 0
        """Rows of windows that were read."""

    def joined(self, name: str, join: Join, inputs: Mapping[int, DataFrame]) -> DataFrame:
        """Return the results of the rows at each port."""
        both = self._work.symmetric.get(name)
        if both is not None:
            return self._symmetric(name, join, inputs, both)
        return union([self._probe(name, join, port, frame) for port, frame in inputs.items()])

    def _probe(self, name: str, join: Join, port: int, frame: DataFrame) -> DataFrame:
        """Join one port's rows, each the last of its combination, with the other ports' windows at its time."""
        joined = frame.alias(f"p{port}")
        taken = {port}
        waiting = list(join.conditions)
        for other in join.order_from(port):
            window = self._work.probes[name, port, other]
            found = self._window(join, other, window)
            taken.add(other)
            conditions = [*_in_window(join, port, other)]
            conditions += [f"({each.sql})" for each in waiting if each.ports <= taken]
            waiting = [each for each in waiting if not each.ports <= taken]
            if len(taken) == 2 and self._rows < window.num_rows and self._rows <= BROADCAST_ROWS:
                joined = F.broadcast(frame).alias(f"p{port}")
            elif window.num_rows <= BROADCAST_ROWS:
                found = F.broadcast(found)
            elif len(taken) == 2:
                rows = self._rows + window.num_rows
                joined, found = self._shuffled(join, (port, frame), (other, found), rows)
                joined = joined.alias(f"p{port}")
            joined = joined.join(found.alias(f"p{other}"), F.expr(" AND ".join(conditions)))
        return self._result(name, join, joined, f"p{port}.{TIME} AS {TIME}")

    def _symmetric(self, name: str, join: Join, inputs: Mapping[int, DataFrame], both: BothSides) -> DataFrame:
        """Join the rows of two streams that a job takes with each other, and with the other rows of the windows.

        Of each pair, the row that is later probes, so it must be one that the job takes.
        """
        left, right = (self._side(name, join, port, inputs[port], both.others[port]) for port in (0, 1))
        same_bin: list[str] = []
        if both.same_keys > MOST_COMPARED and all(port.window.kind == "range" for port in join.ports):
            span = max(self._work.spans[name, 0], self._work.spans[name, 1])
            reach = join.ports[1].window.size, join.ports[0].window.size
            left, right, same_bin = _binned(span, reach, left, right)
        fewer = min((0, 1), key=both.rows)
        if both.rows(fewer) > BROADCAST_ROWS:
            left, right = self._shuffled(join, (0, left), (1, right), both.rows(0) + both.rows(1))
        elif fewer == 0:
            left = F.broadcast(left)
        else:
            right = F.broadcast(right)
        finds = [
            " AND ".join([f"p{port}.{_PROBES}", f"p{other}.{_SEEN}", *_in_window(join, port, other)])
            for port, other in ((1, 0), (0, 1))
        ]
        conditions = [*same_bin, f"(({finds[0]}) OR ({finds[1]}))", *(f"({each.sql})" for each in join.conditions)]
        joined = left.alias("p0").join(right.alias("p1"), F.expr(" AND ".join(conditions)))
        return self._result(name, join, joined, f"greatest(p0.{TIME}, p1.{TIME}) AS {TIME}")

    def _side(self, name: str, join: Join, port: int, taken: DataFrame, others: WindowRows) -> DataFrame:
        """Return the rows of a port that a job takes, and the other rows of its window."""
        [edge] = [edge for edge in self._work.plan.network.in_edges[name] if edge.port == port]
        window = self._work.probes[name, 1 - port, port]
        seen, expires = seen_in(window), []
        if join.ports[port].window.kind == "rows":
            expires = [EXPIRES]
            if window.expiries is None:  # the window has none of these rows
                taken, seen = taken.withColumn(EXPIRES, F.expr("CAST(NULL AS BIGINT)")), "false"
            taken = with_expiries(self._frames.spark, taken, window)
        columns = [*sorted(self._work.wanted[edge]), seq(0), TIME, ARRIVAL, *expires]
        kept = [named(quoted(each), each) for each in columns]  # the sides of a self-join need their own
        frames = [taken.selectExpr(*kept, f"true AS {_PROBES}", f"{seen} AS {_SEEN}")]
        if others.num_rows:
            rest = self._window(join, port, others)
            frames.append(rest.selectExpr(*kept, f"false AS {_PROBES}", f"true AS {_SEEN}"))
        return union(frames)

    def _result(self, name: str, join: Join, joined: DataFrame, time: str) -> DataFrame:
        ports = range(len(join.ports))
        edges = self._work.plan.network.out_edges.get(name, ())
        after: Columns = frozenset().union(*(self._work.wanted[edge] for edge in edges))
        wanted = Join(join.ports, ()).reads(after)
        columns = [
            named(f"p{each}.{quoted(column)}", Join.named(each, column))
            for each in ports
            for column in sorted(wanted[each])
        ]
        sequences = [f"p{each}.{seq(0)} AS {seq(each)}" for each in ports]
        arrival = f"greatest({', '.join(f'p{each}.{ARRIVAL}' for each in ports)}) AS {ARRIVAL}"
        return joined.selectExpr(*columns, time, arrival, *sequences)

    def _shuffled(
        self, join: Join, one: tuple[int, DataFrame], two: tuple[int, DataFrame], rows: int
    ) -> tuple[DataFrame, DataFrame]:
        """Return both sides of a join by their keys, in parts that are sorted fast; as they are if these are few.

        Spark itself would make as many parts as there are slots: a join of 10 million rows with as many took
        25 s so, and 18 s in 64 parts.
        """
        parts = rows // SHUFFLED_ROWS
        (port, left), (other, right) = one, two
        pairs = join.equal_columns(port, other)
        keys, others = [quoted(key) for key, _ in pairs], [quoted(key) for _, key in pairs]
        if parts <= self._tasks or not keys or _types(left, keys) != _types(right, others):
            return left, right
        if _BIN in left.columns:
            keys, others = [*keys, _BIN], [*others, _BIN]
        return left.repartition(parts, *keys), right.repartition(parts, *others)

    def _window(self, join: Join, port: int, window: WindowRows) -> DataFrame:
        """Return the rows of a window that come to the join."""
        self.window_rows += window.num_rows
        frames = []
        table = window.table
        if table.num_rows or not window.stored:
            parts = max(1 + table.num_rows // PARTITION_ROWS, self._work.partitions)
            frame = self._frames.of(table, parts)
            if not table.num_rows:
                # All windows without rows share one frame, and in a join with itself Spark confuses `a.k = a.k`
                # with `a.k = b.k`. So every use gets columns of its own.
                frame = frame.selectExpr(*(named(quoted(each), each) for each in table.column_names))
            frames.append(frame)
        if window.stored:
            names = [name for name in table.column_names if not is_hidden(name) and name != EXPIRES]
            frames.append(
                window_frame(
                    self._frames.spark, window, names, numbered=self._work.numbered, arrivals=self._arrivals
                )
            )
        return self._through_path(union(frames), join.ports[port].path)


def _binned(
    span_s: float, reach_us: tuple[int, int], left: DataFrame, right: DataFrame
) -> tuple[DataFrame, DataFrame, list[str]]:
    """Return both sides of a join with bins of time, and the condition that rows are in the same bin.

    Rows of the second side can meet one of the first that is at most so much later or earlier. Without bins, Spark
    compares all rows with equal keys: in a job over many windows most of them are too far apart. If there are not
    many windows, the sides are returned as they are.
    """
    before, after = reach_us
    width = max(BIN_WINDOWS * (before + after), 1)
    if span_s * 1e6 < LEAST_BINS * width:
        return left, right, []
    first, last = (f"({TIME} {shift}) div {width}L" for shift in (f"- {before}L", f"+ {after}L"))
    bins = f"explode(CASE WHEN {first} = {last} THEN array({first}) ELSE array({first}, {last}) END) AS {_BIN}"
    left, right = left.selectExpr("*", bins), right.selectExpr("*", f"{TIME} div {width}L AS {_BIN}")
    return left, right, [f"p0.{_BIN} = p1.{_BIN}"]


def _types(frame: DataFrame, columns: Sequence[str]) -> list[DataType]:
    return [column.dataType for column in frame.select(*columns).schema]


def _in_window(join: Join, port: int, other: int) -> list[str]:
    """Return the conditions that a row of `other` precedes the last row, of `port`, and is in its window then.

    Rows are ordered by time, then by place in FROM. Every row is compared with the last row, never with others.
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
