"""The cases, claims, expected results and command of `bench aggregates`."""

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.bench.aggregates import run as aggregates_run
from penstock.bench.aggregates.case import BY_HAND, EACH, OURS, SYSTEMS, AggregateCase, AggregateResult
from penstock.bench.aggregates.case_list import PARTS, load_source, plan
from penstock.bench.aggregates.claims import comparisons
from penstock.bench.aggregates.query_set import AggregateQuery, QuerySet
from penstock.bench.aggregates.results import ResultReader, ResultTotals
from penstock.bench.aggregates.run import NamedBatch, RunListeners, evaluated, made_batches, run_cases
from penstock.bench.aggregates.window_totals import (
    Total,
    WindowOfQuery,
    added,
    difference,
    expected_totals,
    row_hashes,
    totals_of_rows,
)
from penstock.bench.aggregates.workload import AggregateWorkload
from penstock.bench.stock.case import MeasuredRun
from penstock.bench.stock.inputs import BEGIN_US, Batch, InputFiles
from penstock.bench.stock.penstock_system import script_of
from penstock.cli.app import app
from penstock.language.script import Script

runner = CliRunner()
S = 1_000_000
KINDS = {"one": 1, "fifty": 50, "slices": 1000, "wide": 1000, "having": 1000, "windows": 100, "keys": 1}
ONE = AggregateCase("one", "penstock")


def made_up(case, seconds=1.0, response=1.0, status="ok", peaks=((100, 110),)):
    """A result whose part took so long; nobody measured it."""
    rows = 1_000_000
    run = MeasuredRun(rows, rows * case.count, 10, seconds, *[response] * 5, behind_s=1.0)
    return AggregateResult(case, status, "" if status == "ok" else "made up", (run,), 1.0, 0.0, peaks, 10**9)


# Queries and cases ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "count"), KINDS.items())
def test_queries_differ_and_penstock_understands_them(kind, count):
    workload = AggregateWorkload(QuerySet(kind, count))
    assert len({query.penstock for query in workload.queries}) == count
    assert [query.name for query in workload.queries] == [f"q{number}" for number in range(count)]
    some = replace(workload.set, count=min(count, 50))
    assert len(Script.parse(script_of(AggregateWorkload(some), Path("/x"))).queries) == some.count


def test_a_setting_of_a_case_is_in_the_script():
    script = script_of(AggregateWorkload(QuerySet("one")), Path("/x"), {"groups": "false"})
    assert script.endswith("SET publish = '0 s';\nSET groups = false;")
    assert Script.parse(script).settings["groups"] is False


def test_the_first_of_a_kind_is_the_first_of_many():
    for kind, count in KINDS.items():
        assert QuerySet(kind, 1).queries() == QuerySet(kind, count).queries()[:1]


def test_slices_read_each_row_once():
    queries = QuerySet("slices", 1000).queries()
    assert sorted((query.low, query.high) for query in queries) == [(i, i + 10) for i in range(0, 10_000, 10)]


@pytest.mark.parametrize("quick", [False, True])
def test_a_plan_has_all_parts_and_loads_come_first(quick):
    cases = plan(list(PARTS), quick=quick)
    assert {case.part for case in cases} == set(PARTS)
    assert len(set(cases)) == len(cases)
    for number, case in enumerate(cases):
        if case.feeding == "paced":
            assert load_source(case) in cases[:number]
    latency = plan(["latency"], quick=quick, repeat=1)
    assert [case.feeding for case in latency[:2]] == ["drain", "paced"]
    assert {case.repeat for case in latency} == {1}


def test_a_case_survives_json():
    for case in plan(list(PARTS)):
        assert AggregateCase(**json.loads(json.dumps(aggregates_run.asdict(case)))) == case
        assert case.system in {*EACH, *BY_HAND, *OURS}


# Expected results -----------------------------------------------------------------------------------------------


def columns(*rows):
    t, k, v, x = (np.array(column) for column in zip(*rows, strict=True))
    return {"t": BEGIN_US + t * S, "k": k, "v": v, "x": x}


def test_expected_results_by_hand():
    """Times 1, 4, 7, 12 s: the window from 0 to 10 s has three rows, and the last row closes it.

    0----1--4--7---|-12   windows of 10 s every 5 s that end at 5 and at 10 s have closed at 12 s.
    """
    rows = columns((1, 0, 5, 7), (4, 1, 50, 3), (7, 0, 60, 9), (12, 0, 70, 1))
    queries = [AggregateQuery(0, 10, 10), AggregateQuery(1, 10, 5, 50, 100), AggregateQuery(2, 10, 10, least=4)]
    found = expected_totals(queries, rows, keys=2)
    ends = {(window.query, (window.end_us - BEGIN_US) // S): total for window, total in found.items()}
    assert {window: (total.rows, total.n, total.s) for window, total in ends.items()} == {
        (0, 10): (2, 3, 19),  # key 0: 7 and 9; key 1: 3
        (1, 5): (1, 1, 3),  # from -5 s on
        (1, 10): (2, 2, 12),
        (2, 10): (1, 2, 16),  # key 1 has less than 4
    }
    arrays = (np.array([0, 1]), np.array([2, 1]), np.array([16, 3]))
    assert ends[0, 10].hashes == int(row_hashes(*arrays).sum())


def test_a_window_closes_at_its_end():
    queries = [AggregateQuery(0, 10, 10)]
    before = columns((1, 0, 0, 1), (9.999999, 0, 0, 1))
    assert expected_totals(queries, before, 1) == {}
    assert len(expected_totals(queries, columns((1, 0, 0, 1), (10, 0, 0, 1)), 1)) == 1


def duck_totals(workload, folder, newest_us):
    """What DuckDB makes of the rows: every row with each window that it is in."""
    found = []
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.execute(f"CREATE TABLE a AS SELECT *, epoch_us(t) AS us FROM '{folder}/staged/*.parquet'")
        for query in workload.aggregates:
            size, slide = query.size_s * S, query.slide_s * S
            windows = f"unnest(range(us - us % {slide}, us - {size}, -{slide})) + {size} AS e"
            where = f"v >= {query.low} AND v < {query.high}"
            made = f"SELECT k, x, {windows} FROM a WHERE {where}"
            having = "" if query.least is None else f"AND sum(x) >= {query.least}"
            sql = f"SELECT {query.number}, e, k, count(*), sum(x) FROM ({made}) GROUP BY e, k"
            rows = db.execute(f"{sql} HAVING e <= {newest_us} {having}").fetchnumpy()
            found.append(totals_of_rows(*(np.asarray(each, np.int64) for each in rows.values())))
    return added(found)


@pytest.mark.parametrize(("kind", "count"), [("fifty", 50), ("slices", 20), ("having", 30), ("windows", 40)])
def test_expected_results_are_those_of_another_engine(kind, count, tmp_path):
    case = AggregateCase("x", "penstock", kind, count, 7, 3, 4000, 200, warm_files=1, repeat=1)
    workload = case.made_workload(None)
    inputs = InputFiles(workload, tmp_path, 3, workload.set.event_rate)
    batches = made_batches(case, workload, inputs, None)
    expected = expected_totals(workload.aggregates, inputs.columns()["a"], 7)
    assert {window.query for window in expected} == set(range(count)), "a query without results shows nothing"
    assert difference(expected, duck_totals(workload, tmp_path, batches[-1].batch.newest_us[-1])) == ""


def test_equal_sums_of_different_rows_are_different():
    window = WindowOfQuery(0, S)
    ones = np.ones(2, np.int64)
    left, right = (totals_of_rows(0 * ones, S * ones, ones * 0, ones, s) for s in (np.array([1, 3]), 2 * ones))
    assert (left[window].rows, left[window].n, left[window].s) == (2, 2, 4)
    assert replace(left[window], hashes=0) == replace(right[window], hashes=0)
    assert difference(left, right) != ""
    assert difference({}, left).startswith("1 of 1 windows")


# Input and output -----------------------------------------------------------------------------------------------


def test_a_drained_part_closes_its_windows_and_each_file_has_rows_for_every_filter(tmp_path):
    case = AggregateCase("fifty", "each", "fifty", 50, files=2, file_rows=500, event_rate=100, repeat=2)
    workload = case.made_workload(None)
    inputs = InputFiles(workload, tmp_path, 1, workload.set.event_rate)
    batches = made_batches(case, workload, inputs, None)
    assert [each.measured for each in batches] == [False] * 3 + [True] * 2
    for each in batches:
        before, last = each.batch.newest_us[-2:]
        assert last - before > workload.set.largest_us
        for (_, staged, _), newest in zip(each.batch.moves, each.batch.newest_us, strict=True):
            rows = pq.read_table(staged)
            times = rows["t"].cast("int64").to_numpy()
            assert (np.diff(times) >= 0).all()
            values = rows["v"].to_numpy()[times == newest]
            for query in workload.aggregates:
                assert ((values >= query.low) & (values < query.high)).any()


def write(path, **values):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({**values, "window_end": pa.array([10 * S] * len(values["k"]), pa.timestamp("us", tz="UTC"))})
    pq.write_table(table, path)


def test_results_are_read_once_whoever_wrote_them(tmp_path):
    values = {"k": [1, 2], "n": [3, 4], "s": [5, 6]}
    for name in ("ours", "group", "each", "hand"):
        (tmp_path / name).mkdir()
    write(tmp_path / "ours/_recent/q1/part-0001-00000001.parquet", **values)
    write(tmp_path / "group/_groups/g/part-0001-00000001.parquet", **values, __query=["q1", "q1"])
    write(tmp_path / "each/q1/a.parquet", **values)
    write(tmp_path / "each/q1/never-committed.parquet", **values)
    write(tmp_path / "hand/all/a.parquet", **values, q=[1, 1])
    for folder in ("each/q1", "hand/all"):
        log = tmp_path / folder / "_spark_metadata" / "0"
        log.parent.mkdir()
        log.write_text('v1\n{"path": "file:///a.parquet"}')
    places = {"penstock-state": "ours", "penstock": "group", "each-rocksdb": "each", "panes": "hand"}
    for system, folder in places.items():
        reader = ResultReader(system, tmp_path / folder)
        [found] = reader.new_results()
        assert reader.new_results() == []
        [(window, total)] = found.totals.items()
        assert window == WindowOfQuery(1, 10 * S)
        assert (total.rows, total.n, total.s) == (2, 7, 11)


# Evaluation -----------------------------------------------------------------------------------------------------

TOTAL = Total(2, 4, 6, 8)
PACED = replace(ONE, part="latency", feeding="paced")


def evaluate(came_s, first_came_s=1.0):
    """Two parts that start at 100 and at 200 s; the second's windows close by files due at 0.5 and 1.0 s."""
    batches = [
        NamedBatch("one", False, Batch(((0.0, "", ""),), {"a": 10}, 0, (10 * S,))),
        NamedBatch("two", True, Batch(((0.5, "", ""), (1.0, "", "")), {"a": 10}, 0, (25 * S, 30 * S))),
    ]
    windows = [WindowOfQuery(0, end * S) for end in (10, 20, 30)]
    came = (100 + first_came_s, *(200 + each for each in came_s))
    results = [ResultTotals(at, {window: TOTAL}) for at, window in zip(came, windows, strict=True)]
    noted = {"settled": 0, "late_s": 0, "own_peak_bytes": 7, "others_peak_bytes": 9}
    found = {"register_s": 1.0, "batches": [{"start": 100.0, **noted}, {"start": 200.0, **noted}]}
    return evaluated(PACED, dict.fromkeys(windows, TOTAL), batches, [found], results)


def test_responses_count_from_the_file_that_closed_the_window():
    result = evaluate(came_s=(0.8, 1.4))
    assert (result.status, result.python_peaks, result.java_peak_bytes) == ("ok", ((7,),), 9)
    assert result.runs[0].seconds == pytest.approx(1.4)
    assert result.avg_response == pytest.approx((0.3 + 0.4) / 2)


def test_results_before_their_window_closed_or_in_another_part_are_wrong():
    assert "0.30 s before its window closed" in evaluate(came_s=(0.2, 1.4)).reason
    assert "in another part" in evaluate(came_s=(0.8, 1.4), first_came_s=150.0).reason


# Claims ---------------------------------------------------------------------------------------------------------


def test_nothing_was_run():
    assert all(each.holds is None and each.reason for each in comparisons([]))


@pytest.mark.parametrize("quick", [False, True])
def test_every_claim_is_measured_by_a_run(quick):
    cases = plan(list(PARTS), quick=quick)
    missing = [each.claim for each in comparisons(map(made_up, cases)) if each.measured is None]
    left_out = ["1,000 limits in HAVING: cost", "50 queries, same load: from"] if quick else []
    assert [claim[: len(start)] for claim, start in zip(missing, left_out, strict=True)] == left_out


def claim(results, words):
    [found] = [each for each in comparisons(results) if words in each.claim]
    return (None if found.measured is None else pytest.approx(found.measured)), found.holds


def test_the_best_of_stock_counts():
    fifty = replace(ONE, part="fifty", queries="fifty", count=50)
    results = [
        made_up(fifty, 1.0),
        made_up(replace(fifty, system="each"), 30.0),
        made_up(replace(fifty, system="each-rocksdb"), 18.0),
        made_up(replace(fifty, system="joined"), 0.1, status="wrong"),
        made_up(replace(fifty, system="panes"), 0.8),
    ]
    assert claim(results, "throughput ÷ stock, one each") == (18, False)
    assert claim(results, "by hand") == (0.8, False)
    assert claim(results, "1 query: throughput") == (None, None)
    assert claim([*results[1:], made_up(fifty, status="failed")], "by hand") == (None, False)


def test_costs_are_seconds_per_query():
    of = replace(ONE, part="thousand", queries="slices")
    results = [made_up(of, 0.5), made_up(replace(of, count=1000), 2.5)]
    assert claim(results, "constants in WHERE") == (0.005, False)
    assert claim([results[0], made_up(replace(of, count=1000), 1.5)], "constants in WHERE") == (0.003, True)


def test_a_restart_counts_and_memory_must_not_grow():
    keys = replace(ONE, part="keys", queries="keys", system="penstock-state", restart=True)
    ours = replace(made_up(keys, 1.0, peaks=((100, 120), (90, 117))), restart_s=1.0)
    theirs = replace(made_up(replace(keys, system="each"), 1.0), restart_s=0.5)
    assert claim([ours, theirs], "restarted") == (0.75, True)
    assert claim([ours, theirs], "peak memory") == (1.3, False)


def test_responses_are_compared_at_the_same_load():
    paced = replace(ONE, part="latency", feeding="paced")
    results = [made_up(paced, response=0.3), made_up(replace(paced, system="each"), response=0.8)]
    assert claim(results, "1 query, same load") == (0.375, False)


def test_a_load_that_was_not_kept_up_with_is_said():
    paced = replace(ONE, part="latency", feeding="paced", seconds=1.0)
    assert made_up(paced).as_dict()["sustained"] is False
    assert made_up(replace(paced, seconds=5.0)).as_dict()["sustained"] is True
    assert made_up(ONE).as_dict()["sustained"] is None


# The command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def made_up_measures(monkeypatch):
    """No case is run; `stop_after` cases are measured before Ctrl-C, and ours take so many seconds."""
    told = {"stop_after": 99, "seen": 0, "ours": 0.01, "status": "ok"}

    def measure(case, offered, on_stage, limit_s):
        if told["seen"] == told["stop_after"]:
            raise KeyboardInterrupt
        told["seen"] += 1
        ours = case.system in OURS
        return made_up(case, told["ours"] if ours else 1.0, 0.1 if ours else 1.0, told["status"] if ours else "ok")

    monkeypatch.setattr(aggregates_run, "measure", measure)
    return told


def aggregates(*arguments):
    return runner.invoke(app, ["bench", "aggregates", *arguments])


def test_a_part_that_does_not_exist_is_a_wrong_call():
    found = aggregates("--part", "window")
    assert found.exit_code == 2
    assert "windows" in found.output


def test_tables_of_a_part(made_up_measures):
    found = aggregates("--part", "one", "--part", "latency")
    assert found.exit_code == 0, found.output
    assert "one: 1 query, 1,000,000 rows" in found.output
    assert "holds" in found.output


def test_a_comparison_that_does_not_hold_fails(made_up_measures):
    made_up_measures["ours"] = 2.0
    found = aggregates("--part", "one", "--json")
    assert found.exit_code == 1
    document = json.loads(found.stdout)
    assert document["benchmark"] == "aggregates"
    assert document["systems"] == SYSTEMS
    assert [each["holds"] for each in document["comparisons"] if each["measured"] is not None] == [False]


def test_wrong_results_are_said(made_up_measures):
    made_up_measures["status"] = "wrong"
    found = aggregates("--part", "one")
    assert found.exit_code == 1
    assert "WRONG: made up" in found.output


def test_ctrl_c_keeps_what_is_done(made_up_measures):
    made_up_measures["stop_after"] = 2
    found = aggregates("--quick", "--part", "one", "--json")
    assert found.exit_code == 130
    assert [case["system"] for case in json.loads(found.stdout)["cases"]] == ["each", "each-rocksdb"]
    assert "2 cases of 3 kept" in found.stderr


def test_the_load_of_paced_cases_is_a_share_of_what_was_drained(monkeypatch):
    loads = []

    def measure(case, offered, on_stage, limit_s):
        loads.append(offered)
        return made_up(case, 10.0)

    monkeypatch.setattr(aggregates_run, "measure", measure)
    cases = plan(["latency"], quick=True)
    run_cases(cases, RunListeners(str, str, str))
    assert loads == [None, 25_000, 25_000]


@pytest.mark.slow
@pytest.mark.parametrize("systems", [("penstock", "joined", "panes"), ("penstock-state", "each")])
def test_tiny_inputs_give_right_results(systems):
    """Each system in a process with a Spark; the figures mean nothing."""
    results = []
    restart = "each" in systems
    kind = {"queries": "keys", "keys": 2000, "repeat": 2} if restart else {"queries": "fifty", "count": 50}
    tiny = AggregateCase("keys" if restart else "fifty", "", files=2, file_rows=4000, event_rate=200)
    tiny = replace(tiny, **{"repeat": 1, **kind}, warm_files=1, restart=restart)
    cases = [replace(tiny, system=system) for system in systems]
    run_cases(cases, RunListeners(print, print, results.append))
    assert [(one.status, one.reason) for one in results] == [("ok", "")] * len(systems)
    assert {one.case.system for one in results} == set(systems)
    assert all(one.runs[0].outputs > 100 for one in results)
