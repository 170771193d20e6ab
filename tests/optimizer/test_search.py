"""Every search beside the plain reference, and beside each other where that would take too long."""

from dataclasses import replace

import pytest

from penstock.errors import PlanError
from penstock.optimizer import JoinProblem, optimize, plans
from tests.optimizer import reference
from tests.optimizer.problems import EXAMPLE_1, seeded, some_problem

CLOSE = 1e-7


def check(plan, problem, rate, cost):
    """The plan is as good as the best, and brings and takes what it says, by the paper's own formulas."""
    assert plan.rate == pytest.approx(rate, rel=CLOSE)
    said = reference.figures(problem, plan.tree, plan.keep)
    assert plan.rate == pytest.approx(said[0], rel=CLOSE)
    assert plan.utilization <= problem.budget * (1 + CLOSE)
    if plan.feasible:
        assert plan.utilization == pytest.approx(cost, rel=CLOSE)


@pytest.mark.parametrize("seed", range(60))
def test_exact_and_exhaustive_are_the_best_of_all_left_deep_plans(seed):
    random = seeded(1, seed)
    problem = some_problem(random, int(random.integers(2, 5)))
    rate, cost = reference.best(problem)
    for method in ("exact", "exhaustive", "auto"):
        check(optimize(problem, method), problem, rate, cost)
    assert optimize(problem, "heuristic").rate <= rate * (1 + CLOSE)


@pytest.mark.parametrize("seed", range(20))
def test_bushy_is_the_best_of_all_trees(seed):
    random = seeded(2, seed)
    problem = some_problem(random, int(random.integers(3, 5)), linked=0.8)
    check(optimize(problem, "bushy"), problem, *reference.best(problem, bushy=True))


@pytest.mark.parametrize("seed", range(15))
def test_sides_of_joins_choose_their_methods(seed):
    random = seeded(3, seed)
    problem = some_problem(random, int(random.integers(2, 4)), methods=2)
    rate, cost = reference.best(problem)
    for method in ("exact", "exhaustive"):
        plan = optimize(problem, method)
        assert plan.rate == pytest.approx(rate, rel=CLOSE)
        if plan.feasible:
            assert plan.utilization == pytest.approx(cost, rel=CLOSE)


@pytest.mark.parametrize("n", [5, 6])
def test_exact_is_as_good_as_listing_all_plans(n):
    for seed in range(40 if n == 5 else 8):
        problem = some_problem(seeded(4, n, seed), n, linked=0.6)
        assert optimize(problem, "exact").rate == pytest.approx(plans(problem)[0].rate, rel=CLOSE), (n, seed)


def test_all_plans_of_example_1():
    found = plans(JoinProblem(**EXAMPLE_1, join_cost=0.003))
    assert [(plan.order, plan.feasible) for plan in found] == [
        (("B", "C", "A"), True),
        (("A", "C", "B"), False),
        (("A", "B", "C"), False),
    ]
    assert [plan.demand for plan in found] == pytest.approx([0.84, 1.2, 1.5])


def test_the_lowest_utilisation_is_not_always_the_best_to_shed_from():
    """AN04 Figure 6 at 14 ms a tuple: the product first brings over twice as much."""
    problem = JoinProblem(**EXAMPLE_1, join_cost=0.014)
    best, cheapest = optimize(problem), min(plans(problem), key=lambda plan: plan.demand)
    assert (best.order, cheapest.order) == (("A", "C", "B"), ("B", "C", "A"))
    assert best.rate / cheapest.rate == pytest.approx(2.30, abs=0.005)


def test_bushy_beats_left_deep_where_two_pairs_are_selective():
    problem = JoinProblem(
        rates=dict.fromkeys("ABCD", 100),
        windows=dict.fromkeys("ABCD", 100),
        selectivities={("A", "B"): 1e-4, ("C", "D"): 1e-4},
        join_cost=1e-3,
    )
    bushy, left = optimize(problem, "bushy", capacity=10), optimize(problem, "exact", capacity=10)
    assert bushy.tree in ((("A", "B"), ("C", "D")), (("C", "D"), ("A", "B")))
    assert not bushy.is_left_deep
    assert left.is_left_deep
    assert bushy.utilization < left.utilization


def test_capacity_headroom_and_share_are_what_they_say():
    problem = JoinProblem(**EXAMPLE_1, join_cost=0.003)
    whole = optimize(problem)
    assert optimize(problem, capacity=0.84 + 1e-9).feasible
    assert not optimize(problem, capacity=0.83).feasible
    assert not optimize(replace(problem, headroom=0.2)).feasible
    assert optimize(replace(problem, share=0.9)).utilization == pytest.approx(whole.utilization / 0.9)


@pytest.mark.parametrize(("method", "most"), [("exhaustive", 8), ("exact", 12), ("bushy", 12)])
def test_what_would_take_for_ever_is_refused(method, most):
    names = [f"s{i}" for i in range(most + 1)]
    problem = JoinProblem(dict.fromkeys(names, 1), dict.fromkeys(names, 2), join_cost=1)
    with pytest.raises(PlanError, match=f"at most {most} streams here, not {most + 1}"):
        optimize(problem, method)


def test_an_unknown_method_is_named():
    with pytest.raises(PlanError, match=r"no method 'exakt'.*Did you mean 'exact'"):
        optimize(JoinProblem(**EXAMPLE_1, join_cost=1), "exakt")
