"""The benchmark of orders: what it requires, and its page; how Spark runs both orders is in tests/spark."""

import pytest

from penstock.bench import orders
from penstock.bench.machine import described
from penstock.report.orders import page


def plan(seconds, predicted, demand):
    each = {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]}
    return {
        "orders": each, "predicted": predicted, "demand": demand, "seconds": seconds, "jobs": [9], "results": 12,
    }  # fmt: skip


def required(written, differing=0):
    found = {"optimizer": plan([2.0, 9.0, 3.0], [0.11, 0.3, 0.05], [0.1]), "written": written}
    return [each.as_dict() for each in orders._comparisons(found, differing)]


def test_times_are_medians_and_errors_relative_to_what_was_measured():
    faster, results, ours, theirs = required(plan([9.0, 6.0, 7.5], [0.4], [0.2, 0.9, 0.5]))
    assert (faster["measured"], faster["holds"]) == (2.5, True)
    assert (results["measured"], results["holds"]) == (0, True)
    assert (ours["measured"], ours["holds"]) == (pytest.approx(0.1), True)
    assert (theirs["measured"], theirs["holds"]) == (pytest.approx(0.2), True)


def test_slow_orders_wrong_predictions_and_other_results_do_not_hold():
    faster, results, _, theirs = required(plan([5.0], [0.8], [0.5]), differing=1)
    assert [faster["holds"], results["holds"], theirs["holds"]] == [False, False, False]


def test_both_scripts_differ_in_the_setting_only():
    one, other = (orders.script(50, optimize=optimize) for optimize in (True, False))
    assert [script.settings["optimize"] for script in (one, other)] == [True, False]
    assert one.queries == other.queries
    assert {stream.options["seconds"] for stream in one.streams.values()} == {50}


def test_the_page_says_whether_results_are_the_same():
    found = {
        "machine": described("4g"),
        "rows": 1000, "stream_seconds": 50.0, "same_results": False,
        "plans": {"optimizer": plan([2.0], [0.11], [0.1]), "written": plan([6.0], [0.35], [0.5])},
        "comparisons": required(plan([6.0], [0.35], [0.5]), differing=1),
    }  # fmt: skip
    html = page(found)
    assert "NOT the same" in html
    assert "Which windows a row probes, in order" in html
