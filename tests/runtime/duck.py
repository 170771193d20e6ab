"""The work of a job done by DuckDB instead of Spark: another hand on the same plan, and a hundred times faster.

It lets the engine's decisions (who may run, what windows keep, what is let go) be tried on thousands of
interleavings. How Spark does the same work is tested in `tests/spark/test_right.py`.
"""

from collections import defaultdict
from dataclasses import replace
from functools import cache

import duckdb
import pyarrow as pa
import sqlglot

from penstock.plan.steps import ARRIVAL, POSITION, TIME, Aggregate, Close, Join, Lookup, Project, Select, seq
from penstock.runtime.engine import Engine
from penstock.runtime.job import Job
from penstock.runtime.rows.job_input import InputRows, WindowRows
from penstock.runtime.work import Outcome, Work
from tests.runtime.duck_aggregates import closed_windows, kept_rows

# Spark's types as DuckDB spells them, where they differ.
TYPES = {"STRING": "VARCHAR", "TIMESTAMP": "TIMESTAMPTZ"}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def duck_sql(sql: str) -> str:
    """Return an expression of Spark's dialect in DuckDB's."""
    return sqlglot.transpile(sql, read="spark", write="duckdb")[0]


def next_job(engine: Engine, now_us: int) -> Job | None:
    """Return the job that the policy runs next; None if nothing can run."""
    units = engine.choose(now_us)
    return engine.take(units) if units else None


def all_of(taken: InputRows) -> pa.Table:
    """Return resident and stored rows as one table."""
    tables = [] if taken.table is None else [taken.table]
    for each in taken.stored:
        rows = each.table()
        if taken.before is not None:
            positions = [number - taken.before for number in rows.column("__seq0").to_pylist()]
            rows = rows.append_column(POSITION, pa.array(positions, pa.int64()))
        tables.append(rows)
    return pa.concat_tables(tables, promote_options="default")


def all_of_window(window: WindowRows) -> pa.Table:
    """Return the rows of a window as one table, with the expiries of stored rows."""
    tables = [window.table]
    for each in window.stored:
        rows = each.table()
        if window.expiries is not None:
            known = dict(zip(*(window.expiries.column(i).to_pylist() for i in range(2)), strict=True))
            times = [known.get(number) for number in rows.column("__seq0").to_pylist()]
            rows = rows.append_column("__x", pa.array(times, pa.int64()))
        after = [
            (window.low is None or (t, n) >= (window.low, window.low_sequence))
            and (window.high is None or t <= window.high)
            and window.start <= n < (window.end or n + 1)
            for t, n in zip(rows.column("__t").to_pylist(), rows.column("__seq0").to_pylist(), strict=True)
        ]
        tables.append(rows.filter(pa.array(after, pa.bool_())).select(window.table.column_names))
    return pa.concat_tables(tables)


class Duck:
    """Executes `Work` on Arrow tables."""

    def __init__(self, tables: dict[str, pa.Table]) -> None:
        self.tables = tables
        self._sql: dict[str, str] = {}

    def __call__(self, work: Work) -> Outcome:
        with database().cursor() as cursor:  # its registered tables are its own and go with it
            cursor.execute("SET TimeZone = 'UTC'")
            return _Job(self, cursor, work).outcome()

    def translated(self, sql: str) -> str:
        if sql not in self._sql:
            self._sql[sql] = duck_sql(sql)
        return self._sql[sql]


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all jobs: opening takes longer than most of them."""
    return duckdb.connect(":memory:", config={"threads": 1})


class _Job:
    def __init__(self, duck: Duck, database: duckdb.DuckDBPyConnection, work: Work) -> None:
        self.duck, self.database, self.work = duck, database, work
        self.counter = 0

    def outcome(self) -> Outcome:
        work, network = self.work, self.work.plan.network
        arriving: dict[tuple[str, int], list[pa.Table]] = defaultdict(list)
        for edge, table in work.takes.items():
            rows = all_of(table)
            closes = edge.target in work.closing
            arriving[edge.target, edge.port].append(rows if closes else self.entry(edge, rows))
        roots = {query.root for query in network.queries}
        rows, taken, made, by_port = {}, {}, {}, {}
        for operator in network.operators:
            inputs = {
                port: arriving[operator.name, port]
                for port in range(len(operator.inputs))
                if arriving.get((operator.name, port))
            }
            if not inputs:
                continue
            outs = [
                self.applied(operator.name, port, table) for port, tables in inputs.items() for table in tables
            ]
            out = pa.concat_tables(outs)
            ports = range(len(operator.inputs))
            counts = tuple(sum(table.num_rows for table in inputs.get(port, ())) for port in ports)
            closing = work.closing.get(operator.name)
            taken[operator.name] = sum(counts) if closing is None else closing.num_rows
            if len(counts) > 1:
                by_port[operator.name] = counts
            made[operator.name] = out.num_rows
            edges = network.out_edges.get(operator.name, ())
            if operator.name in roots or any(edge not in work.through for edge in edges):
                rows[operator.name] = out
            for edge in edges:
                if edge in work.through:
                    arriving[edge.target, edge.port].append(out.select(self.names(edge, out)))
        return Outcome(rows, taken, made, 0, by_port)

    def names(self, edge, table: pa.Table) -> list[str]:
        hidden = [name for name in table.column_names if name in (TIME, ARRIVAL) or name.startswith("__seq")]
        return [*sorted(self.work.wanted[edge]), *hidden]

    def entry(self, edge, table: pa.Table) -> pa.Table:
        for name in self.work.wanted[edge] - set(table.column_names):
            kind = self.work.plan.type_of(edge.source, name)
            nulls = self.run(f"SELECT CAST(NULL AS {TYPES.get(kind, kind)}) AS x FROM range({table.num_rows})")
            table = table.append_column(name, nulls.column("x"))
        return table.select(self.names(edge, table))

    def run(self, sql: str, **tables: pa.Table) -> pa.Table:
        for name, table in tables.items():
            self.database.register(name, table)
        return self.database.sql(sql).to_arrow_table()

    def applied(self, name: str, port: int, table: pa.Table) -> pa.Table:
        step = self.work.plan.steps[name]
        if isinstance(step, Join):
            return self.probed(name, step, port, table)
        if isinstance(step, Aggregate):
            return kept_rows(step, name, self.work, table, self.duck.translated, self.run)
        if isinstance(step, Close):
            return closed_windows(step, self.work.closing[name], self.duck.translated, self.run)
        return self.simple(step, table)

    def simple(self, step, table: pa.Table) -> pa.Table:
        to_duck = self.duck.translated
        if isinstance(step, Select):
            return self.run(f"SELECT * FROM s WHERE {to_duck(step.sql)}", s=table)
        if isinstance(step, Lookup):
            how = "LEFT JOIN" if step.outer else "JOIN"
            added = ", ".join(f"t.{quoted(column)} AS {quoted(name)}" for name, column in step.makes.items())
            condition = to_duck(step.condition) if step.conditions else "true"
            stored = self.work.constants if step.table.is_constants else self.duck.tables
            return self.run(
                f"SELECT s.*, {added} FROM s {how} t ON {condition}", s=table, t=stored[step.table.name]
            )
        assert isinstance(step, Project)
        columns = [f"{to_duck(expression)} AS {quoted(name)}" for expression, name in step.columns]
        hidden = [TIME, ARRIVAL, *(seq(place) for place in range(step.streams))]
        return self.run(f"SELECT {', '.join([*columns, *hidden])} FROM s", s=table)

    def window(self, name: str, join: Join, port: int, other: int) -> pa.Table:
        """The rows of a window; in a symmetric join, those that the job takes anyway and the others."""
        window, both = self.work.probes[name, port, other], self.work.symmetric.get(name)
        if both is None:
            return all_of_window(window)
        here = join.ports[other]
        is_rows = here.window.kind == "rows"
        tables = [all_of_window(both.others[other])]
        for edge, taken in self.work.takes.items():
            first = edge.target == here.path[0] if here.path else (edge.target, edge.port) == (name, other)
            if edge.source != here.stream or not first or (is_rows and window.expiries is None):
                continue
            low = window.low if is_rows else None
            anywhere = WindowRows(
                window.table.slice(0, 0), taken.stored, low, window.low_sequence, None, window.start, window.end
            )
            tables.append(all_of_window(replace(anywhere, expiries=window.expiries)))
        return pa.concat_tables(tables)

    def probed(self, name: str, join: Join, port: int, table: pa.Table) -> pa.Table:
        """All combinations at once, by the meaning of windows, not in the order in which Spark joins."""
        tables, conditions = {f"p{port}": table}, [self.duck.translated(c.sql) for c in join.conditions]
        for other, each in enumerate(join.ports):
            if other == port:
                continue
            found = self.window(name, join, port, other)
            for step in each.path:
                found = self.simple(self.work.plan.steps[step], found)
            tables[f"p{other}"] = found
            here, last = f"(p{other}.__t, {other})", f"(p{port}.__t, {port})"
            conditions.append(f"{here} < {last}")
            if each.window.kind == "range":
                conditions.append(f"p{port}.__t - p{other}.__t <= {each.window.size}")
            else:
                conditions.append(f"(p{other}.__x IS NULL OR (p{other}.__x, {other}) > {last})")
        edges = self.work.plan.network.out_edges.get(name, ())
        wanted = frozenset().union(*(self.work.wanted[edge] for edge in edges))
        columns = [
            f"p{place}.{quoted(column)} AS {quoted(Join.named(place, column))}"
            for place, names in enumerate(Join(join.ports, ()).reads(wanted))
            for column in sorted(names)
        ]
        sequences = [f"p{place}.__seq0 AS {seq(place)}" for place in range(len(join.ports))]
        arrival = f"greatest({', '.join(f'p{place}.__a' for place in range(len(join.ports)))}) AS __a"
        return self.run(
            f"SELECT {', '.join([*columns, f'p{port}.__t AS __t', arrival, *sequences])} "
            f"FROM {', '.join(sorted(tables))} WHERE {' AND '.join(f'({c})' for c in conditions)}",
            **tables,
        )
