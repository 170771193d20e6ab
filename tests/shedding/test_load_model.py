"""Load and results with shares kept, compared with the network with its rates multiplied."""

import numpy as np
import pytest

from penstock import NetworkBuilder, PlanError, Window
from penstock.network import Network
from penstock.optimizer import utilization
from penstock.shedding.load_model import network_load
from penstock.workloads import population

POPULATIONS = ("bbdm03_four", "bbdm03_three", "p04_join", "jc03", "sclp08_shared", "sclp08_two_streams")


@pytest.mark.parametrize("name", POPULATIONS)
def test_cost_and_value_are_those_of_the_network_at_lower_rates(name):
    settings = {"queries": 20} if name.startswith("sclp08") else {}
    net = population(name, **settings).network
    load = network_load(net).plans_for(np.ones(len(net.streams)))
    random = np.random.default_rng(3)
    for _ in range(5):
        shares = random.uniform(0.05, 1.0, len(net.streams))
        slower = net.measured(
            rates={each.name: float(each.rate) * share for each, share in zip(net.streams, shares, strict=True)}
        )
        assert load.cost.at(shares) == pytest.approx(float(slower.load), rel=1e-9)
        assert load.cost.at(shares) == pytest.approx(utilization(slower), rel=1e-9)
        left = sum(float(slower.rates[query.root]) / float(net.rates[query.root]) for query in net.queries)
        assert load.value.at(shares) == pytest.approx(left, rel=1e-9)


def test_the_boxes_bring_no_less_than_a_grid():
    build = NetworkBuilder()
    left, right = build.stream("left", rate=30), build.stream("right", rate=10)
    join = build.join("j", [left, right], cost=0.02, selectivity=0.1, windows=[Window("range", 2)] * 2)
    build.query("pairs", build.operator("top", join, cost=0.01))
    build.query("alone", build.operator("f", left, cost=0.01, selectivity=0.5))
    load = network_load(build.build()).plans_for(np.ones(2))
    budget = 0.5
    kept = load.kept(budget)
    assert load.cost.at(kept) <= budget * 1.0001
    grid = np.linspace(0, 1, 101)
    best = max(
        load.value.at(np.array([x, y])) for x in grid for y in grid if load.cost.at(np.array([x, y])) <= budget
    )
    assert load.value.at(kept) >= best * 0.999


def test_unknown_rates_are_refused():
    with pytest.raises(PlanError, match="rate of 's' is not known"):
        network_load(Network.chains([[(1, 1)]]))
