"""The benchmark of the searches: its problems, and what it says of their plans."""

import numpy as np
import pytest

from penstock.bench import optimizer
from penstock.optimizer import optimize
from tests.optimizer import reference


@pytest.mark.parametrize("streams", [2, 3, 4])
def test_problems_have_three_tenths_of_what_the_cheapest_tree_needs(streams):
    problem = optimizer.problem(streams, np.random.default_rng(streams))
    assert len(problem.parts) == 1
    whole = dict.fromkeys(problem.streams, 1.0)
    trees = reference.all_trees(problem.streams, bushy=True)
    assert problem.budget == pytest.approx(0.3 * min(reference.figures(problem, tree, whole)[1] for tree in trees))


@pytest.mark.parametrize("method", optimizer.METHODS)
def test_every_method_has_to_shed(method):
    assert not optimize(optimizer.problem(7, np.random.default_rng(1)), method).feasible


def test_rates_are_compared_with_the_best_left_deep_plan():
    found = {each["method"]: each["series"] for each in optimizer.measured(4, 2, 9, lambda stage: None)["methods"]}
    for place, streams in enumerate((2, 3, 4)):
        problems = [optimizer.problem(streams, np.random.default_rng((9, streams, turn))) for turn in range(2)]
        left_deep = [reference.best(problem)[0] for problem in problems]
        of_all = [reference.best(problem, bushy=True)[0] for problem in problems]
        ratios = [one / other for one, other in zip(of_all, left_deep, strict=True)]
        assert found["bushy"][place]["ratio"] == pytest.approx(np.mean(ratios), rel=1e-6)
        assert found["bushy"][place]["lowest_ratio"] == pytest.approx(min(ratios), rel=1e-6)
        assert found["exhaustive"][place]["ratio"] == pytest.approx(1.0, rel=1e-7)


def test_without_an_exact_answer_there_is_nothing_to_compare_with(monkeypatch):
    monkeypatch.setitem(optimizer.MOST, "exact", 2)
    found = optimizer.measured(3, 1, 1, lambda stage: None)
    exact, _, heuristic, _ = found["methods"]
    assert exact["stopped"] == "takes at most 2 streams"
    assert [each["ratio"] is None for each in heuristic["series"]] == [False, True]
    assert [each["holds"] for each in found["comparisons"]] == [None, None]
