"""Problems that cannot be, each refused in a sentence that names what is wrong; and some that only look odd."""

from dataclasses import replace

import pytest

from penstock.errors import PlanError
from penstock.network import Window
from penstock.optimizer import Filter, JoinMethod, JoinProblem, optimize
from tests.optimizer.problems import EXAMPLE_1

GOOD = {**EXAMPLE_1, "join_cost": 0.001}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": {"A": -1, "B": 70, "C": 20}}, "the rate of stream 'A' must be above 0, not -1"),
        ({"rates": {"A": 0, "B": 70, "C": 20}}, "the rate of stream 'A' must be above 0, not 0"),
        ({"rates": {"A": "ten", "B": 70, "C": 20}}, "the rate of stream 'A' must be a number, not 'ten'"),
        ({"rates": {"A": float("nan"), "B": 70, "C": 20}}, "the rate of stream 'A' must be a finite number"),
        ({"rates": {"A": 10}}, "a join needs at least two streams, not 1"),
        ({"rates": {}}, "a join needs at least two streams, not 0"),
        ({"windows": {"A": 0, "B": 10, "C": 10}}, "the window of stream 'A' must be above 0, not 0"),
        ({"windows": {"A": 10, "B": 10}}, "stream 'C' has no window"),
        ({"windows": {"A": 10, "B": 10, "C": 10, "D": 10}}, "the windows name 'D', which is not a stream"),
        ({"selectivities": {("A", "B"): 1.5}}, r"the selectivity of the predicate \('A', 'B'\) must be at most 1"),
        ({"selectivities": {("A", "B"): 0}}, "must be above 0, not 0"),
        ({"selectivities": {("A", "Q"): 0.5}}, r"the predicate \('A', 'Q'\) names 'Q', which is not a stream"),
        ({"selectivities": {("A", "A"): 0.5}}, "is on one stream only; give that stream a filter"),
        ({"selectivities": {("A", "B"): 0.5, ("B", "A"): 0.5}}, "is given twice; multiply the selectivities"),
        ({"selectivities": {"AB": 0.5}}, "a predicate is between two streams"),
        ({"capacity": 0}, "the capacity must be above 0, not 0"),
        ({"headroom": 1}, "the headroom must be below 1"),
        ({"share": 1.5}, "the share of the processor must be at most 1"),
        ({"join_cost": 0}, "the join_cost must be above 0, not 0"),
        ({"join_cost": None}, "give either the join_cost or the methods"),
        ({"methods": [JoinMethod("hash", probe=1)]}, "give either the join_cost or the methods"),
        ({"filters": {"Q": [Filter(1)]}}, "the filters name 'Q', which is not a stream"),
        ({"filters": {"A": [0.5]}}, "must be Filter values"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(PlanError, match=message):
        JoinProblem(**{**GOOD, **change})


def test_windows_that_hold_more_than_can_be_counted_are_refused():
    names = [f"s{i}" for i in range(5)]
    with pytest.raises(PlanError, match="joined tuples in windows of these sizes is out of range"):
        optimize(JoinProblem(dict.fromkeys(names, 1), dict.fromkeys(names, 1e90), join_cost=1))


def test_streams_without_a_predicate_are_a_product():
    problem = JoinProblem({"A": 1, "B": 2, "C": 3}, {"A": 4, "B": 5, "C": 6}, {("A", "C"): 0.5}, join_cost=1e-6)
    assert problem.parts == (("A", "C"), ("B",))
    assert optimize(problem).rate == pytest.approx(0.5 * (1 * 5 * 6 + 2 * 4 * 6 + 3 * 4 * 5))  # AN04 (5)


def test_a_problem_can_be_changed_and_is_checked_again():
    assert replace(JoinProblem(**GOOD), capacity=0.5).budget == 0.5
    with pytest.raises(PlanError):
        replace(JoinProblem(**GOOD), capacity=-1)


def test_a_range_window_holds_what_arrives_in_its_time():
    timed = JoinProblem(
        {"A": 10, "B": 70}, {"A": Window("range", 2), "B": Window("rows", 5)}, {("A", "B"): 0.5}, join_cost=1e-6
    )
    rows = replace(timed, windows={"A": 20, "B": 5})
    assert optimize(timed).rate == optimize(rows).rate == pytest.approx(0.5 * (10 * 5 + 70 * 20))


def test_a_window_of_rows_counts_them_before_the_filter():
    """AN04 Figure 2: the filter thins the window as it thins the stream."""
    plain = JoinProblem({"A": 10, "B": 70}, {"A": 100, "B": 100}, {("A", "B"): 0.01}, join_cost=1e-6)
    thinned = replace(plain, filters={"A": [Filter(1e-6, 0.1)]})
    assert optimize(thinned).rate == pytest.approx(optimize(plain).rate * 0.1)
