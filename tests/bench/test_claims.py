from dataclasses import replace

from penstock.bench.stock.case import OURS, StockCase
from penstock.bench.stock.case_list import PARTS, plan
from penstock.bench.stock.claims import comparisons
from tests.bench.made_up import measured

FILTER = StockCase("filters", "penstock")
MIXED = StockCase("mixed", "penstock", workload="mixed", queries=40)


def of(case, system, rate, queries=None, **more):
    return measured(replace(case, system=system, queries=queries or case.queries), rate, **more)


def by_number(cases):
    return [(each.measured, each.holds) for each in comparisons(cases)]


def test_nothing_was_run():
    assert all(each.holds is None and each.reason for each in comparisons([]))


def test_rates_are_compared_with_the_best_of_stock():
    found = by_number(
        [
            of(FILTER, "each-fifo", 100, 50),
            of(FILTER, "each-fair", 125, 50),
            of(FILTER, "penstock", 1250, 50),
            of(FILTER, "penstock", 20_000, 1000),
            of(FILTER, "grouped", 25_000, 1000),
        ]
    )
    assert found[0] == (None, None)
    assert found[1] == (10.0, True)
    assert found[2] == (160.0, False)
    assert found[3] == (0.8, False)


def test_other_parts_with_as_many_queries_do_not_count():
    cost = replace(FILTER, part="cost")
    found = by_number([of(FILTER, "each-fifo", 100, 50), of(cost, "penstock", 5000, 50)])
    assert found[1] == (None, None)


def test_a_case_that_failed_does_not_hold():
    found = by_number([of(FILTER, "each-fifo", 100), of(FILTER, "penstock", 100, status="wrong")])
    assert found[0] == (None, False)
    found = by_number([of(FILTER, "each-fifo", 100, status="failed"), of(FILTER, "penstock", 100)])
    assert found[0] == (None, False)


def test_one_stock_system_is_enough():
    cases = [of(MIXED, "each-fifo", 100), of(MIXED, "each-fair", 9999, status="wrong"), of(MIXED, "penstock", 400)]
    assert by_number(cases)[4] == (4.0, True)


def test_responses_at_the_same_load():
    paced = replace(MIXED, part="paced", feeding="paced")
    cases = [
        of(paced, "each-fifo", 100, response=6.0),
        of(paced, "each-fair", 100, response=4.0),
        of(paced, "penstock", 100, response=1.0),
    ]
    assert by_number(cases)[5] == (0.25, True)
    assert by_number(cases)[4] == (None, None)


def test_a_load_that_was_not_kept_up_with_is_said():
    paced = replace(MIXED, part="paced", feeding="paced", seconds=30)
    assert of(paced, "each-fifo", 100, behind=20).sustained is False
    assert of(paced, "each-fifo", 100, behind=10).sustained is True


def test_what_a_state_costs():
    chunks = replace(FILTER, part="chunks", feeding="steady")
    cases = [
        of(FILTER, "each-fifo", 100, 50),
        of(FILTER, "penstock", 2000, 50),
        of(FILTER, "penstock-state", 1800, 50),
        of(FILTER, "penstock", 20_000, 1000),
        of(FILTER, "penstock-state", 16_000, 1000),
        of(chunks, "penstock", 100, 50, response=0.100),
        of(chunks, "penstock-state", 100, 50, response=0.108),
    ]
    found = {each.claim: (round(each.measured, 6), each.holds) for each in comparisons(cases) if each.measured}
    assert found["50 filters: throughput with --state ÷ without"] == (0.9, True)
    assert found["1,000 filters: throughput with --state ÷ without"] == (0.8, False)
    assert found["50 filters, --state: throughput ÷ stock, one query each"] == (18, True)
    assert found["small chunks, --state: median of responses, seconds more"] == (0.008, True)
    assert found["small chunks, --state: p95 of responses, seconds more"] == (0.012, True)


def test_with_a_state_all_cases_are_on_a_disk_and_ours_run_twice():
    cases = plan(["filters", "chunks"], quick=True, with_state=True)
    assert all(case.on_disk for case in cases)
    ours = [case for case in cases if case.system in OURS]
    assert [case.system for case in ours] == [*OURS] * (len(ours) // 2)
    assert not any(case.on_disk or case.system == "penstock-state" for case in plan(list(PARTS), quick=False))
