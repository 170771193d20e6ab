"""The benchmarks of policies and of deciding, without Spark: what they run, what they require, their pages."""

from itertools import islice

import pytest

from penstock.bench import deciding
from penstock.bench.machine import described
from penstock.bench.policies.figures import PolicyRun
from penstock.bench.policies.prediction import compared
from penstock.bench.policies.run import comparisons
from penstock.bench.policies.selections import BANDS, selections
from penstock.bench.policies.workload import FLOWS, Input, seeds
from penstock.language import Script
from penstock.plan.plan import Plan, never
from penstock.report import deciding as deciding_report
from penstock.report import policies as policies_report
from penstock.workloads import Bursty, index_of_dispersion, until


def test_thirty_queries_none_of_which_shares_anything(tmp_path):
    work = selections()
    parsed = Script.parse(work.script(tmp_path, Input(100.0, 10, seed=1)))
    assert len(parsed.queries) == len(work.queries) == 30
    assert Plan.of(parsed, never).groups == {}
    for size in BANDS:
        table = work.tables[f"bands{size}"]
        lows, highs = table["low"].to_pylist(), table["high"].to_pylist()
        assert (lows[0], highs[-1], lows[1:]) == (0, 10_000, highs[:-1])


def fared(policy, response, slowdown):
    figures = (response,) * 3 + (slowdown,) * 3
    return PolicyRun(*figures, policy, 1, 10, 30.0, 5, 0.9, 0.01)


def runs(**slowdowns):
    return [fared(policy, slowdown / 10, slowdown) for policy, slowdown in slowdowns.items()]


@pytest.mark.parametrize(
    ("slowdowns", "holds"),
    [
        ({"fifo": 9, "round_robin": 8, "hr": 5, "hnr": 4, "bsd": 12}, [True] * 4),
        ({"fifo": 9, "round_robin": 3, "hr": 5, "hnr": 4, "bsd": 12}, [True, False, True, False]),
    ],
)
def test_what_is_required_of_policies(slowdowns, holds):
    assert [each.holds for each in comparisons(runs(**slowdowns))] == holds


def test_runs_of_policies_have_the_load_that_they_should():
    rate, seconds = 1000.0, 20
    for seed in islice(seeds(rate, int(rate * seconds)), 3):
        arrived = until(Bursty(rate, FLOWS), seed, seconds)
        assert 0.85 < len(arrived) / (rate * seconds) < 1.15
        assert index_of_dispersion(arrived, bin_seconds=1) > 5


@pytest.mark.parametrize("case", [case for case in deciding.CASES if case.queries < 5000])
def test_the_queries_of_deciding_are_in_groups_where_they_may_be(case):
    parsed = Script.parse(deciding.script(case))
    assert len(parsed.queries) == case.queries
    if case.grouped:
        assert len(Plan.of(parsed).network.queries) == case.forms


def test_pages():
    required = [each.as_dict() for each in comparisons(runs(fifo=9, round_robin=8, hr=5, hnr=4, bsd=6))]
    machine = described("4g")
    figures = [{**vars(run)} for run in runs(fifo=9, round_robin=8, hr=5, hnr=4, bsd=6)]
    found = {
        "machine": machine, "queries": 30, "offered_rows_per_s": 90.0, "capacity_rows_per_s": 100.0,
        "seconds": 30.0, "policies": figures, "comparisons": required,
        "prediction": {"policies": figures, "orders": compared(figures, figures)},
    }  # fmt: skip
    assert policies_report.page(found).count("<figure>") == 4
    for each in figures:
        each["kinds"] = {"aggregates": {**each, "p99_response": 12.5}, "filters": dict(each)}
    assert "12.5 s" in policies_report.page(found)
    case = {"name": "5 queries", "deciding": 0.01, "utilization": 1, "jobs": 3, "rows_in": 9, "waiting_rows": 0}
    assert "5 queries" in deciding_report.page({"machine": machine, "cases": [case], "comparisons": []})
