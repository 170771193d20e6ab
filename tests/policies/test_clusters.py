"""Clusters (SCLP08 §6.2.1) against the definition: a unit's range holds its priority."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.policies import POLICIES, units_of
from penstock.policies.clusters import Clusters

priorities = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30)


@given(priorities, st.integers(1, 12))
def test_logarithmic_clusters_hold_priorities_within_a_factor(values, count):
    pseudo, numbers = Clusters(count, "log").assign(values)
    ratio = (max(values) / min(values)) ** (1 / count)
    for value, lower, number in zip(values, pseudo, numbers, strict=True):
        assert 1 <= number <= count
        assert lower <= value * (1 + 1e-9)
        assert value <= lower * ratio * (1 + 1e-9)


@given(priorities, st.integers(1, 12))
def test_uniform_clusters_hold_priorities_within_a_width(values, count):
    pseudo, numbers = Clusters(count, "uniform").assign(values)
    width = (max(values) - min(values)) / count
    for value, lower, number in zip(values, pseudo, numbers, strict=True):
        assert 1 <= number <= count
        assert lower <= value * (1 + 1e-9)
        assert value <= lower + width * (1 + 1e-9) + 1e-9


@given(priorities, st.integers(1, 12), st.sampled_from(["log", "uniform"]))
def test_clusters_keep_the_order(values, count, spacing):
    pseudo, numbers = Clusters(count, spacing).assign(values)
    ranked = sorted(zip(values, pseudo, numbers, strict=True))
    assert [p for _, p, _ in ranked] == sorted(pseudo)
    assert [n for _, _, n in ranked] == sorted(numbers)


def test_a_priority_on_a_bound_belongs_to_the_range_that_begins_there():
    assert Clusters(5, "log").assign([10**i for i in range(6)])[1] == [1, 2, 3, 4, 5, 5]
    assert Clusters(3, "uniform").assign([0.1, 0.2, 0.3, 0.4])[1] == [1, 2, 3, 3]


def test_clusters_reach_from_the_smallest_to_the_largest_numbers():
    assert Clusters(2, "log").assign([1e-290, 1e290])[1] == [1, 2]


def test_units_without_a_positive_priority_are_a_cluster_of_their_own():
    assert Clusters(2, "log").assign([-3, 0, 1, 100]) == ([0.0, 0.0, 1.0, 10.0], [0, 0, 1, 2])
    assert Clusters(2, "uniform").assign([0, 0]) == ([0.0, 0.0], [0, 0])


def test_clustered_units_carry_the_pseudo_priority():
    net = ps.Network.chains([[(1.0, 1.0)], [(2.0, 1.0)], [(100.0, 1.0)]])
    units = units_of(net, POLICIES["bsd"].clustered(2, "log"))
    assert [unit.cluster for unit in units] == [2, 2, 1]
    assert units[0].static == units[1].static == pytest.approx(1e-3)
    assert units[2].static == pytest.approx(1e-6)
    assert [unit.cost for unit in units] == [1.0, 2.0, 100.0]  # so that the set-up cost still counts
