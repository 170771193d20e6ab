"""What the overload benchmark expects and audits, without running it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from penstock.bench.overload import (
    KEYS,
    RANGE_S,
    RATES,
    _audited,
    calm_demand,
    cheapest_orders,
    expected_orders,
    predicted_results,
    script,
)
from penstock.network import Window
from penstock.optimizer import JoinProblem, Probing
from penstock.plan.probe_orders import COSTS
from penstock.runtime.load_control import SheddingSummary
from penstock.runtime.summary import StreamSummary
from tests.cli.test_live_view import query, stream, summary
from tests.runtime.test_drop_boxes import kept_numbers


def test_the_order_is_to_change_once_much_of_b_is_dropped():
    found = expected_orders({"a": 1.0, "b": 0.3, "c": 1.0})
    assert found["before"] == ["c", "b"]
    assert found["after"] == ["b", "c"]
    assert found["an04"] == {"before": ["a", "c"], "after": ["a", "b"]}
    assert cheapest_orders({"a": 1.0, "b": 0.8, "c": 1.0})["a"] == ("c", "b")


def test_the_orders_tried_one_by_one_are_the_optimizers():
    equal = {pair: 1 / count for pair, count in KEYS.items()}
    problem = JoinProblem(RATES, dict.fromkeys(RATES, Window("range", RANGE_S)), equal, join_cost=1e-9)
    probing = Probing(problem, equal, COSTS)
    for keep in ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "b": 0.3, "c": 1.0}, {"a": 0.5, "b": 0.5, "c": 0.1}):
        assert cheapest_orders(keep) == probing.keeping(keep).best


def of_b(rows, boxes, **counts) -> StreamSummary:
    return replace(stream(rows), boxes=tuple(boxes), **counts)


def test_counts_that_boxes_do_not_say_are_found():
    boxes = [(0, 1.0), (100, 0.25), (900, 0.5)]
    kept = len(kept_numbers("b", boxes, 1000))
    right = of_b(1000, boxes, kept=kept, dropped=1000 - kept)
    assert _audited("b", right)["exact"]
    assert not _audited("b", replace(right, kept=kept + 1, dropped=999 - kept))["exact"]
    assert not _audited("b", replace(right, late=1))["exact"]


def test_predictions_are_added_up_over_what_each_box_was_in_force_for():
    def tick(seconds, keep, rate):
        shedding = SheddingSummary(0.9, 3.0, 0.9, 1, {"met": rate})
        streams = {"a": stream(5), "b": replace(stream(5), keep=keep)}
        return summary(seconds, streams, {"met": query(0)}, shedding=shedding)

    boxes = [(0, 1.0), (80_000, 0.5), (160_000, 0.25)]
    ticks = [tick(1, 1.0, 100.0), tick(2, 0.5, 52.0), tick(3, 0.5, 48.0), tick(4, 0.25, 25.0)]
    last = summary(5, {"b": of_b(400_000, boxes)}, {"met": query(0)})
    assert predicted_results(last, ticks, 2.0) == pytest.approx(50 * (10 + 0.5 * 10 + 0.25 * 30))
    assert predicted_results(last, [], 2.0) is None


def test_the_script_is_one_that_can_be_read():
    assert list(script("speed = 2").streams) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("demands", "found", "runs"),
    [
        ([0.5, 0.3, 0.2, 0.199, 9.0], 0.199, 4),  # a minute is over, and the last two differ: one more
        ([0.5, 0.21, 0.2, 9.0], 0.2, 3),
        ([0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 9.0], 0.3, 6),  # it never settles: two minutes are enough
    ],
)
def test_the_demand_is_that_of_a_warm_machine(demands, found, runs):
    coming = iter(demands)
    told = []
    measured = calm_demand(lambda: SimpleNamespace(demand=next(coming), seconds=20.0), told.append)
    assert (measured, len(told)) == (found, runs)
