"""The engine on random scripts with derived streams, with DuckDB for the jobs: results equal the oracles'."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.plan.derived import Starts
from tests.oracle.aggregate_model import aggregate_query
from tests.oracle.aggregates import difference
from tests.oracle.derived import Begun, resolved
from tests.oracle.derived_generator import derived_cases, order_query
from tests.oracle.generator import BASE
from tests.oracle.model import Case, DerivedSpec, FromItem, QuerySpec, StreamData, TableData
from tests.oracle.results import sorted_rows
from tests.oracle.shape_parts import query
from tests.runtime.test_aggregates_random import wanted
from tests.runtime.test_engine_random import POLICY, Drive, _plain


def check(case: Case, seed: int, policy: str) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder:
        run(Drive(case, random, policy, Path(folder)), case, random, (policy, seed))


def run(drive: Drive, case: Case, random: Random, context: tuple) -> None:
    check_types(drive, case)
    begin(drive, case, random)
    for _ in range(random.randrange(random.choice([10, 60, 60]))):
        drive.happen()
        for _ in range(random.choice([0, 0, 5, 20])):  # so that rows of derived streams are numbered meanwhile
            drive.start()
            drive.finish()
            drive.settle()
    while drive.uncreated:
        drive.create()
    drive.drain()
    whole = resolved(case, begun(drive, case))
    for stream in case.derived:
        rows, made = drive.engine.streams[stream.name].next_sequence, len(whole.stream(stream.name).rows)
        runs = stream.name in drive.engine.plan.steps
        assert rows == made if runs else rows <= made, (stream.name, *context)
    for name, state in drive.engine.queries.items():
        got = sorted_rows([tuple(_plain(value) for value in row) for row in drive.results[name]])
        assert difference(wanted(drive, whole, name, state), got) == "", (name, *context)
        assert drive.engine.recorder.queries[name].response.count == len(got)
        assert state.status == ("ended" if state.ends else "running")
    steps = drive.engine.plan.steps
    left = [log.rows for name, log in drive.engine.state.panes.items() if steps[name].by == "range"]
    assert not any(left), "panes that no window needs are kept"
    assert all(log.rows == 0 for log in drive.engine.streams.values()), "windows that nobody needs are kept"


def check_types(drive: Drive, case: Case) -> None:
    """The language knows the types of all columns: nobody asks Spark."""
    for spec in case.derived:
        found = [(column.name, column.type.name) for column in drive.script.streams[spec.name].columns]
        assert found == list(spec.columns)


def begin(drive: Drive, case: Case, random: Random) -> None:
    """Let derived streams begin at the beginning, or with queries that are created later and stay.

    In the first case all queries begin, or some by which all derived streams begin; they stay, and others come and
    go.
    """
    chance = random.random()
    if chance < 0.3:
        drive.begin()
        return
    if chance < 0.7:
        drive.kept.update(drive.uncreated)
        return
    read: set[str] = set()
    for spec in case.queries:
        below = reached(case, spec)
        if not below <= read:
            read |= below
            drive.keep(spec.name)
    if random.random() < 0.2:
        while drive.uncreated:
            drive.create()


def reached(case: Case, query: QuerySpec) -> set[str]:
    """The derived streams that a query reads, directly or through others."""
    specs = {spec.name: spec for spec in case.derived}
    found = {item.source_name for item in query.sources if item.source_name in specs}
    return found.union(*(reached(case, branch) for name in found for branch in specs[name].branches))


def begun(drive: Drive, case: Case) -> Mapping[str, Begun]:
    """Where each derived stream began: where the first query did that reads it."""
    found = {}
    for spec in case.derived:
        readers = (name for name in drive.engine.queries if spec.name in reached(case, case.query(name)))
        first = next(readers, None)
        if first is not None:
            found[spec.name] = begun_with(drive, spec, drive.engine.queries[first].since)
    return found


def begun_with(drive: Drive, spec: DerivedSpec, since: Starts) -> Begun:
    definitions = drive.script.streams[spec.name].branches
    windows: dict[int, int | None] = {}
    for place, (branch, definition) in enumerate(zip(spec.branches, definitions, strict=True)):
        first = since.windows.get(definition.name)
        of_time = any(item.window and item.window[0] == "range" for item in branch.sources)
        windows[place] = first - 1 if first is not None and of_time else first
    rows = {name: drive.sequences(name, first, first)[0] for name, first in since.rows.items()}
    return Begun(rows, windows)


def small(rule: str) -> Case:
    """A case in which one rule decides the results, whatever the interleaving."""
    second = 1_000_000
    streams = []
    for name in ("a", "b"):
        rows = [(number % 3, f"{name}{number}", BASE + timedelta(seconds=number // 2)) for number in range(24)]
        streams.append(StreamData(name, [("k", "INT"), ("s", "STRING"), ("ts", "TIMESTAMP")], rows, "ts"))
    table = TableData("stock", [("key", "INT"), ("label", "STRING")], [(0, "x"), (1, "y"), (1, "z")])
    selections = [query("d#1", "k, s", "b"), query("d#2", "k, s", "a")]
    join = query("d", "x.k, y.s", f"a [RANGE {3 * second}] AS x, b [ROWS 3] AS y", "x.k = y.k")
    count = aggregate_query(
        "d", "CAST(count(*) AS INT) AS k, max(s) AS s", f"a [RANGE {4 * second} SLIDE {second}]"
    )
    branches = {"union": selections, "join": [join], "aggregate": [count], "left join": selections[:1]}[rule]
    queries = [order_query("q0", StreamData("d", [("k", "INT"), ("s", "STRING")], []))]
    if rule == "join":  # the logs hold rows from before the derived stream, for another window
        queries.insert(
            0, query("q1", "x.s AS s, y.s AS w", f"a [RANGE {9 * second}] AS x, b [ROWS 9] AS y", "x.k = y.k")
        )
    if rule == "left join":
        table_item = FromItem("stock", "t")
        queries += [
            QuerySpec(f"q{n}", [("d.s", None), ("t.label", None)], [FromItem("d"), replace(table_item, outer=on)])
            for n, on in enumerate(("d.k = t.key AND t.label = 'x'", "d.k = t.key AND t.label = 'y'"), start=1)
        ]
    return Case(streams, [table], queries, derived=[DerivedSpec("d", [("k", "INT"), ("s", "STRING")], branches)])


@pytest.mark.parametrize("rule", ["union", "join", "aggregate", "left join"])
def test_each_rule_by_itself(rule):
    for seed in range(12):
        check(small(rule), seed, "hnr" if seed % 2 else "fifo")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=derived_cases(), seed=st.integers(0, 2**32), policy=POLICY)
def test_derived_streams_do_not_depend_on_what_happens_when(case, seed, policy):
    check(case, seed, policy)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=derived_cases(max_rows=40, variants=2), seed=st.integers(0, 2**32), policy=POLICY)
def test_derived_streams_do_not_depend_on_what_happens_when_tried_often(case, seed, policy):
    check(case, seed, policy)
