"""Weights of queries: a gain counts so many times, whatever the policy. Expectations are worked out by hand."""

from fractions import Fraction as F

import pytest

import penstock as ps
from penstock.policies import POLICIES, Scheduler, Waiting, units_of
from tests.policies.test_sharing import hnr_of, shared

TWO = ps.Network.chains([[(F(5), F(1))], [(F(2), F(1, 3))]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hr", [F(1, 5), 4 * F(1, 3) / 2]),
        ("hnr", [F(1, 25), 4 * F(1, 3) / 4]),
        ("bsd", [F(1, 125), 4 * F(1, 3) / 8]),
        ("lsf", [F(1, 5), 4 * F(1, 2)]),
        ("srpt", [F(1, 5), 4 * F(1, 2)]),
        ("path_capacity", [F(1, 5), 4 * F(1, 2)]),
        ("fifo", [1, 4]),
        ("mtiq", [1, 4]),
        ("chain", [F(1, 5), 4 * F(1, 2)]),
        ("greedy", [F(1, 5), 4 * F(1, 2)]),
        ("segment", [F(1, 5), 4 * F(1, 2)]),
    ],
)
def test_a_weight_multiplies_the_gain(name, expected):
    assert [unit.static for unit in units_of(TWO.weighed({"q2": 4}), POLICIES[name])] == expected


def test_every_policy_ranks_as_before_where_all_weights_are_1():
    for policy in POLICIES.values():
        assert units_of(TWO.weighed({"q1": 1, "q2": 1}), policy) == units_of(TWO, policy)


def test_a_loss_is_divided_by_the_weight():
    """An operator that makes three of one fills memory by 2 in 4 time units; with weight 5 by a fifth of that."""
    net = ps.Network.chains([[(F(4), F(3)), (F(1), F(1))]])
    for weight, expected in ((1, -F(1, 2)), (5, -F(1, 10))):
        assert units_of(net.weighed({"q1": weight}), POLICIES["greedy"])[0].static == expected
    assert units_of(net.weighed({"q1": 0}), POLICIES["greedy"])[0].static == float("-inf")


def test_gains_of_queries_that_share_an_operator_count_by_their_weights():
    """SCLP08 (9) with each gain times its weight, written out; the greatest for max."""
    x, others = (F(2), F(1, 2)), [(F(3), F(1)), (F(1), F(1, 5))]
    net = shared(x, others).weighed({"q1": 7})
    cost = (2 + F(1, 2) * 3) + (2 + F(1, 2) * 1) - 2
    gain = F(1, 2) / 5 + 7 * F(1, 10) / 3
    assert units_of(net, POLICIES["hnr"].shared("sum"))[0].static == gain / cost
    best = max(hnr_of(x, others[:1]), 7 * hnr_of(x, others[1:]))
    assert units_of(net, POLICIES["hnr"].shared("max"))[0].static == best
    assert [unit.static for unit in units_of(net, POLICIES["fifo"])] == [7, 1, 7]
    assert [unit.static for unit in units_of(net, POLICIES["round_robin"])] == [7, 1, 7]


def test_a_segment_has_the_greatest_weight_of_the_queries_that_pass_it():
    net = shared((F(2), F(1, 2)), [(F(3), F(1)), (F(1), F(1, 5))]).weighed({"q1": 7})
    plain = shared((F(2), F(1, 2)), [(F(3), F(1)), (F(1), F(1, 5))])
    ratios = {
        unit.name: unit.static / other.static
        for unit, other in zip(
            units_of(net, POLICIES["segment"]), units_of(plain, POLICIES["segment"]), strict=True
        )
    }
    assert {name: ratio == (7 if "o1" in name or name == "{x}" else 1) for name, ratio in ratios.items()} == (
        dict.fromkeys(ratios, True)
    )


def test_a_query_that_stands_for_several_counts_as_they_do_on_average_or_as_the_greatest():
    net = TWO.weighed({"q2": 2}, {"q2": 4})
    assert units_of(net, POLICIES["hr"])[1].static == 2 * F(1, 3) / 2
    assert units_of(net, POLICIES["fifo"])[1].static == 4


def busy(unit):
    return Waiting(arrival=0, number=0, length=1)


@pytest.mark.parametrize("name", ["round_robin", "aurora"])
def test_turns_are_as_many_as_the_weight_says(name):
    net = ps.Network.chains([[(1, 1)], [(1, 1)], [(1, 1)], [(1, 1)]])
    scheduler = Scheduler(net.weighed({"q2": 3, "q3": 0}), name)
    chosen = [scheduler.choose(0, busy)[0].name[:2] for _ in range(10)]
    assert chosen == ["q1", "q2", "q4", "q2", "q2", "q1", "q2", "q4", "q2", "q2"]
    only = scheduler.choose(0, lambda unit: busy(unit) if unit.name == "q3.o1" else None)
    assert only[0].name == "q3.o1"
    halves = Scheduler(net.weighed({"q1": 0.5}), name)
    assert [halves.choose(0, busy)[0].name[:2] for _ in range(7)] == ["q1", "q2", "q3", "q4", "q2", "q3", "q4"]


def test_turns_go_on_over_a_change_of_the_network():
    net = ps.Network.chains([[(1, 1)], [(1, 1)]]).weighed({"q1": 3})
    scheduler = Scheduler(net, "round_robin")
    chosen = [scheduler.choose(0, busy)[0].name for _ in range(2)]
    scheduler.move_to(net.measured(selectivities={"q1.o1": 0.5}))
    chosen += [scheduler.choose(0, busy)[0].name for _ in range(3)]
    assert chosen == ["q1.o1", "q2.o1", "q1.o1", "q1.o1", "q1.o1"]


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "5", True])
def test_a_weight_is_a_number_from_0_on(weight):
    with pytest.raises(ps.PenstockError, match="the weight of query 'q1'"):
        TWO.weighed({"q1": weight})


def test_weights_are_of_queries_that_there_are():
    with pytest.raises(ps.PenstockError, match="no query 'q3' in the network"):
        TWO.weighed({"q3": 2})
    with pytest.raises(ps.PenstockError, match="a mapping from query to number"):
        TWO.weighed(["q1"])
