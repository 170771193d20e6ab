"""Aggregates over windows: panes, selectivities, costs and charts, against counting and formulas by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

import penstock as ps
from penstock.network import Edge, SlidingWindow
from penstock.network.aggregates import expected_groups, groups_in_rows
from penstock.network.panes import panes_of


def talkers(window=None, rate=100, groups=50, below=1.0, **extra):
    """An aggregate over a filter, HAVING above it."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=rate, size=4)
    build.operator("f", "s", cost=0.001, selectivity=below)
    given = {
        "window": window or SlidingWindow("range", 10, 2),
        "groups": groups,
        "cost": 0.002,
        "close_cost": 0.003,
    }
    build.query("q", build.aggregate("t", "f", **given | {"size": 2, "having": 0.25} | extra))
    return build.build()


# Panes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("windows", "size", "covered"),
    [
        ([(10, 2)], 2, 1),
        ([(10, 4)], 2, 1),
        ([(0.3, 0.1), (0.5, 0.5)], Fraction(1, 10), 1),
        ([(2, 5)], 1, Fraction(2, 5)),  # a gap of three
        ([(2, 5), (1, 2)], 1, Fraction(7, 10)),  # 0 1 . . . 5 6 . . . and 0 . 2 . 4 . 6 . 8 . make seven of ten
        ([(2, 5), (3, 3)], 1, 1),
    ],
)
def test_panes_are_the_common_measure(windows, size, covered):
    readers = {f"c{place}": SlidingWindow("range", *each) for place, each in enumerate(windows)}
    panes = panes_of("a", readers)
    assert (panes.size, panes.covered) == (size, covered)
    for name, (length, slide) in zip(readers, windows, strict=True):
        assert [float(each * panes.size) for each in panes.per_window(name)] == [length, slide]


def test_a_window_leaves_and_the_panes_of_the_others_grow():
    build = ps.NetworkBuilder()
    build.stream("s", rate=10)
    for name, window in (("wide", SlidingWindow("range", 6)), ("odd", SlidingWindow("range", 4, 1))):
        build.query(name, build.aggregate(name, "s", cost=1e-3, close_cost=1e-3, window=window))
    net = build.build()
    assert net.panes["wide.partial"].size == 1
    assert net.unregister("odd").panes["wide.partial"].size == 6
    assert net.operator("wide.partial").selectivity == pytest.approx((1 - math.exp(-10)) / 10)
    assert net.unregister("odd").operator("wide.partial").selectivity == pytest.approx(1 / 60)


# Expected numbers ---------------------------------------------------------------------------------------------


def test_expected_groups_by_drawing():
    random = np.random.default_rng(5)
    poisson = [len(set(random.integers(20, size=random.poisson(15)))) for _ in range(20_000)]
    assert expected_groups(20, 15) == pytest.approx(np.mean(poisson), rel=0.01)
    thinned = [len(set(random.integers(20, size=random.binomial(30, 0.4)))) for _ in range(20_000)]
    assert groups_in_rows(20, 30, 0.4) == pytest.approx(np.mean(thinned), rel=0.01)
    assert groups_in_rows(20, 30, 1) == pytest.approx(20 * (1 - 0.95**30))
    assert groups_in_rows(20, 30, 2.5) == pytest.approx(20 * (1 - 0.95**75))


def test_windows_of_time_by_hand():
    """100/s, of which half: 100 tuples in a pane of 2 s; 50 groups; a window has five panes, 500 tuples."""
    net = talkers(below=0.5)
    pane, whole = 50 * (1 - math.exp(-2)), 50 * (1 - math.exp(-10))
    partial, close = net.operator("t.partial"), net.operator("t.close")
    assert partial.selectivity == pytest.approx(pane / 100)
    assert close.selectivity == pytest.approx(whole / pane)  # a slide is one pane
    assert net.rates["t"] == pytest.approx(0.25 * whole / 2)
    assert net.costs[Edge("t.partial", "t.close", 0)] == pytest.approx(5 * 0.003)  # merged in five windows
    assert net.load == pytest.approx(0.1 + 0.1 + pane / 2 * 5 * 0.003 + whole / 2 * 0.003)
    # a closed window: five panes to merge, and HAVING for each of its groups
    assert net.T("q") == pytest.approx(5 * pane * 0.003 + 0.003)
    (path,) = net.suffixes[Edge("t.partial", "t.close", 0)]
    assert net.C(path) == pytest.approx(5 * pane * 0.003 + whole * 0.003)
    assert net.S(path) == pytest.approx(0.25 * whole)
    assert net.shared_set([path]).cost == pytest.approx(net.C(path))
    assert net.time(path) == pytest.approx(net.C(path))
    assert net.released(path, 0, 1) == pytest.approx(pane * 2 - whole * 2)
    # a tuple: what is left of it after each operator
    (path,) = net.paths
    made = [4, 0.5 * 4, 0.5 * pane / 100 * 2, 0.5 * whole / 100 * 2, 0]
    assert [size for _, size in net.chart(path).points] == pytest.approx(made)
    spent = [0, 0.001, 0.002, 0.002 + 0.5 * pane / 100 * 0.015, 0.002 + 0.5 * (pane * 0.015 + whole * 0.003) / 100]
    assert [time for time, _ in net.chart(path).points] == pytest.approx(spent)
    assert net.S(path) == pytest.approx(0.5 * 0.25 * whole / 100)


def test_windows_of_rows_by_hand():
    """30 rows of the stream, of which 40 % arrive at the aggregate, every 10: no rate is needed."""
    net = talkers(SlidingWindow("rows", 30, 10), rate=None, groups=5, below=0.4)
    pane, whole = 5 * (1 - 0.92**10), 5 * (1 - 0.92**30)
    assert net.operator("t.partial").selectivity == pytest.approx(pane / 4)
    assert net.operator("t.close").selectivity == pytest.approx(whole / pane)
    assert net.T("q") == pytest.approx(3 * pane * 0.003 + 0.003)


def test_gaps_leave_fewer_partial_rows():
    """Windows of 2 s every 5 s: two fifths of the tuples leave partial rows, each of which is merged once."""
    net = talkers(SlidingWindow("range", 2, 5), rate=1, groups=1000)
    made = 1000 * (1 - math.exp(-1 / 1000))
    assert net.operator("t.partial").selectivity == pytest.approx(made * 2 / 5)
    assert net.costs[Edge("t.partial", "t.close", 0)] == pytest.approx(0.003)
    assert net.T("q") == pytest.approx(2 * made * 0.003 + 0.003)


def test_given_selectivities_win_and_derived_ones_follow_the_rates():
    net = talkers()
    given = net.measured(selectivities={"t.partial": 0.2})
    assert given.operator("t.partial").selectivity == 0.2
    assert given.operator("t.close").selectivity == pytest.approx(50 * (1 - math.exp(-20)) / (100 * 2 * 0.2))
    assert given.measured(rates={"s": 5}).operator("t.partial").selectivity == 0.2
    slower = net.measured(rates={"s": 1}, costs={"t.partial": 0.1})
    assert slower.operator("t.partial").selectivity == pytest.approx(50 * (1 - math.exp(-1 / 25)) / 2)
    assert net.exact().operator("t.partial").selectivity == Fraction(str(net.operator("t.partial").selectivity))
    raw = ps.Operator("a", ("s",), 1, 0.5, "aggregate", groups=9)
    close = ps.Operator("c", ("a",), 1, 2, "close", series=SlidingWindow("range", 4, 1))
    unknown = ps.Network((ps.Stream("s"),), (raw, close), (ps.Query("q", "c"),))
    assert [operator.selectivity for operator in unknown.operators] == [0.5, 2]
    with pytest.raises(ps.NetworkError, match="partial rows in a window of operator 'c' are unknown"):
        unknown.T("q")


def test_equal_aggregates_are_one():
    build = ps.NetworkBuilder()
    build.stream("s", rate=10)
    common = {"cost": 0.001, "close_cost": 0.001}
    time, rows = SlidingWindow("range", 4), SlidingWindow("rows", 4)
    names = ["a", "b", "other_groups", "other_key", "rows"]
    extra = [{}, {"window": SlidingWindow("range", 6)}, {"groups": 2}, {"by": "host"}, {"window": rows}]
    for name, more in zip(names, extra, strict=True):
        build.query(name, build.aggregate(name, "s", **common | {"window": time} | more))
    partial = [operator.name for operator in build.build().operators if operator.kind == "aggregate"]
    assert partial == ["a.partial", "other_groups.partial", "other_key.partial", "rows.partial"]
    assert [*build.build().panes["a.partial"].readers] == ["a", "b"]
    with pytest.raises(
        ps.NetworkError, match=r"shares the partial aggregates 'a\.partial', which have another cost"
    ):
        build.aggregate("c", "s", cost=0.5, close_cost=1, window=time)


# What is wrong ------------------------------------------------------------------------------------------------

STREAM = ps.Stream("s", rate=1)


def network(*operators):
    return ps.Network((STREAM,), operators, (ps.Query("q", operators[-1].name),))


def close(name="c", below="a", window=None):
    return ps.Operator(name, (below,), 1, kind="close", series=window or SlidingWindow("range", 4))


def partial(name="a", below="s", **extra):
    return ps.Operator(name, (below,), 1, kind="aggregate", **extra)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: SlidingWindow("hopping", 1), "a sliding window is 'range' or 'rows', not 'hopping'"),
        (lambda: SlidingWindow("range", 0), "the size of a sliding range window must be above 0"),
        (lambda: SlidingWindow("range", 1, -1), "the slide of a sliding range window must be above 0"),
        (lambda: SlidingWindow("rows", 1.5), "the size of a sliding rows window is a whole number of rows"),
        (lambda: partial(groups=0), "the groups of operator 'a' must be at least 1, not 0"),
        (lambda: partial(groups=1.5), "the groups of operator 'a' are a whole number up to 2⁵³, not 1.5"),
        (lambda: ps.Operator("o", ("s",), 1, groups=2), "'o' is a select and has no groups; an 'aggregate' has"),
        (
            lambda: ps.Operator("o", ("s",), 1, series=SlidingWindow("range", 1)),
            "'o' is a select and closes no windows",
        ),
        (lambda: ps.Operator("o", ("s",), 1, kind="close", series=5), "series of operator 'o' must be a Sliding"),
        (lambda: ps.Operator("o", ("s",), 1, 1, derived=True), "the selectivity of operator 'o', a select"),
        (lambda: network(close(below="s")), "'c' closes windows, and its input 's' is not an 'aggregate'"),
        (lambda: network(partial(selectivity=0.5, groups=3)), "'a' has groups, and no 'close' with windows"),
        (lambda: network(partial()), "'a' is an aggregate without windows: give its selectivity"),
        (
            lambda: ps.Network(
                (STREAM,),
                (partial(), close(), ps.Operator("o", ("a",), 1)),
                (ps.Query("q", "c"), ps.Query("p", "o")),
            ),
            "operator 'o' reads the partial rows of 'a'",
        ),
        (
            lambda: ps.Network((STREAM,), (partial(), close()), (ps.Query("q", "c"), ps.Query("p", "a"))),
            "the root of query 'p', 'a', makes partial rows",
        ),
        (
            lambda: ps.Network(
                (STREAM,),
                (partial(), close(), close("d", window=SlidingWindow("rows", 4))),
                (ps.Query("q", "c"), ps.Query("p", "d")),
            ),
            "'a' is read by windows of time and by windows of rows",
        ),
        (
            lambda: network(partial(), close(window=SlidingWindow("range", 10, 0.00007))),
            "the windows above operator 'a' have no panes longer than 1e-05 in common",
        ),
        (
            lambda: network(
                partial(), close(), partial("b", "c"), close("d", "b", SlidingWindow("rows", 3))
            ),
            "'b' has windows of rows, which count the tuples of one stream, above a join or other windows",
        ),
        (lambda: talkers(rate=None), "whose rate is unknown: give the stream a rate, or the operator a"),
        (lambda: talkers(window=5), "the window of aggregate 't' must be a SlidingWindow, not 5"),
        (lambda: talkers(by=5), "what aggregate 't' groups by is a text, not 5"),
    ],
)  # fmt: skip
def test_wrong_aggregates_are_refused(build, says):
    with pytest.raises(ps.NetworkError) as caught:
        build()
    assert says in str(caught.value)


def test_a_call_that_raises_adds_nothing():
    build = ps.NetworkBuilder()
    build.stream("s", rate=1)
    given = {"cost": 1, "close_cost": 1, "window": SlidingWindow("range", 4)}
    with pytest.raises(ps.NetworkError, match="reads 'strem'"):
        build.aggregate("a", "strem", **given)
    build.operator("b", "s", cost=1)
    with pytest.raises(ps.NetworkError, match="more than one stream or operator is named 'b'"):
        build.aggregate("b", "s", **given)
    build.query("q", build.aggregate("a", "s", **given))
    build.query("p", "b")
    assert {operator.name for operator in build.build().operators} == {"a.partial", "a", "b"}


def test_aggregates_of_a_script_have_costs_and_selectivities_alone():
    net = network(ps.Operator("a", ("s",), 1, 0.1, "aggregate"), ps.Operator("c", ("a",), 2, 1, "close"))
    assert not net.panes
    assert net.T("q") == 3
    assert net.is_barrier(Edge("a", "c", 0))
    assert net.C(net.paths[0]) == pytest.approx(1.2)
