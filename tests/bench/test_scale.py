"""The cases, claims, command and report of `bench scale`."""

import json
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from typer.testing import CliRunner

from penstock.bench.scale import run as scale_run
from penstock.bench.scale.case import InputFacts, MeasuredDrain, ScaleCase, ScaleResult
from penstock.bench.scale.case_list import PARTS, ScalePlan
from penstock.bench.scale.claims import comparisons
from penstock.bench.scale.inputs import MadeInput, ScaleInput
from penstock.bench.scale.query_set import QuerySet
from penstock.bench.scale.ratios import speed_ratio
from penstock.bench.scale.usage import FileScans
from penstock.cli.app import app
from penstock.report.scale import page

runner = CliRunner()
NOTHING = {"handed_over": 0, "fetched": 0, "read": 0, "scans": 0}


def made_up(case, seconds=1.0, traffic=None, files_read=10, peak=100):
    drains = [MeasuredDrain(seconds * i, 0.5, 2.0, None, traffic or NOTHING, files_read) for i in (0.9, 1, 1.1)]
    facts = InputFacts(10, 1000, 8 * 10 if case.input.window_rows else 0, 500)
    return ScaleResult(case, "ok", "", tuple(drains), facts, peak)


def test_cases_that_share_an_input_follow_each_other():
    """Else the input would be made again: only the memory part, which has inputs of its own, may do so."""
    for plan in (ScalePlan(list(PARTS)), ScalePlan(list(PARTS), quick=True)):
        cases = [case for case in plan.cases() if case.part != "memory"]
        inputs = [key for key, _ in groupby(case.input for case in cases)]
        assert len(inputs) == len(set(inputs))
        assert {case.part for case in plan.cases()} == set(PARTS)


def test_a_plan_has_the_sizes_that_were_asked_for():
    whole = ScalePlan(["filters"]).cases()
    assert {case.input.file_rows for case in whole} == {10_000, 100_000, 1_000_000, 5_000_000}
    assert {(case.input.rows, case.repeat, case.place) for case in whole} == {(20_000_000, 5, None)}
    quick = ScalePlan(["filters"], quick=True, rows=50_000, repeat=2, place="stored").cases()
    assert {(case.input.rows, case.input.file_rows, case.repeat) for case in quick} == {(50_000, 50_000, 2)}
    assert {case.system for case in quick if case.place == "stored"} == {"penstock"}
    assert {case.repeat for case in ScalePlan(["memory"]).cases()} == {1}
    one = ScalePlan(["filters", "table"], file_rows=[1_000_000], filters=[1]).cases()
    assert {(case.part, case.queries.count) for case in one} == {("filters", 1), ("table", 1)}
    some = ScalePlan(["filters", "windows"], file_rows=[1_000_000]).cases()
    assert {(case.part, case.input.file_rows) for case in some} == {("filters", 1_000_000), ("windows", 1_000_000)}


def test_a_case_survives_json():
    for case in ScalePlan(list(PARTS), place="auto").cases():
        again = ScaleCase.of(json.loads(json.dumps(scale_run.asdict(case))))
        assert again == case


def test_every_claim_is_measured_by_a_whole_run():
    counted = {"handed_over": 5, "fetched": 3, "read": 2, "scans": 10}
    cases = [made_up(case, traffic=counted) for case in ScalePlan(list(PARTS), with_state=True).cases()]
    found = comparisons(cases)
    assert [claim.claim for claim in found if claim.measured is None] == []
    assert [claim.claim for claim in found if not claim.holds] == [
        f"1 filter, files of {size} rows: speed ÷ stock" for size in ("1,000,000", "5,000,000")
    ]


def test_a_state_is_measured_beside_none():
    plan = ScalePlan(["filters"], file_rows=(100_000,), filters=(1,), with_state=True)
    cases = plan.cases()
    assert [case.system for case in cases] == ["batch", "each", "penstock", "penstock-state"]
    assert all(case.on_disk for case in cases)
    seconds = {"penstock": 1.0, "penstock-state": 1.25}
    found = comparisons([made_up(case, seconds.get(case.system, 3.0)) for case in cases])
    [claim] = [each for each in found if "--state" in each.claim]
    assert (claim.measured, claim.holds) == (0.8, False)


def claim_of(results, words):
    return next(claim for claim in comparisons(results) if words in claim.claim)


def test_speed_is_the_ratio_of_median_times():
    case = ScaleCase("filters", "penstock", QuerySet(), ScaleInput(20_000_000, 1_000_000))
    batch = made_up(replace(case, system="batch"), 3.0)
    claim = claim_of([batch, made_up(case, 4.0)], "1,000,000 rows: speed ÷ one batch job")
    assert (claim.measured, claim.holds) == (pytest.approx(0.75), False)
    failed = ScaleResult(case, "failed", "made up")
    assert claim_of([batch, failed], "1,000,000 rows: speed ÷ one batch job").holds is False
    assert claim_of([batch], "1,000,000 rows: speed ÷ one batch job").holds is None


def test_times_may_pass_through_the_driver_and_nothing_else():
    case = ScaleCase(
        "windows", "penstock", QuerySet("window", window_rows=1000), ScaleInput(10, 1, window_rows=1000)
    )
    one = made_up(case, traffic={"handed_over": 60, "fetched": 30, "read": 20, "scans": 1})
    assert one.driver_share == pytest.approx((110 - 80) / 1000)
    assert claim_of([one], "window join: bytes").holds is False
    filters = made_up(replace(case, part="filters", queries=QuerySet(), input=ScaleInput(10, 1)))
    assert filters.driver_share is None, "a run that counts nothing says nothing"
    assert claim_of([filters], "table join: bytes").holds is None


def test_scans_are_what_was_counted_else_what_spark_says():
    case = ScaleCase("filters", "penstock", QuerySet(), ScaleInput(10, 1))
    counted = {**NOTHING, "scans": 30}
    assert made_up(case, traffic=counted).scans_per_file == 3
    assert made_up(case, traffic=counted, files_read=None).scans_per_file == 3
    assert made_up(case, files_read=None).scans_per_file is None


def test_memory_that_grows_is_no_claim_that_holds():
    small, large, *_ = ScalePlan(["memory"]).cases()
    results = [made_up(small, peak=100), made_up(large, peak=130)]
    assert claim_of(results, "ten times the rows").measured == pytest.approx(1.3)
    assert claim_of(results, "ten times the rows").holds is False


def test_the_interval_of_a_ratio():
    random = np.random.default_rng(3)
    found = speed_ratio(random.normal(2.0, 0.1, 50), random.normal(3.0, 0.1, 50))
    assert found.low < 1.5 < found.high
    assert found.high - found.low < 0.15
    assert found.low <= found.ratio <= found.high


def test_wrong_results_of_any_drain_are_found():
    case = ScaleCase("windows", "batch", QuerySet("window", window_rows=1000), ScaleInput(10, 1, window_rows=1000))
    made = MadeInput(2, {"k": 40, "v": 40}, 50, np.zeros(0), np.zeros(0), (5, 70))
    measured = {"seconds": 1.0, "python_cpu_s": 0.1, "jvm_cpu_s": 1.0, "executor_cpu_s": None}
    measured |= {"traffic": NOTHING, "files_read": 2}
    drains = [{"measured": measured, "found": {"q0": found}} for found in ([5, 70], [10, 140])]
    assert scale_run.evaluated(case, made, {"drains": drains[:1], "peak_bytes": 1}).status == "ok"
    wrong = scale_run.evaluated(case, made, {"drains": drains, "peak_bytes": 1})
    assert wrong.status == "wrong"
    assert "q0 has 10" in wrong.reason


class Page:
    """Spark's status page, of which executions can be forgotten."""

    uiWebUrl, applicationId = "http://127.0.0.1:1", "app"

    def __init__(self):
        self.executions = []
        self.sparkContext = self

    def ran(self, files):
        metrics = [{"name": "number of files read", "value": str(files)}]
        self.executions.append({"id": len(self.executions), "nodes": [{"metrics": metrics}]})

    def __call__(self, address):
        options = dict(each.split("=") for each in address.split("?")[1].split("&"))
        first = int(options["offset"])
        return self.executions[first : first + int(options["length"])]


def test_each_execution_counts_once(monkeypatch):
    spark = Page()
    monkeypatch.setattr("penstock.bench.scale.usage.json_page", spark)
    scans = FileScans(spark)
    assert scans.since_last() == 0
    for files in [1] * 1200:
        spark.ran(files)
    assert scans.since_last() == 1200
    spark.ran(7)
    assert scans.since_last() == 7
    del spark.executions[0]
    assert scans.since_last() is None


@pytest.fixture
def made_up_measures(monkeypatch):
    """No case is run and no input made; `stop_after` cases are measured before Ctrl-C."""
    told = {"stop_after": 99, "seen": 0}

    def measure(case, *rest):
        if told["seen"] == told["stop_after"]:
            raise KeyboardInterrupt
        told["seen"] += 1
        return made_up(case, {"penstock": 1.0, "batch": 0.9}.get(case.system, 3.0))

    monkeypatch.setattr(scale_run, "measure", measure)
    monkeypatch.setattr(scale_run, "make_input", lambda source, folder: None)
    return told


def scale(*arguments):
    return runner.invoke(app, ["bench", "scale", *arguments])


def test_a_part_that_does_not_exist_is_a_wrong_call():
    found = scale("--part", "window")
    assert found.exit_code == 2
    assert "windows" in found.output


def test_a_size_that_does_not_exist_is_a_wrong_call():
    found = scale("--file-rows", "5")
    assert found.exit_code == 2
    assert "expected one of 10000" in " ".join(found.output.replace("│", " ").split())


def test_tables_and_a_page(tmp_path, made_up_measures):
    found = scale("--part", "filters", "--part", "memory", "--report", str(tmp_path / "scale.html"))
    assert found.exit_code == 0, found.output
    assert "100 filters" in found.output
    assert "Memory of Penstock's driver" in found.output
    made = (tmp_path / "scale.html").read_text()
    assert made.count("<figure>") == 3
    assert "<script src" not in made


def test_ctrl_c_keeps_what_is_done(made_up_measures):
    made_up_measures["stop_after"] = 2
    found = scale("--quick", "--part", "table", "--json")
    assert found.exit_code == 130
    kept = json.loads(found.stdout)
    assert kept["interrupted"]
    assert [case["system"] for case in kept["cases"]] == ["batch", "each"]
    assert "2 cases of 6 kept" in found.stderr


def test_failures_are_on_the_page():
    case = ScaleCase("filters", "penstock", QuerySet(), ScaleInput(10, 1))
    results = [ScaleResult(case, "wrong", "q1 has <1> row")]
    found = scale_run.document(results, quick=True, interrupted=True, seconds=60, master=None)
    assert "q1 has &lt;1&gt; row" in page(json.loads(json.dumps(found)))


@pytest.mark.slow
@pytest.mark.parametrize(("part", "queries"), [("filters", 10), ("windows", 1)])
def test_tiny_inputs_give_right_results(part, queries):
    """All systems on inputs of thousands of rows, each in a process with a Spark; the figures mean nothing."""
    results = []
    listeners = scale_run.RunListeners(print, print, results.append)
    plan = ScalePlan([part], quick=True, rows=40_000, repeat=1)
    cases = [replace(case, input=replace(case.input, file_rows=10_000)) for case in plan.cases()]
    cases = list(dict.fromkeys(case for case in cases if case.queries.count == queries))
    assert {"batch", "penstock"} <= {case.system for case in cases}
    scale_run.run_cases(cases, scale_run.Where(), listeners)
    assert [(one.case.name, one.status, one.reason) for one in results if one.status != "ok"] == []
    assert {one.case.system for one in results} == {case.system for case in cases}
    for one in results:
        assert one.seconds > 0
        assert one.peak_bytes > 10_000_000
        if one.case.system == "batch":
            assert one.scans_per_file == 1
