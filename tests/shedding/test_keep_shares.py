"""Drop boxes of joins against brute force: all combinations of probe orders, boxes on a grid or by SLSQP."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import minimize

from penstock.network import Window
from penstock.optimizer import Filter, JoinProblem, Posynomial, ProbeCosts, Probing
from penstock.shedding import Load, shed_probes

COSTS = ProbeCosts(row=3e-6, pair=1e-7, result=5e-6)
LINKS = {("s0", "s1"): 0.02, ("s1", "s2"): 0.01, ("s0", "s2"): 0.05}


def some_probing(random, kind, n=3):
    """A join with a predicate for every pair of streams; row windows, time windows, or both."""
    names = [f"s{i}" for i in range(n)]
    rates = {name: float(10 ** random.uniform(1, 3)) for name in names}
    windows = {}
    for name in names:
        timed = kind == "range" or (kind == "mixed" and random.random() < 0.5)
        size = float(10 ** random.uniform(1.5, 3))
        windows[name] = Window("range", size / rates[name]) if timed else Window("rows", size)
    equal = {pair: share * float(10 ** random.uniform(-1, 0.5)) for pair, share in LINKS.items()}
    problem = JoinProblem(rates, windows, equal, join_cost=1.0)
    return Probing(problem, equal, COSTS, {name: float(random.uniform(0, 2)) for name in names})


def all_orders(names):
    every = [[(name, order) for order in permutations(each for each in names if each != name)] for name in names]
    return [dict(some) for some in product(*every)]


def reduced(probing, shares):
    """The same join at lower rates; the rows in time windows follow the rates."""
    rates = {name: float(rate) * x for (name, rate), x in zip(probing.problem.rates.items(), shares, strict=True)}
    return replace(probing, problem=replace(probing.problem, rates=rates))


@pytest.mark.parametrize("kind", ["rows", "range", "mixed"])
@pytest.mark.parametrize("seed", range(10))
def test_terms_are_cost_and_results_of_a_reduced_join(kind, seed):
    random = np.random.default_rng(seed)
    probing = some_probing(random, kind)
    shares = random.uniform(0.05, 1, 3)
    less = reduced(probing, shares)
    for orders in all_orders(probing.problem.streams):
        assert probing.cost_posynomial(orders).at(shares) == pytest.approx(less.utilization(orders), rel=1e-9)
    assert probing.results_posynomial().at(shares) == pytest.approx(less.rate, rel=1e-9)
    by_last = sum(probing.results_posynomial(name).at(shares) for name in probing.problem.streams)
    assert by_last == pytest.approx(less.rate, rel=1e-9)


def plainly(probing, orders, x):
    """Seconds and results per second when these shares are kept, computed row by row."""
    problem, spans = probing.problem, probing.spans
    names = problem.streams
    rates = {name: float(problem.rates[name]) * x[place] for place, name in enumerate(names)}
    held = {
        name: float(window.size) * (rates[name] if window.kind == "range" else 1.0)
        for name, window in problem.windows.items()
    }
    seconds = results = 0.0
    for first, order in orders.items():
        rows, taken = rates[first], [first]
        for other in order:
            share = np.prod([probing.equal.get((e, other), probing.equal.get((other, e), 1.0)) for e in taken])
            sent = held[other] + rates[other] * spans[first]
            seconds += rows * COSTS.row + rows * sent * share * COSTS.pair
            rows *= held[other] * share
            taken.append(other)
        seconds += rows * COSTS.result
        results += rows
    return seconds, results


def plainly_best(probing, budget):
    """Every combination of orders; for each, boxes by SLSQP from several points."""
    starts = [(0.15, 0.15, 0.15), (0.5, 0.5, 0.5), (0.95, 0.5, 0.2), (0.2, 0.95, 0.5), (0.5, 0.2, 0.95)]
    best = 0.0
    for orders in all_orders(probing.problem.streams):
        for start in starts:
            found = minimize(
                lambda x, o=orders: -plainly(probing, o, x)[1] / probing.rate,
                np.array(start),
                bounds=[(1e-6, 1)] * 3,
                constraints={"type": "ineq", "fun": lambda x, o=orders: 1 - plainly(probing, o, x)[0] / budget},
                method="SLSQP",
                options={"maxiter": 40},
            )
            if plainly(probing, orders, found.x)[0] <= budget * 1.0001:
                best = max(best, -found.fun * probing.rate)
    return best


@pytest.mark.parametrize("kind", ["rows", "range", "mixed"])
@pytest.mark.parametrize("seed", range(2))
def test_boxes_and_orders_keep_as_much_as_any(kind, seed):
    random = np.random.default_rng(seed + 50)
    probing = some_probing(random, kind)
    budget = probing.utilization(probing.best) * float(random.uniform(0.1, 0.7))
    found = shed_probes(probing, budget)
    shares = np.array([found.keep[name] for name in probing.problem.streams])
    assert plainly(probing, found.orders, shares)[0] <= budget * (1 + 1e-6)
    assert found.rate >= plainly_best(probing, budget) * (1 - 1e-3)


def test_nothing_is_dropped_within_the_budget():
    probing = some_probing(np.random.default_rng(3), "range")
    found = shed_probes(probing, probing.utilization(probing.best) * 1.001)
    assert set(found.keep.values()) == {1.0}
    assert found.orders == probing.best


def test_a_reduced_time_window_is_probed_first():
    """Rows of b are expensive in themselves, so b is reduced; then a row of a finds less there than with c."""
    problem = JoinProblem(
        {"a": 50, "b": 10_000, "c": 50},
        {"a": Window("range", 2), "b": Window("range", 2), "c": Window("range", 20)},
        {("a", "b"): 0.002, ("a", "c"): 0.02},
        join_cost=1e-6,
        filters={"b": [Filter(1e-4, 1.0, "expensive")]},
    )
    probing = Probing(problem, problem.selectivities, ProbeCosts(1e-6, 1e-7, 1e-9))
    assert probing.best["a"] == ("c", "b")
    found = shed_probes(probing, probing.utilization(probing.best) / 3)
    assert found.orders["a"] == ("b", "c")
    assert found.keep["b"] < 0.4
    assert found.keep["a"] > 0.9
    assert found.keep["c"] > 0.9


def test_a_knapsack_if_all_is_linear_and_there_are_constant_costs():
    value = Posynomial.of(3, [(5.0, [0]), (1.0, [1]), (3.0, [2])])
    cost = Posynomial.of(3, [(0.2, []), (1.0, [0]), (1.0, [1]), (1.0, [2])])
    assert Load(value, cost).kept(1.7).tolist() == pytest.approx([1.0, 0.0, 0.5])
    useless = Load(Posynomial.of(2, [(1.0, [0])]), Posynomial.of(2, [(1.0, [0]), (1.0, [1])]))
    assert useless.kept(1.0).tolist() == [1.0, 0.0]
