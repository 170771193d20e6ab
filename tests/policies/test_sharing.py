"""Shared operators (SCLP08 §7): Max, Sum and PDT against formula (9) written out, and brute force."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.network import Edge
from penstock.policies import POLICIES, units_of
from tests.strategies import costs, tenths


def shared(x, others):
    """Queries that share the leaf x and go on with an operator of their own."""
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("x", "s", cost=x[0], selectivity=x[1])
    for index, (cost, selectivity) in enumerate(others):
        build.operator(f"o{index}", "x", cost=cost, selectivity=selectivity)
        build.query(f"q{index}", f"o{index}")
    return build.build()


def hnr_of(x, others):
    """SCLP08 (9) for a set of segments, written out."""
    (c_x, s_x) = x
    gain = sum(s_x * s / (c_x + c) for c, s in others)
    cost = sum(c_x + s_x * c for c, _ in others) - (len(others) - 1) * c_x
    return gain / cost


pair = st.tuples(costs, tenths)


@given(pair, st.lists(pair, min_size=1, max_size=6))
def test_priorities_of_a_shared_operator(x, others):
    net = shared(x, others)
    leaf = {s: units_of(net, POLICIES["hnr"].shared(s))[0].static for s in ("max", "sum", "pdt")}
    singles = sorted((hnr_of(x, [other]) for other in others), reverse=True)
    assert leaf["max"] == singles[0]
    assert leaf["sum"] == hnr_of(x, others)
    best_of_all = max(hnr_of(x, some) for n in range(1, len(others) + 1) for some in combinations(others, n))
    assert leaf["max"] <= leaf["pdt"] <= best_of_all


@given(pair, st.lists(pair, min_size=1, max_size=6))
def test_pdt_takes_segments_by_falling_priority_while_the_aggregate_rises(x, others):
    by_priority = sorted(others, key=lambda other: -hnr_of(x, [other]))
    taken = by_priority[:1]
    for other in by_priority[1:]:
        if hnr_of(x, [*taken, other]) <= hnr_of(x, taken):
            break
        taken.append(other)
    unit = units_of(shared(x, others), POLICIES["hnr"])[0]
    assert unit.static == hnr_of(x, taken)
    assert len(unit.through) == len(unit.path_features) == len(taken)


def test_what_the_tree_leaves_out_is_scheduled_from_after_the_shared_operator():
    """One good and one poor query: the tree is the good one, and the poor one's own operator is a unit."""
    net = shared((1, Fraction(1, 2)), [(1, Fraction(1)), (1000, Fraction(1, 10))])
    leaf, good, poor = units_of(net, POLICIES["hnr"])
    assert [features.query for features in leaf.path_features] == ["q0"]
    assert leaf.through == {Edge("x", "o0", 0)}
    assert poor.entries == (Edge("x", "o1", 0),)
    assert poor.static == Fraction(1, 10) / 1000 / 1001
    assert good.static == Fraction(1) / 1 / 2


@pytest.mark.parametrize("sharing", ["max", "sum", "pdt"])
def test_deeper_sharing_counts_every_shared_operator_once(sharing):
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("x", "s", cost=Fraction(1), selectivity=Fraction(1, 2))
    build.operator("y", "x", cost=Fraction(2), selectivity=Fraction(1, 2))
    build.operator("a", "y", cost=Fraction(3), selectivity=Fraction(1, 2))
    build.operator("b", "y", cost=Fraction(3), selectivity=Fraction(1, 2))
    build.query("qa", "a")
    build.query("qb", "b")
    leaf = units_of(build.build(), POLICIES["hr"].shared(sharing))[0]
    single = Fraction(1, 8) / (1 + 1 + Fraction(3, 4))
    both = Fraction(2, 8) / (1 + 1 + 2 * Fraction(3, 4))
    assert leaf.static == (single if sharing == "max" else both)


def test_rate_based_policies_rank_by_the_tree_unless_told_otherwise():
    net = shared((Fraction(1), Fraction(1)), [(Fraction(1), Fraction(1))] * 3)
    for name in ("hr", "hnr", "brt", "bsd"):
        assert units_of(net, POLICIES[name])[0].static == units_of(net, POLICIES[name].shared("sum"))[0].static
    assert len(units_of(net, POLICIES["fifo"])[0].path_features) == 1


@given(st.permutations(["a1", "a2", "b1", "b2"]))
def test_the_tree_does_not_depend_on_the_order_of_declaration(order):
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("x", "s", cost=Fraction(7, 5))
    build.operator("a", "x", cost=Fraction(21, 10))
    build.operator("b", "x", cost=Fraction(21, 10))
    for name in order:
        build.query(name, name[0])
    first = units_of(build.build(), POLICIES["hr"])[0]
    assert first.static == Fraction(2) / (Fraction(7, 5) + Fraction(21, 10))
    assert [way.query for way in first.path_features] == ["a1", "a2"]


def test_the_best_side_of_a_join_speaks_for_it():
    build = ps.NetworkBuilder()
    build.stream("l")
    build.stream("r")
    build.join("j", ["l", "r"], cost=(4, 1), selectivity=Fraction(1, 2))
    build.operator("c", "j", cost=10)
    build.query("q", "c")
    (join, _) = units_of(build.build(), POLICIES["greedy"])
    assert join.static == Fraction(1, 2)  # from the right: half a tuple in one time unit


def test_an_operator_on_two_paths_has_the_steeper_chain():
    """On the left everything follows a slow operator and is one flat chain; on the right nothing holds it up."""
    build = ps.NetworkBuilder()
    build.stream("l")
    build.stream("r")
    build.operator("slow", "l", cost=50, selectivity=0.9)
    build.join("j", ["slow", "r"], cost=1, selectivity=0.1)
    build.operator("c", "j", cost=1)
    build.query("q", "c")
    flat, steep = Fraction(1) / (50 + Fraction(9, 10) + Fraction(9, 100)), Fraction(1) / (1 + Fraction(1, 10))
    units = {unit.name: unit.static for unit in units_of(build.build().exact(), POLICIES["chain"])}
    assert units == {"slow": flat, "j": steep, "c": steep}


def test_a_group_of_five_thousand_is_ranked_quickly():
    net = shared((Fraction(1), Fraction(1)), [(Fraction(1 + i % 7), Fraction(1, 1 + i % 5)) for i in range(5000)])
    assert units_of(net, POLICIES["hnr"])[0].static > 0
