"""The engine on random scripts with aggregates, with DuckDB for the jobs: results equal the second oracle's."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.policies import POLICIES
from tests.oracle.aggregate_generator import aggregate_cases, groups_of_50
from tests.oracle.aggregate_model import AggregateSpec
from tests.oracle.aggregates import difference, expected_aggregates
from tests.oracle.oracle import expected
from tests.oracle.results import sorted_rows
from tests.runtime.duck_aggregates import any_blocks
from tests.runtime.test_engine_random import MORE, POLICY, Drive, _plain

NEVER = np.iinfo(np.int64).max


def check(case, seed: int, policy: str) -> None:
    random = Random(seed)
    with TemporaryDirectory() as folder, any_blocks(Random(seed)):
        run(Drive(case, random, policy, Path(folder)), case, random, (policy, seed))


def run(drive: Drive, case, random: Random, context: tuple) -> None:
    begun = random.random()
    if begun < 0.5:
        drive.begin()
    elif begun < 0.7:
        while drive.uncreated:
            drive.create()
    for _ in range(random.randrange(60)):
        drive.happen()
    while drive.uncreated:
        drive.create()
    drive.drain()
    for name, state in drive.engine.queries.items():
        got = sorted_rows([tuple(_plain(value) for value in row) for row in drive.results[name]])
        if counts_from_its_start(drive, case, name, state):
            continue
        assert difference(wanted(drive, case, name, state), got) == "", (name, *context)
        assert drive.engine.recorder.queries[name].response.count == len(got)
        assert state.status == ("ended" if state.ends else "running")
    steps = drive.engine.plan.steps
    left = [log.rows for name, log in drive.engine.state.panes.items() if steps[name].by == "range"]
    assert not any(left), "panes that no window needs are kept"


def counts_from_its_start(drive: Drive, case, name: str, state) -> bool:
    """Whether a query began later, with windows of rows over a stream with lateness: the oracle does not say."""
    items = [item for item in case.query(name).sources if item.window and len(item.window) == 3]
    late = {stream.name for stream in case.streams if stream.lateness_us}
    by_rows = any(item.source_name in late and item.window[0] == "rows" for item in items)
    return by_rows and any(state.since.rows.values())


def wanted(drive: Drive, case, name: str, state) -> list[tuple]:
    query = case.query(name)
    if not isinstance(query, AggregateSpec):
        ends = state.ends or {s: drive.engine.streams[s].next_sequence for s in state.starts}
        return expected(case, name, {s: drive.sequences(s, first, ends[s]) for s, first in state.starts.items()})
    [(kind, size, _)] = [item.window for item in query.sources if item.window]
    since, until = state.first_window, state.end_window
    if since is not None and kind == "range":
        since -= 1
    if until is not None:
        until = None if until == NEVER else until - (2 if kind == "range" else 1) + size
    return expected_aggregates(case, name, since, until)


@settings(max_examples=30, deadline=None)
@given(case=aggregate_cases(max_rows=25), seed=st.integers(0, 2**32), policy=POLICY)
def test_aggregates_do_not_depend_on_what_happens_when(case, seed, policy):
    check(case, seed, policy)


@pytest.mark.parametrize("seed", [0, 2])
def test_fifty_queries_that_differ_in_constants_and_windows(seed):
    case = groups_of_50(seed)
    check(case, seed, Random(seed).choice([*POLICIES, *MORE]))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(case=aggregate_cases(max_rows=40, variants=3), seed=st.integers(0, 2**32), policy=POLICY)
def test_aggregates_do_not_depend_on_what_happens_when_tried_often(case, seed, policy):
    check(case, seed, policy)
