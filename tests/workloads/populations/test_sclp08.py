"""SCLP08's queries against what §8 and §9 say of them, recomputed from the operators."""

from collections import Counter
from math import log2

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Bursty, Poisson, drifting_gaussian, population, uniform_values


@pytest.fixture(scope="module")
def five_hundred():
    return population("sclp08", queries=500, load=0.97)


def triples(network):
    """The operators of each query, leaf first."""
    return [[network.operator(name) for name in path.operators] for path in network.paths]


def test_the_load_is_the_sum_of_c_over_the_gap(five_hundred):
    network = five_hundred.network
    total = 0.0
    for select, join, project in triples(network):
        s = select.selectivity
        total += select.cost + s * join.cost + s * s * project.cost  # C of SCLP08 §2
    assert total * five_hundred.arrivals["s"].rate == pytest.approx(0.97, rel=1e-9)
    assert five_hundred.arrivals["s"] == Bursty(rate=100)


def test_queries_are_as_in_section_8(five_hundred):
    queries = triples(five_hundred.network)
    assert len(queries) == 500
    for select, join, project in queries:
        assert (select.kind, join.kind, project.kind) == ("select", "lookup", "project")
        assert select.cost == join.cost == project.cost
        assert select.selectivity == join.selectivity
        assert project.selectivity == 1
    selectivities = np.array([select.selectivity for select, _, _ in queries])
    assert 0.1 <= selectivities.min() < 0.12
    assert 0.98 < selectivities.max() <= 1.0
    assert np.histogram(selectivities, 9, (0.1, 1.0))[0] == pytest.approx(500 / 9, abs=30)


def test_cost_classes_are_powers_of_two_and_a_fifth_each(five_hundred):
    costs = [select.cost for select, _, _ in triples(five_hundred.network)]
    k = min(costs)
    classes = Counter(round(log2(cost / k), 9) for cost in costs)
    assert sorted(classes) == [0, 1, 2, 3, 4]
    assert [*classes.values()] == pytest.approx([100] * 5, abs=36)  # four standard deviations
    for (select, _, _), label in zip(triples(five_hundred.network), five_hundred.classes.values(), strict=True):
        low, high = (float(end) for end in label.split()[-1].split("-"))
        assert low <= select.selectivity <= high
        assert label.startswith(f"cost {round(log2(select.cost / k))}, ")


def test_same_cost_and_maximum_selectivity():
    made = population("sclp08", queries=200, same_cost=True, max_selectivity=0.5)
    queries = triples(made.network)
    assert len({operator.cost for query in queries for operator in query}) == 1
    assert 0.4 < max(select.selectivity for select, _, _ in queries) <= 0.5
    lowest = population("sclp08", queries=20, max_selectivity=0.1)
    assert {select.selectivity for select, _, _ in triples(lowest.network)} == {0.1}


def test_groups_share_one_select():
    made = population("sclp08_shared", queries=200, load=0.9)
    network = made.network
    selects = [operator for operator in network.operators if operator.kind == "select"]
    assert (len(selects), len(network.operators)) == (20, 20 + 2 * 200)
    assert [len(network.users[select.name]) for select in selects] == [10] * 20
    assert network.users["g1.select"] != tuple(f"q{i}" for i in range(1, 11))  # grouped randomly
    load = sum(100 * select.cost for select in selects)  # once for ten queries
    for select, join, project in triples(network):
        load += 100 * select.selectivity * (join.cost + join.selectivity * project.cost)
    assert load == pytest.approx(0.9, rel=1e-9)


def test_the_last_group_is_smaller():
    network = population("sclp08_shared", queries=25).network
    sizes = [len(network.users[f"g{i}.select"]) for i in (1, 2, 3)]
    assert sizes == [10, 10, 5]


def test_two_streams():
    made = population("sclp08_two_streams", queries=300)
    network = made.network
    assert dict(made.arrivals) == {"left": Poisson(1.0), "right": Poisson(1.0)}
    load, seconds = 0.0, []
    for query in (q.name for q in network.queries):
        left, right, join, project = (
            network.operator(f"{query}.{part}") for part in ("left", "right", "join", "project")
        )
        assert {left.cost, right.cost, join.cost} == {project.cost}
        s = left.selectivity
        assert (right.selectivity, join.selectivity, project.selectivity) == (s, s, 1)
        one, two = join.windows
        assert one == two
        assert one.kind == "range"
        seconds.append(one.size)
        made_of_one = s * (s * one.size)  # S_J · S_R V/τ, SCLP08 §5.2
        load += 2 * left.cost * (1 + s + s * made_of_one)
    assert load == pytest.approx(0.9, rel=1e-9)
    assert 1 <= min(seconds) < 1.3
    assert 9.7 < max(seconds) <= 10
    assert np.mean(seconds) == pytest.approx(5.5, abs=0.6)


def passes(predicate, selectivity, values):
    column = values[:, predicate.column]
    return ((column - predicate.low) % 1.0 < selectivity).mean()


@pytest.mark.parametrize("name", ["sclp08", "sclp08_shared"])
def test_predicates_have_the_selectivity_of_their_operators(name):
    made = population(name, queries=30, predicates=True)
    assert made.network == population(name, queries=30).network
    expected = {operator.name for operator in made.network.operators if operator.kind != "project"}
    assert set(made.predicates) == expected
    values = uniform_values(40_000, seed=2)
    for operator, predicate in made.predicates.items():
        assert predicate.column == (0 if operator.endswith("select") else 1)
        selectivity = made.network.operator(operator).selectivity
        assert passes(predicate, selectivity, values) == pytest.approx(selectivity, abs=0.012)
    lows = [predicate.low for predicate in made.predicates.values()]
    assert max(lows) - min(lows) > 0.8


def test_uniform_values():
    values = uniform_values(50_000, seed=1)
    assert values.shape == (50_000, 2)
    assert np.histogram(values[:, 1], 10, (0, 1))[0] == pytest.approx(5000, rel=0.06)
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.02
    assert np.array_equal(values, uniform_values(50_000, seed=1))


def test_drifting_gaussian():
    values = drifting_gaussian(200_000, seed=1, deviation=5)
    assert values.shape == (200_000, 2)
    assert (values.min() >= 0) & (values.max() < 1)
    for interval in (0, 1, 40, 51, 99):
        inside = values[interval * 2000 : (interval + 1) * 2000]
        centred = (inside - (49 + interval) / 100 + 0.5) % 1.0 - 0.5  # on the circle, around the mean
        assert centred.mean(axis=0) == pytest.approx([0, 0], abs=0.005)
        assert centred.std(axis=0) == pytest.approx([0.05, 0.05], rel=0.06)
    assert not np.array_equal(values, drifting_gaussian(200_000, seed=2, deviation=5))


def test_drift_by_hand():
    exact = drifting_gaussian(6, seed=1, deviation=0, intervals=3)
    assert exact[:, 0] == pytest.approx([0.49, 0.49, 0.5, 0.5, 0.51, 0.51])
    around = drifting_gaussian(100, seed=1, deviation=0)
    assert around[[50, 51, 52], 0] == pytest.approx([0.99, 0.0, 0.01])  # 100, 101, 102: past the end, and 1 again
    assert len(drifting_gaussian(0, seed=1, deviation=5)) == 0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"deviation": -1}, "the standard deviation must be at least 0, not -1"),
        ({"deviation": 5, "intervals": 0}, "the number of intervals must be between 1 and"),
        ({"deviation": 5, "count": 1.5}, "the number of tuples must be a whole number, not 1.5"),
    ],
)
def test_errors(settings, says):
    with pytest.raises(ArrivalError) as caught:
        drifting_gaussian(**{"count": 10, "seed": 1, **settings})
    assert says in str(caught.value)
