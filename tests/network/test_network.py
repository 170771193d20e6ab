"""Shape: what feeds what, paths, sharing, registering and unregistering."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.network import Edge, exact
from penstock.policies import units_of
from tests.strategies import costs, networks, tenths


def shared_select():
    """Two queries over a shared selection; the first is also the prefix of a third."""
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("x", "s", cost=2, selectivity=0.5)
    build.operator("a", "x", cost=3, selectivity=0.2)
    build.operator("b", "x", cost=5, selectivity=0.4)
    build.operator("c", "a", cost=7)
    for name, root in (("qa", "a"), ("qb", "b"), ("qc", "c")):
        build.query(name, root)
    return build.build()


def test_chains_as_in_the_design():
    net = ps.Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]], stream="s")
    assert [str(path) for path in net.paths] == ["q1: s → q1.o1", "q2: s → q2.o1"]
    assert net.edges == (Edge("s", "q1.o1", 0), Edge("s", "q2.o1", 0))


def test_a_chain_operator_that_multiplies_is_a_stored_table_join():
    net = ps.Network.chains([[(1, 1.5), (1, 0.5)]])
    assert [op.kind for op in net.operators] == ["lookup", "select"]


def test_networks_are_values():
    net = shared_select()
    assert net == shared_select()
    assert hash(net) == hash(shared_select())
    with pytest.raises(FrozenInstanceError):
        net.queries = ()


def test_paths_of_shared_operators():
    net = shared_select()
    assert [path.operators for path in net.paths] == [("x", "a"), ("x", "b"), ("x", "a", "c")]
    assert net.users == {"x": ("qa", "qb", "qc"), "a": ("qa", "qc"), "b": ("qb",), "c": ("qc",)}
    assert [path.query for path in net.suffixes[Edge("x", "a", 0)]] == ["qa", "qc"]


def test_a_self_join_has_one_path_for_each_side():
    build = ps.NetworkBuilder()
    build.stream("s", rate=2)
    build.join("j", ["s", "s"], cost=1, selectivity=0.1, windows=[ps.Window("rows", 5), ps.Window("rows", 7)])
    build.query("q", "j")
    net = build.build()
    assert [path.edges for path in net.paths] == [(Edge("s", "j", 0),), (Edge("s", "j", 1),)]
    assert [float(net.S(path)) for path in net.paths] == pytest.approx([0.7, 0.5])


def test_operators_may_be_declared_in_any_order():
    top, leaf = ps.Operator("top", ("leaf",), 1), ps.Operator("leaf", ("s",), 1)
    net = ps.Network((ps.Stream("s"),), (top, leaf), (ps.Query("q", "top"),))
    assert net.operators == (leaf, top)


def test_equal_expressions_over_equal_inputs_are_one_operator():
    build = ps.NetworkBuilder()
    build.stream("s")
    first = build.operator("cheap", "s", cost=1, selectivity=0.1, expression="bytes > 1200")
    again = build.operator("same", "s", cost=1, selectivity=0.1, expression="bytes > 1200")
    other = build.operator("other", "s", cost=1, selectivity=0.1, expression="bytes > 64")
    assert (first, again, other) == ("cheap", "cheap", "other")
    with pytest.raises(ps.NetworkError):  # no expression: only the name says what it is
        build.operator("cheap", "s", cost=1, selectivity=0.1)


def test_the_same_predicate_over_other_windows_is_another_operator():
    build = ps.NetworkBuilder()
    build.stream("a")
    build.stream("b")
    names = [
        build.join(f"j{rows}", ["a", "b"], cost=1, windows=[ps.Window("rows", rows)] * 2, expression="a.x = b.x")
        for rows in (5, 50)
    ]
    assert names == ["j5", "j50"]


def test_measures_change_and_the_operator_stays_the_same():
    """A running system has learnt a cost; a new query over the same plan shares it and keeps what was learnt."""
    plan = ps.Operator("big", ("s",), 1, 0.5, expression="bytes > 1200")
    net = ps.Network((ps.Stream("s"),), (plan,), (ps.Query("q1", "big"),))
    learnt = net.measured(costs={"big": 3}, selectivities={"big": 0.1}, rates={"s": 7})
    assert (learnt.operator("big").cost, learnt.operator("big").selectivity, learnt.rates["big"]) == (
        3,
        0.1,
        pytest.approx(0.7),
    )
    both = learnt.register("q2", "big", [plan])
    assert both.operator("big").cost == 3
    with pytest.raises(ps.NetworkError, match="differs"):
        learnt.register("q2", "big", [ps.Operator("big", ("s",), 1, 0.5, expression="bytes > 64")])


@given(networks(), st.data())
def test_with_new_measures_a_network_answers_like_one_built_anew(case, data):
    """What is known of its shape is handed on; nothing that was measured may be."""
    net, _ = case
    for policy in ("chain", "segment", "bsd"):
        units_of(net, ps.POLICIES[policy])
    learnt = net.measured(
        costs={op.name: data.draw(costs) for op in net.operators},
        selectivities={op.name: data.draw(tenths) for op in net.operators if op.kind == "select"},
        rates={stream.name: data.draw(st.integers(1, 9)) for stream in net.streams},
        ideals={query.name: data.draw(costs) for query in net.queries},
    )
    anew = ps.Network(learnt.streams, learnt.operators, learnt.queries)
    assert (learnt.paths, learnt.users, learnt.rates) == (anew.paths, anew.users, anew.rates)
    for policy in ("chain", "segment", "bsd"):
        assert units_of(learnt, ps.POLICIES[policy]) == units_of(anew, ps.POLICIES[policy])


def test_an_ideal_time_that_was_measured_stands_for_the_sum_of_costs():
    net = ps.Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]]).measured(ideals={"q1": 0.5})
    assert (net.T("q1"), net.T("q2")) == (0.5, 2.0)
    assert (net.exact().T("q1"), net.measured(costs={"q1.o1": 1.0}).T("q1")) == (0.5, 0.5)
    assert [unit.static for unit in units_of(net, ps.POLICIES["hnr"])] == [
        pytest.approx(1.0 / 0.5 / 5.0),
        pytest.approx(0.33 / 2.0 / 2.0),
    ]


def test_registering_shares_what_computes_the_same_whatever_its_name():
    first = ps.Operator("o1", ("s",), 1, 0.5, expression="x > 1")
    net = ps.Network((ps.Stream("s"),), (first,), (ps.Query("a", "o1"),))
    plan = [
        ps.Operator("top", ("o2",), 5, expression="y"),  # in any order
        ps.Operator("o2", ("s",), 2, 0.7, expression="x > 1"),
    ]
    both = net.register("b", "top", plan).register(
        "c", "o3", [ps.Operator("o3", ("s",), 9, 0.7, expression="x > 1")]
    )
    assert [(op.name, op.inputs) for op in both.operators] == [("o1", ("s",)), ("top", ("o1",))]
    assert both.query("c").root == "o1"
    assert both.users["o1"] == ("a", "b", "c")


def test_registering_keeps_what_is_known_of_a_stream():
    net = ps.Network.chains([[(1, 1)]])
    rated = net.register("b", "q1.o1", streams=[ps.Stream("s", rate=5)])
    assert rated.stream("s").rate == 5
    assert rated.register("c", "q1.o1", streams=[ps.Stream("s")]).stream("s").rate == 5
    assert rated.register("c", "q1.o1", streams=[ps.Stream("s", rate=7)]).stream("s").rate == 5
    with pytest.raises(ps.NetworkError, match="stream 's' already exists, with tuples of another size"):
        net.register("b", "q1.o1", streams=[ps.Stream("s", size=9)])


def test_unregistering_removes_what_only_that_query_used():
    net = shared_select()
    without_c = net.unregister("qc")
    assert [op.name for op in without_c.operators] == ["x", "a", "b"]
    assert [op.name for op in without_c.unregister("qa").operators] == ["x", "b"]
    again = without_c.register("qc", "c", [net.operator("c"), net.operator("a")])
    assert set(again.operators) == set(net.operators)
    assert again.queries == net.queries


@given(networks(), st.data())
def test_unregistering_in_any_order_ends_with_nothing(drawn, data):
    net, _ = drawn
    for query in data.draw(st.permutations([query.name for query in net.queries])):
        before = net.users
        net = net.unregister(query)
        kept = {name for name, users in before.items() if set(users) - {query}}
        assert {op.name for op in net.operators} == kept
    assert net.operators == ()


def test_exact_means_what_was_written():
    assert exact(0.1) + exact(0.2) == Fraction(3, 10)
    net = ps.Network.chains([[(0.1, 0.2)]], rate=0.5).exact()
    assert net.operators[0].cost == Fraction(1, 10)
    assert net.streams[0].rate == Fraction(1, 2)


def test_five_thousand_queries_are_built_quickly():
    net = ps.Network.chains([[(1, 0.5), (2, 0.5), (1, 1)]] * 5000)
    assert len(net.paths) == 5000
    assert len(net.segments()) == len({segment.operators for segment in net.segments()})
