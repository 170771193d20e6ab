"""Drop boxes: nowhere is better than at the sources, for windows of rows and of time."""

from time import perf_counter

import numpy as np
import pytest
from scipy.optimize import minimize

from penstock.network import Window
from penstock.optimizer import Filter, JoinProblem, filter_plan, optimize, plans
from tests.optimizer import reference
from tests.optimizer.problems import seeded, some_problem


def boxed(problem, tree, boxes):
    """(rate, cost) of a tree with a drop box at every input of every join and after the last.

    A box on a stream thins its window of time, too; a window of rows stays full whatever arrives.
    """
    spent = []

    def visit(part):
        if isinstance(part, str):
            rate, window = float(problem.rates[part]) * boxes[part], problem.windows[part]
            size = float(window.size) * (rate if window.kind == "range" else 1.0)
            return {part}, rate, size
        (left, left_rate, left_size), (right, right_rate, right_size) = visit(part[0]), visit(part[1])
        share = 1.0
        for (one, other), each in problem.selectivities.items():
            if len({one, other} & left) == len({one, other} & right) == 1:
                share *= float(each)
        spent.append((left_rate + right_rate) * float(problem.join_cost))
        rate = share * (right_size * left_rate + left_size * right_rate)
        return left | right, rate * boxes[part], share * left_size * right_size

    _, rate, _ = visit(tree)
    return rate, sum(spent)


@pytest.mark.parametrize("seed", range(12))
def test_boxes_everywhere_never_beat_boxes_at_the_sources(seed):
    random = seeded(5, seed)
    problem = some_problem(random, int(random.integers(2, 5)), filters=False)
    plan = plans(problem)[int(random.integers(0, len(plans(problem))))]
    places = [*problem.streams, *reference.inner(plan.tree)]
    sources = np.arange(len(places)) < len(problem.streams)
    for _ in range(400):
        shares = np.where(random.random(len(places)) < 0.4, 1.0, 10 ** random.uniform(-2, 0, len(places)))
        _, cost = boxed(problem, plan.tree, dict(zip(places, shares, strict=True)))
        shares[sources] *= min(1.0, problem.budget / cost)  # the cost is linear in these: the budget is used up
        rate, cost = boxed(problem, plan.tree, dict(zip(places, shares, strict=True)))
        assert cost <= problem.budget * (1 + 1e-9)
        assert rate <= plan.rate * (1 + 1e-9)
    # And from where the plan is, no step of scipy's improves on it
    start = np.array(
        [*(max(plan.keep[name], 1e-6) for name in problem.streams), *[1.0] * (len(places) - len(problem.streams))]
    )

    def figures(shares):
        return boxed(problem, plan.tree, dict(zip(places, shares, strict=True)))

    found = minimize(
        lambda shares: -figures(shares)[0] / plan.rate,
        start * 0.9,
        bounds=[(0, 1)] * len(places),
        constraints={"type": "ineq", "fun": lambda shares: 1 - figures(shares)[1] / problem.budget},
        method="SLSQP",
    )
    if figures(found.x)[1] <= problem.budget:
        assert -found.fun <= 1 + 1e-6


def test_selections_by_rank_take_least_and_keep_most():
    """All orders of four filters, brute force."""
    from itertools import permutations

    from penstock.optimizer import by_rank

    random = seeded(6)
    for _ in range(50):
        filters = [Filter(float(random.uniform(0.1, 2)), float(random.uniform(0.05, 1))) for _ in range(4)]
        every = [filter_plan(1.0, order, capacity=0.5) for order in permutations(filters)]
        chosen = filter_plan(1.0, by_rank(filters), capacity=0.5)
        assert chosen.demand == pytest.approx(min(plan.demand for plan in every))
        assert chosen.rate == pytest.approx(max(plan.rate for plan in every))


@pytest.mark.parametrize("seed", range(8))
def test_windows_of_time_shed_as_a_solver_does(seed):
    """Beside scipy's, started from many points: in logarithms the problem is convex, so it finds the best."""
    random = seeded(7, seed)
    problem = some_problem(
        random, int(random.integers(2, 5)), kinds=("range",), share_of_demand=float(10 ** random.uniform(-2, -0.2))
    )
    plan = optimize(problem, "exhaustive")
    _beside_a_solver(problem, plan, random)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(each, marks=pytest.mark.slow) for each in (3, 4, 5))])
def test_mixed_windows_shed_about_as_a_solver_does(seed):
    random = seeded(8, seed)
    problem = some_problem(random, 3, kinds=("range", "rows"), filters=False, share_of_demand=0.2)
    plan = optimize(problem, "exhaustive")
    _beside_a_solver(problem, plan, random, rel=0.02)


def _beside_a_solver(problem, plan, random, rel=1e-5):
    names = problem.streams

    def figures(logs):
        return reference.figures(problem, plan.tree, dict(zip(names, np.exp(logs), strict=True)))

    best = 0.0
    for _ in range(6):
        found = minimize(
            lambda logs: -np.log(figures(logs)[0] / plan.rate),
            random.uniform(-3, 0, len(names)),
            bounds=[(-12, 0)] * len(names),
            constraints={"type": "ineq", "fun": lambda logs: -np.log(figures(logs)[1] / problem.budget)},
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        rate, cost = figures(found.x)
        if cost <= problem.budget * (1 + 1e-8):
            best = max(best, rate)
    assert best > 0
    assert plan.utilization <= problem.budget * (1 + 1e-9)
    assert plan.rate >= best * (1 - rel)


def test_with_windows_of_time_those_that_shed_cause_the_same_cost():
    problem = JoinProblem(
        rates={"A": 100, "B": 100},
        windows={"A": Window("range", 10), "B": Window("range", 10)},
        selectivities={("A", "B"): 0.01},
        join_cost=0.01,
    )
    plan = optimize(problem)
    assert plan.demand == pytest.approx(2.0)
    assert plan.keep == pytest.approx({"A": 0.5, "B": 0.5})
    assert plan.rate == pytest.approx(2000 * 0.25)


@pytest.mark.parametrize("method", ["exact", "exhaustive", "heuristic", "bushy"])
def test_a_stream_far_dearer_than_the_budget_does_not_hide_what_was_spent(method):
    names = "ABCDEFG"
    problem = JoinProblem(dict.fromkeys(names, 10), dict.fromkeys(names, 1000), join_cost=0.02)
    assert optimize(problem, method).utilization <= 1 + 1e-9


def test_windows_of_time_are_planned_in_a_moment():
    """Four streams, whose twelve plans all shed: it once took twelve seconds."""
    problem = JoinProblem(
        {"A": 10, "B": 20, "C": 30, "D": 40},
        dict.fromkeys("ABCD", Window("range", 10)),
        {("A", "B"): 0.01, ("B", "C"): 0.01, ("C", "D"): 0.01},
        join_cost=0.02,
    )
    start = perf_counter()
    assert not optimize(problem).feasible
    assert perf_counter() - start < 5
