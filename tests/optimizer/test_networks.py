"""The cost model on networks: selections by rank beside all orders, joins as problems."""

from itertools import permutations

import numpy as np
import pytest

from penstock.errors import PlanError
from penstock.network import Network, NetworkBuilder, Window
from penstock.optimizer import join_problem, optimize, ranked, utilization


def chain(filters, rate=100):
    build = NetworkBuilder()
    below = build.stream("s", rate=rate)
    for name, cost, selectivity in filters:
        below = build.operator(name, below, cost=cost, selectivity=selectivity)
    build.query("q", below)
    return build.build()


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_selections_takes_less(seed):
    random = np.random.default_rng(seed)
    filters = [(f"o{i}", float(random.uniform(1e-4, 1e-2)), float(random.uniform(0.05, 1))) for i in range(4)]
    every = [utilization(chain(order)) for order in permutations(filters)]
    best = ranked(chain(filters))
    assert utilization(best) == pytest.approx(min(every))
    assert best.S(best.paths[0]) == pytest.approx(chain(filters).S(chain(filters).paths[0]))


def test_what_others_see_between_selections_stays_where_it_is():
    """Selections that feed two queries, then two more in the wrong order, and a query half-way."""
    build = NetworkBuilder()
    build.stream("s", rate=10)
    build.operator("dear", "s", cost=5, selectivity=0.9)
    build.operator("good", "dear", cost=1, selectivity=0.1)
    build.operator("one", "good", cost=3, selectivity=0.5)
    build.operator("two", "one", cost=1, selectivity=0.5)
    build.operator("three", "two", cost=1, selectivity=0.01)
    build.query("half", "two")
    build.query("whole", "three")
    build.query("other", build.operator("shown", "good", cost=1, kind="project"))
    best = ranked(build.build())
    inputs = {operator.name: operator.inputs[0] for operator in best.operators}
    assert inputs == {
        "good": "s", "dear": "good", "two": "dear", "one": "two", "three": "one", "shown": "dear",
    }  # fmt: skip
    assert {query.name: query.root for query in best.queries} == {
        "half": "one",
        "whole": "three",
        "other": "shown",
    }
    assert utilization(best) < utilization(build.build())


def test_a_join_of_a_network_is_a_problem():
    build = NetworkBuilder()
    build.stream("left", rate=10)
    build.stream("right", rate=20)
    build.operator("some", "left", cost=0.001, selectivity=0.5)
    windows = [Window("rows", 40), Window("range", 3)]
    build.query("q", build.join("meet", ["some", "right"], cost=0.002, selectivity=0.1, windows=windows))
    network = build.build()
    plan = optimize(join_problem(network, "meet"))
    assert plan.rate == pytest.approx(float(network.rates["meet"]))
    assert plan.rate == pytest.approx(0.1 * (5 * 60 + 20 * 40))
    assert plan.utilization == pytest.approx(25 * 0.002)
    assert utilization(network) == pytest.approx(10 * 0.001 + 25 * 0.002)
    for wrong in ("some", "none"):
        with pytest.raises(Exception, match=wrong):
            join_problem(network, wrong)


def test_three_inputs_need_the_selectivities_of_pairs():
    build = NetworkBuilder()
    for name in "abc":
        build.stream(name, rate=10)
    build.query(
        "q", build.join("meet", list("abc"), cost=0.001, selectivity=0.01, windows=[Window("rows", 10)] * 3)
    )
    with pytest.raises(PlanError, match="give the selectivities of the pairs"):
        join_problem(build.build(), "meet")
    problem = join_problem(build.build(), "meet", {("a", "b"): 0.1, ("b", "c"): 0.1}, capacity=0.5)
    assert (problem.budget, optimize(problem).rate) == (0.5, pytest.approx(float(build.build().rates["meet"])))


def test_unknown_rates_are_named():
    network = Network.chains([[(1, 0.5)]])
    with pytest.raises(PlanError, match=r"the rate of .* is not known"):
        utilization(network)
