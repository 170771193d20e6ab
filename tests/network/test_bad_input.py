"""Whatever is wrong with a network is said in one sentence that names the part, and leaves nothing behind."""

import math
from decimal import Decimal

import pytest

from penstock import Network, NetworkBuilder, NetworkError, Operator, PenstockError, Query, Stream, Window
from penstock.network import semijoin_average


def two_queries():
    return Network.chains([[(1, 0.5), (2, 1)], [(3, 0.1)]])


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Network.chains([[(1, 0.5)], [(0, 1)]]), "cost of operator 'q2.o1' must be above 0, not 0"),
        (lambda: Network.chains([[(-2, 1)]]), "cost of operator 'q1.o1' must be above 0, not -2"),
        (lambda: Network.chains([[(1, -0.1)]]), "selectivity of operator 'q1.o1' must be at least 0, not -0.1"),
        (lambda: Network.chains([[(math.nan, 1)]]), "cost of operator 'q1.o1' must be a finite number, not nan"),
        (lambda: Network.chains([[(1, math.nan)]]), "selectivity of operator 'q1.o1' must be a finite"),
        (lambda: Network.chains([[(math.inf, 1)]]), "cost of operator 'q1.o1' must be a finite number, not inf"),
        (lambda: Network.chains([[("1", 1)]]), "cost of operator 'q1.o1' must be a number, not '1'"),
        (lambda: Network.chains([[(True, 1)]]), "cost of operator 'q1.o1' must be a number, not True"),
        (lambda: Network.chains([[(1, None)]]), "selectivity of operator 'q1.o1' must be a number, not None"),
        (lambda: Network.chains([[(1,)]]), "'q1.o1' must be given as (cost, selectivity), not (1,)"),
        (lambda: Network.chains([[(1, 1)], []]), "query 'q2' is empty"),
        (lambda: Network.chains([[(1, 1)]], stream=["a", "b"]), "1 queries and 2 streams"),
        (lambda: Network.chains([[(1, 1)]], stream=""), "name of a stream must be a non-empty string"),
        (lambda: Network.chains([[(1, 1)]], rate=0), "rate of stream 's' must be above 0, not 0"),
        (lambda: Network.chains(None), "the queries must be a list, not None"),
        (lambda: Network.chains([5]), "operators of query 'q1' must be a list, not 5"),
        (lambda: Network.chains([[(1, 1)]], stream=None), "the streams must be a list, not None"),
        (lambda: Network.chains([[(1, 1)]], stream="q1.o1"), "more than one stream or operator is named 'q1.o1'"),
        (
            lambda: Network.chains([[(1e-300, 1)]]),
            "cost of operator 'q1.o1' is out of range: its magnitude must be between 1e-100 and 1e+100",
        ),
        (
            lambda: Network.chains([[(10**5000, 1)]]),
            "cost of operator 'q1.o1' is out of range: its magnitude must be between 1e-100 and 1e+100",
        ),
        (lambda: Network.chains([[(Decimal("sNaN"), 1)]]), "must be a finite number"),
        (lambda: Network(None), "the streams of a network must be a list"),
        (lambda: Operator("o", ("s",), 1, windows=None), "windows of operator 'o' must be a list"),
        (lambda: Operator("o", ("s",), 1, expression=5), "expression of operator 'o' must be a string"),
        (lambda: Operator("o", ("s", "r"), (1, 2, 3), kind="join"), "'o' has 2 inputs and 3 costs"),
        (
            lambda: Operator("o", ("s", "r"), (1, 0), kind="join"),
            "cost of input 1 of operator 'o' must be",
        ),
        (lambda: NetworkBuilder().join("j", "ab", cost=1), "inputs of operator 'j' must be a list, not 'ab'"),
        (lambda: NetworkBuilder().join("j", None, cost=1), "inputs of operator 'j' must be a list"),
        (lambda: two_queries().register("q9", "q1.o1", ["x"]), "'x' is not of type Operator"),
        (
            lambda: two_queries().register("q9", "x", [Operator("x", ("s",), 1), Operator("x", ("s",), 2)]),
            "more than one operator is named 'x'",
        ),
        (lambda: two_queries().operator(["q1.o1"]), "there is no operator ['q1.o1']"),
        (lambda: two_queries().S("q1"), "q1 is not a path of this network"),
        (lambda: two_queries().chart("q1"), "q1 is not a path of this network"),
        (lambda: two_queries().released("q1"), "q1 is not a path of this network"),
        (lambda: two_queries().measured(costs={"q1.o9": 1}), "there is no operator 'q1.o9'"),
        (lambda: two_queries().measured(selectivities={"q1.o1": -1}), "selectivity of operator 'q1.o1' must be"),
        (lambda: two_queries().measured(ideals={"q3": 1}), "there is no query 'q3'"),
        (lambda: two_queries().measured(ideals={"q1": 0}), "the ideal time of query 'q1' must be above 0"),
        (lambda: two_queries().measured(costs=3), "a mapping from name to number, not 3"),
        (lambda: two_queries().measured(rates={"r": 1}), "there is no stream 'r'"),
        (lambda: semijoin_average((0, 0), (1, 1), (1, 1)), "rate of an input must be above 0"),
        (lambda: Window("range", 0), "size of a range window must be above 0"),
        (lambda: Window("hopping", 1), "a window is 'range' or 'rows', not 'hopping'"),
        (lambda: Stream("s", size=-1), "tuple size of stream 's' must be above 0"),
        (lambda: Operator("o", ("s",), 1, 1.5), "'o' is a select and cannot have a selectivity above 1"),
        (lambda: Operator("o", ("s",), 1, kind="sort"), "'o' has the unknown kind 'sort'"),
        (lambda: Operator("o", ("s",), 1, kind="join"), "'o' is a join and needs at least two inputs, not 1"),
        (lambda: Operator("o", ("s", "r"), 1), "'o' is a select and needs one input, not 2"),
        (lambda: Operator("o", "s", 1), "inputs of operator 'o' must be a list, not 's'"),
        (
            lambda: Operator("o", ("s", "r"), 1, kind="join", windows=(Window("rows", 1),)),
            "'o' has 2 inputs and 1 windows",
        ),
    ],
)
def test_parts_check_themselves(build, says):
    with pytest.raises(NetworkError) as caught:
        build()
    assert says in str(caught.value)
    assert isinstance(caught.value, PenstockError)


@pytest.mark.parametrize(
    ("operators", "queries", "says"),
    [
        ([Operator("a", ("b",), 1), Operator("b", ("a",), 1)], [Query("q", "b")], "in a cycle: a → b → a"),
        ([Operator("a", ("a",), 1)], [Query("q", "a")], "in a cycle: a → a"),
        (
            [Operator("a", ("b",), 1), Operator("b", ("c",), 1), Operator("c", ("a",), 1)],
            [Query("q", "a")],
            "in a cycle: a → c → b → a",
        ),
        (
            [Operator("x", ("s",), 1), Operator("a", ("x", "b"), 1, kind="join"), Operator("b", ("a",), 1)],
            [Query("q", "b")],
            "in a cycle: a → b → a",
        ),
        ([Operator("a", ("strem",), 1)], [Query("q", "a")], "operator 'a' reads 'strem'"),
        (
            [Operator("a", ("s",), 1), Operator("a", ("s",), 2)],
            [Query("q", "a")],
            "more than one stream or operator is named 'a'",
        ),
        ([Operator("s", ("s",), 1)], [Query("q", "s")], "more than one stream or operator is named 's'"),
        ([Operator("a", ("s",), 1)], [Query("q", "a")] * 2, "more than one query is named 'q'"),
        ([Operator("a", ("s",), 1)], [Query("q", "s")], "query 'q' is empty: its root 's' is a stream"),
        ([Operator("apple", ("s",), 1)], [Query("q", "aple")], "Did you mean 'apple'?"),
        ([Operator("a", ("s",), 1), Operator("b", ("s",), 1)], [Query("q", "a")], "'b' leads to no query"),
        (["a"], [], "'a' is not of type Operator"),
        (
            [Operator("a", ("s", "s"), 1, kind="join", windows=(Window("range", 1),) * 2)],
            [Query("q", "a")],
            "'a' has a range window over stream 's', whose rate is unknown",
        ),
    ],
)
def test_networks_check_how_parts_fit(operators, queries, says):
    with pytest.raises(NetworkError) as caught:
        Network((Stream("s"),), tuple(operators), tuple(queries))
    assert says in str(caught.value)


def test_a_refused_query_leaves_the_network_as_it_was():
    net = two_queries()
    before = two_queries()
    with pytest.raises(NetworkError, match="more than one query is named 'q1'"):
        net.register("q1", "q1.o1")
    with pytest.raises(NetworkError, match="neither a stream nor an operator"):
        net.register("q3", "new", [Operator("new", ("nowhere",), 1)])
    with pytest.raises(NetworkError, match=r"operator 'q1.o1' already exists and differs"):
        net.register("q3", "q1.o1", [Operator("q1.o1", ("s",), 99)])
    with pytest.raises(NetworkError, match="there is no query 'q9'"):
        net.unregister("q9")
    assert net == before


def test_a_refused_part_leaves_the_builder_as_it_was():
    build = NetworkBuilder()
    build.stream("s")
    build.operator("a", "s", cost=1)
    build.query("q", "a")
    before = build.build()
    for refused in (
        lambda: build.stream("s"),
        lambda: build.stream("a"),
        lambda: build.operator("a", "s", cost=1),
        lambda: build.operator("b", "s", cost=math.nan),
        lambda: build.operator("b", "t", cost=1),
        lambda: build.join("b", ["s"], cost=1),
        lambda: build.query("q", "a"),
        lambda: build.query("r", "s"),
        lambda: build.query("r", "nothing"),
    ):
        with pytest.raises(NetworkError):
            refused()
        assert build.build() == before


def test_unknown_names_suggest_the_nearest():
    net = two_queries()
    with pytest.raises(NetworkError, match=r"no operator 'q1.o'.*Did you mean 'q1.o[12]'"):
        net.operator("q1.o")
    with pytest.raises(NetworkError, match="no stream 'packets'"):
        net.stream("packets")
