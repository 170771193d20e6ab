from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.bench.stock.case import StockCase
from penstock.bench.stock.case_list import PARTS, load_source, plan
from penstock.bench.stock.filters import Filters
from penstock.bench.stock.inputs import Inputs
from penstock.bench.stock.mixed import Mixed
from penstock.bench.stock.penstock_system import script_of
from penstock.bench.stock.run import _batches
from penstock.bench.stock.windowed import Windowed
from penstock.bench.stock.workload import row_queries
from penstock.language.script import Script


def answers(workload, folder):
    """What DuckDB says to the queries that stock gets."""
    with duckdb.connect() as db:
        for stream in workload.streams:
            db.execute(f"CREATE VIEW {stream.name} AS FROM '{folder}/staged/{stream.name}-*.parquet'")
        for table in workload.tables:
            db.execute(f"CREATE VIEW {table} AS FROM '{folder}/{table}.parquet'")
        return {
            query.name: db.execute(f"SELECT count(*) FROM ({query.stock})").fetchone()[0]
            for query in workload.queries
        }


@pytest.mark.parametrize(
    "workload",
    [Filters(7), Filters(3, 0.5), Mixed(), Windowed(3000)],
    ids=["filters", "half", "mixed", "windowed"],
)
def test_expected_counts_are_those_of_another_engine(workload, tmp_path):
    inputs = Inputs(workload, tmp_path, seed=3)
    inputs.backlog(2, 10_000)
    inputs.bursty(2000, 3.0, seed=4)
    expected = inputs.expected()
    assert expected == answers(workload, tmp_path)
    assert all(expected.values()), "a query without results shows nothing"


@pytest.mark.parametrize("offered", [None, 400.0], ids=["drain", "paced"])
def test_event_times_rise_in_the_order_in_which_files_go_in(offered, tmp_path):
    case = StockCase(
        "windows", "penstock", workload="windowed", window_rows=2000, file_rows=500, files=3, seconds=2.0
    )
    batches = _batches(case, Inputs(case.made_workload(), tmp_path, case.seed), offered)
    assert [stage for stage, _ in batches][:3] == ["warm-up 1", "filling the windows", "warm-up 2"]
    times = {"a": [], "b": []}
    for _, batch in batches:
        for _, staged, target in batch.moves:
            times[Path(target).parent.name] += pq.read_table(staged)["t"].cast("int64").to_pylist()
    for rising in times.values():
        assert len(rising) > 3000
        assert rising == sorted(rising)


@pytest.mark.parametrize("selectivity", [0.001, 0.01, 0.1, 0.5])
def test_constants_are_distinct(selectivity):
    constants = Filters(5000, selectivity).constants
    assert len(set(constants)) == 5000
    assert all(0 <= low < high <= 10_000 for low, high in constants)


def test_forty_queries_no_two_alike():
    queries = Mixed().queries
    assert len(queries) == len({query.penstock for query in queries}) == 40
    assert sum(len(query.reads) == 2 for query in queries) == 12


def test_penstock_understands_the_queries():
    assert len(Script.parse(script_of(Mixed(), Path("/somewhere"))).queries) == 40


def test_a_query_counts_the_rows_of_all_streams_that_it_reads():
    assert row_queries(Filters(3), {"s": 10}) == 30
    assert row_queries(Mixed(), {"a": 1, "b": 0}) == 10 + 8 + 12


def test_paced_files_carry_the_time_at_which_they_are_due(tmp_path):
    """Counted on from one part to the next: a join takes the later of two, and one may be of the part before."""
    inputs = Inputs(Filters(1), tmp_path, seed=1)
    inputs.backlog(2, 100)
    last = 0
    for seed in (9, 10):
        batch = inputs.bursty(4000, 5.0, seed)
        dues = [due for due, _, _ in batch.moves]
        assert dues == sorted(dues)
        assert dues[0] > 0
        assert dues[-1] <= 5.0
        for due, staged, _ in batch.moves:
            [sent] = np.unique(pq.read_table(staged)["sent"].to_numpy()).tolist()
            assert sent - batch.sent_us == round(due * 1e6)
            assert sent > last
            last = sent
        assert batch.rows["s"] == sum(pq.read_metadata(staged).num_rows for _, staged, _ in batch.moves)


def test_every_file_of_a_joined_stream_ends_with_a_heartbeat(tmp_path):
    inputs = Inputs(Mixed(), tmp_path, seed=1)
    batch = inputs.bursty(500, 3.0, seed=2)
    times = {"a": [], "b": []}
    for _, staged, target in batch.moves:
        rows = pq.read_table(staged)
        times[Path(target).parent.name].append(rows["t"].cast("int64").to_numpy())
        assert rows["k"][-1].as_py() < 0
    for ours, theirs in zip(times["a"], times["b"], strict=True):
        assert ours[-1] == theirs[-1]
        assert (ours[:-1] < theirs[-1]).all()
        assert (np.diff(ours) >= 0).all()


def test_a_paced_case_comes_after_the_one_that_sets_its_load():
    for cases in (plan(["paced"], quick=False, repeat=3), plan(list(PARTS), quick=False, repeat=3)):
        for number, case in enumerate(cases):
            if case.feeding == "paced":
                assert load_source(case) in cases[:number]
        assert len(set(cases)) == len(cases)


def test_the_quick_set_has_the_filters_alone():
    assert {case.part for case in plan(list(PARTS), quick=True, repeat=2)} == {"filters"}
    assert plan(["paced"], quick=True, repeat=2) == []
