"""S, C, T, capacities and releases against the papers' formulas written out, and against walking the tree."""

from fractions import Fraction

import pytest
from hypothesis import given

import penstock as ps
from penstock.network import semijoin_average
from tests.network.test_network import shared_select
from tests.strategies import networks


def test_single_stream_by_hand():
    net = ps.Network.chains([[(2, 0.5), (3, 0.2), (10, 0.4)]])
    path = net.paths[0]
    assert net.S(path) == pytest.approx(0.5 * 0.2 * 0.4)
    assert net.C(path) == pytest.approx(2 + 0.5 * 3 + 0.5 * 0.2 * 10)
    assert net.T("q1") == 15
    assert net.capacity(path) == pytest.approx(1 / 4.5)  # JC03 (2.2)


def two_stream_join(window=6):
    """SCLP08 Figure 3: E_L and E_R of two operators, a join, E_C of one."""
    build = ps.NetworkBuilder()
    build.stream("l", rate=Fraction(1, 2))
    build.stream("r", rate=Fraction(1, 4))
    build.operator("l1", "l", cost=1, selectivity=Fraction(1, 2))
    build.operator("l2", "l1", cost=2, selectivity=Fraction(4, 5))
    build.operator("r1", "r", cost=3, selectivity=Fraction(2, 3))
    build.join("j", ["l2", "r1"], cost=4, selectivity=Fraction(1, 10), windows=[ps.Window("range", window)] * 2)
    build.operator("c", "j", cost=5, selectivity=Fraction(1, 3))
    build.query("q", "c")
    return build.build()


def test_window_join_of_two_streams():
    net = two_stream_join()
    left, right = net.paths
    s_l, s_r, s_j, s_c = Fraction(2, 5), Fraction(2, 3), Fraction(1, 10), Fraction(1, 3)
    v, tau_l, tau_r = 6, 2, 4
    c_l, c_r, c_j, c_c = 1 + Fraction(1, 2) * 2, 3, 4, 5
    assert net.S(left) == s_l * s_j * (s_r * v / tau_r) * s_c  # SCLP08 §5.2
    assert net.S(right) == s_r * s_j * (s_l * v / tau_l) * s_c
    assert net.C(left) == c_l + s_l * c_j + s_l * s_j * s_r * Fraction(v, tau_r) * c_c
    assert net.C(right) == c_r + s_r * c_j + s_r * s_j * s_l * Fraction(v, tau_l) * c_c
    assert net.T("q") == (1 + 2) + 3 + 2 * 4 + 5  # Definition 8


def test_joins_above_joins_by_recursion():
    """((a ⋈ b) ⋈ c): what the upper join holds of its left input is the lower join's output rate × window."""
    build = ps.NetworkBuilder()
    for name, rate in (("a", 2), ("b", 3), ("c", 5)):
        build.stream(name, rate=rate)
    f1, f2, v1, v2 = Fraction(1, 10), Fraction(1, 20), 4, 7
    build.join("ab", ["a", "b"], cost=1, selectivity=f1, windows=[ps.Window("range", v1)] * 2)
    build.join("abc", ["ab", "c"], cost=1, selectivity=f2, windows=[ps.Window("range", v2)] * 2)
    build.query("q", "abc")
    net = build.build()
    a, b, c = net.paths
    rate_ab = 2 * f1 * 3 * v1 + 3 * f1 * 2 * v1
    assert net.rates["ab"] == rate_ab
    assert net.S(a) == f1 * (3 * v1) * f2 * (5 * v2)
    assert net.S(b) == f1 * (2 * v1) * f2 * (5 * v2)
    assert net.S(c) == f2 * rate_ab * v2
    assert net.rates["abc"] == 2 * net.S(a) + 3 * net.S(b) + 5 * net.S(c)
    assert net.T("q") == 1 + 1 + 1 + 1


def test_row_windows_need_no_rates():
    build = ps.NetworkBuilder()
    build.stream("l")
    build.stream("r")
    build.join("j", ["l", "r"], cost=1, selectivity=0.5, windows=[ps.Window("rows", 4), ps.Window("rows", 8)])
    build.query("q", "j")
    left, right = build.build().paths
    assert (build.build().S(left), build.build().S(right)) == (4.0, 2.0)


def test_a_join_may_cost_more_from_one_side():
    build = ps.NetworkBuilder()
    build.stream("l")
    build.stream("r")
    build.join("j", ["l", "r"], cost=(2, 7), selectivity=0.5)
    build.operator("c", "j", cost=4)
    build.query("q", "c")
    net = build.build()
    left, right = net.paths
    assert (net.C(left), net.C(right), net.T("q")) == (2 + 0.5 * 4, 7 + 0.5 * 4, 2 + 7 + 4)
    assert (net.releases(left)[0], net.releases(right)[0]) == ((1 - 0.5) / 2, (1 - 0.5) / 7)
    assert net.exact().T("q") == 13


def test_semijoin_average():
    cost, selectivity = semijoin_average(rates=(2, 6), selectivities=(0.5, 0.25), costs=(1, 3))
    assert cost == (2 * 1 + 6 * 3) / 8
    assert selectivity == (2 * 0.5 + 6 * 0.25) / 8


def test_memory_release_with_tuple_sizes():
    build = ps.NetworkBuilder()
    build.stream("s", size=8)
    build.operator("a", "s", cost=2, selectivity=0.5, size=4)
    build.operator("b", "a", cost=5, selectivity=0.25)
    build.operator("c", "b", cost=10)
    build.query("q", "c")
    net = build.build()
    path = net.paths[0]
    assert net.releases(path) == (
        (8 - 0.5 * 4) / 2,
        (4 - 0.25 * 4) / 5,
        4 / 10,
    )  # JC03 (2.1)
    assert net.path_release(path) == pytest.approx(8 / (2 + 0.5 * 5 + 0.125 * 10))  # (2.3)
    assert net.released(path, 0, 2) / net.time(path, 0, 2) == (8 - 0.125 * 4) / (2 + 0.5 * 5)  # (3.2)


def test_input_size_of_a_join_is_the_mean_weighted_by_rates():
    build = ps.NetworkBuilder()
    build.stream("l", rate=1, size=2)
    build.stream("r", rate=3, size=10)
    build.join("j", ["l", "r"], cost=1, selectivity=0.5)
    build.query("q", "j")
    assert build.build().input_size("j") == (1 * 2 + 3 * 10) / 4


def test_set_cost_counts_the_shared_operator_once():
    net = shared_select().exact()
    qa, qb, qc = net.paths
    c_x = net.operator("x").cost
    assert net.shared_set([qa, qb]).cost == net.C(qa) + net.C(qb) - c_x  # SCLP08 §7: ΣC − (N−1) c_x
    assert net.shared_set([qa, qb, qc]).cost == net.C(qc) + net.C(qb) - c_x  # qa is all in qc


@given(networks())
def test_measures_equal_walking_the_path(drawn):
    """Follow one tuple up each path with nothing but the definition of an operator."""
    net = drawn[0].exact()
    for path in net.paths:
        tuples, spent = Fraction(1), Fraction(0)
        for edge in path.edges:
            operator = net.operator(edge.target)
            spent += tuples * operator.costs[edge.port]
            met = Fraction(1)
            for port, (source, window) in enumerate(zip(operator.inputs, operator.windows, strict=False)):
                if port != edge.port:
                    met *= window.size if window.kind == "rows" else net.rates[source] * window.size
            tuples *= operator.selectivity * met
        assert net.S(path) == tuples
        assert net.C(path) == spent == net.shared_set([path]).cost

    def ideal(name):
        if name in net.stream_by_name:
            return 0
        operator = net.operator(name)
        return sum(ideal(source) + operator.cost for source in operator.inputs)

    for query in net.queries:
        assert net.T(query.name) == ideal(query.root)
