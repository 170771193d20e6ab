"""Several queries under one budget."""

import pytest

from penstock.errors import PlanError
from penstock.optimizer import JoinProblem, optimize
from penstock.shedding.several_queries import shed_together
from tests.optimizer import reference
from tests.optimizer.problems import EXAMPLE_1, seeded


def queries(join_cost=0.003):
    first = JoinProblem(**EXAMPLE_1, join_cost=join_cost)
    second = JoinProblem({"B": 70, "D": 30}, {"B": 10, "D": 50}, {("B", "D"): 0.1}, join_cost=join_cost)
    return {"first": first, "second": second}


def test_enough_for_all_drops_nothing():
    found = shed_together(queries(), capacity=2)
    assert found.feasible
    assert found.utilization == pytest.approx(0.84 + 0.3)


@pytest.mark.parametrize("boxes", ["stream", "query"])
def test_random_boxes_within_the_budget_never_bring_more(boxes):
    random, problems, weights = seeded(9), queries(), {"first": 1, "second": 5}
    found = shed_together(problems, weights, capacity=0.5, boxes=boxes)
    assert found.utilization <= 0.5 * (1 + 1e-9)
    assert not found.feasible
    tried = 0
    for _ in range(3000):
        shares = {(q, s): float(random.random() ** 2) for q in problems for s in problems[q].streams}
        value = cost = 0.0
        for name, problem in problems.items():
            keep = {s: shares["first" if boxes == "stream" and s == "B" else name, s] for s in problem.streams}
            rate, spent = reference.figures(problem, found.queries[name].tree, keep)
            value, cost = value + weights[name] * rate, cost + spent
        if cost <= 0.5:
            tried += 1
            assert value <= found.value * (1 + 1e-9)
    assert tried > 100


def test_what_is_said_of_each_query_is_what_its_plan_does():
    problems = queries()
    found = shed_together(problems, capacity=0.5)
    for name, query in found.queries.items():
        assert (query.rate, query.utilization) == pytest.approx(
            reference.figures(problems[name], query.tree, query.keep)
        )
    assert found.value == pytest.approx(sum(query.rate for query in found.queries.values()))


def test_one_box_for_a_stream_is_the_same_for_all_and_own_boxes_are_never_worse():
    shared, own = (shed_together(queries(), {"second": 3}, 0.4, boxes) for boxes in ("stream", "query"))
    assert shared.queries["first"].keep["B"] == shared.queries["second"].keep["B"]
    assert own.value >= shared.value * (1 - 1e-9)


def test_weights_decide_who_sheds():
    light, heavy = (shed_together(queries(), {"second": w}, 0.3, "query") for w in (1e-3, 1e3))
    assert heavy.queries["second"].rate > light.queries["second"].rate
    assert heavy.queries["first"].rate < light.queries["first"].rate


def test_one_stream_cannot_have_two_rates():
    problems = queries()
    problems["third"] = JoinProblem({"B": 71, "D": 30}, {"B": 10, "D": 50}, join_cost=1)
    with pytest.raises(PlanError, match="stream 'B' has a rate of 70 in query 'first' and of 71 in 'third'"):
        shed_together(problems)
    with pytest.raises(PlanError, match=r"not a query\. Did you mean 'first'"):
        shed_together(queries(), {"frist": 1})


@pytest.mark.parametrize("boxes", ["stream", "query"])
def test_two_copies_of_a_query_bring_at_least_what_each_does_with_half(boxes):
    problem = JoinProblem(
        {"A": 10, "B": 70, "C": 20},
        {"A": 10, "B": 10, "C": 10},
        {("A", "B"): 0.5, ("B", "C"): 0.2},
        join_cost=0.005,
    )
    found = shed_together({"one": problem, "two": problem}, {"two": 2}, boxes=boxes)
    assert found.value >= 3 * optimize(problem, capacity=0.5).rate * (1 - 1e-9)
    assert found.utilization <= 1 + 1e-9
