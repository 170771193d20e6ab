"""Orders of probing beside brute force: every order, and every combination of rows counted one by one."""

from itertools import permutations

import numpy as np
import pytest

from penstock.optimizer import JoinProblem, ProbeCosts, Probing

COSTS = ProbeCosts(row=3e-6, pair=1e-7, result=5e-6)


def some_probing(random, n, linked=0.6):
    names = [f"s{i}" for i in range(n)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if random.random() < linked]
    equal = {pair: float(10 ** random.uniform(-4, 0)) for pair in pairs if random.random() < 0.8}
    selectivities = {pair: equal.get(pair, 1.0) * float(random.uniform(0.1, 1)) for pair in pairs}
    problem = JoinProblem(
        {name: float(10 ** random.uniform(0, 3)) for name in names},
        {name: float(10 ** random.uniform(0, 4)) for name in names},
        selectivities,
        join_cost=1.0,
    )
    return Probing(problem, equal, COSTS, {name: float(random.uniform(0, 5)) for name in names})


def plainly(probing, first, order):
    """The seconds a second of one stream's rows, walked through: what enters, is compared, is left."""
    problem = probing.problem

    def share(of, taken, other):
        found = 1.0
        for each in taken:
            found *= float(of.get((each, other), of.get((other, each), 1.0)))
        return found

    rows, seconds, taken = float(problem.rates[first]), 0.0, [first]
    for other in order:
        seconds += rows * COSTS.row
        sent = float(problem.windows[other].size) + float(problem.rates[other]) * probing.spans[first]
        seconds += rows * sent * share(probing.equal, taken, other) * COSTS.pair
        rows *= float(problem.windows[other].size) * share(problem.selectivities, taken, other)
        taken.append(other)
    return seconds + rows * COSTS.result


@pytest.mark.parametrize("seed", range(60))
def test_no_order_is_cheaper(seed):
    random = np.random.default_rng(seed)
    probing = some_probing(random, int(random.integers(2, 6)))
    names = probing.problem.streams
    for first in names:
        every = {
            order: plainly(probing, first, order)
            for order in permutations(name for name in names if name != first)
        }
        for order, seconds in every.items():
            assert probing.utilization({first: order}) == pytest.approx(seconds, rel=1e-9)
        assert every[probing.best[first]] == pytest.approx(min(every.values()), rel=1e-9)


def test_all_streams_together_are_the_sum_and_results_those_of_an04():
    probing = some_probing(np.random.default_rng(3), 4)
    each = [probing.utilization({name: order}) for name, order in probing.best.items()]
    assert probing.utilization(probing.best) == pytest.approx(sum(each))
    problem = probing.problem
    windows = {name: float(window.size) for name, window in problem.windows.items()}
    whole = np.prod([float(share) for share in problem.selectivities.values()])
    by_equation_5 = sum(
        float(rate) * np.prod([windows[other] for other in windows if other != name])
        for name, rate in problem.rates.items()
    )
    assert probing.rate == pytest.approx(whole * by_equation_5)


def test_what_no_condition_links_is_compared_row_by_row():
    """A product goes last even where its window is the smaller, because all of it is looked through."""
    problem = JoinProblem(
        {"a": 100, "b": 100, "c": 100}, {"a": 1000, "b": 1000, "c": 10}, {("a", "b"): 1e-4}, join_cost=1.0
    )
    probing = Probing(problem, problem.selectivities, COSTS)
    assert probing.best["a"] == ("b", "c")
    assert probing.best["c"][0] in ("a", "b")


def test_many_streams_are_planned_at_once():
    probing = some_probing(np.random.default_rng(1), 12)
    assert all(sorted((name, *order)) == sorted(probing.best) for name, order in probing.best.items())
