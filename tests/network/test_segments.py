"""JC03 segments: partition, pruning, simplified segments, counts."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.network import Network, Path
from penstock.network.operator import Edge
from penstock.network.segments import Segment, first_run_and_rest, pruned, rising_runs
from penstock.policies import POLICIES, units_of
from tests.strategies import networks


def fake(operators, release=1):
    """A segment of named operators, for the pruning rule alone."""
    edges = tuple(Edge("s", name, 0) for name in operators)
    return Segment(Path("q", edges), 0, len(edges), Fraction(release), Fraction(1))


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
def test_runs_never_fall_inside_and_always_fall_between(releases):
    runs = rising_runs(releases)
    assert [start for start, _ in runs] == [0] + [stop for _, stop in runs[:-1]]
    assert runs[-1][1] == len(releases)
    for start, stop in runs:
        assert all(releases[i] <= releases[i + 1] for i in range(start, stop - 1))
    for _, stop in runs[:-1]:
        assert releases[stop - 1] > releases[stop]


def test_the_similarity_factor_is_a_product_not_a_ratio():
    """−1 after −2 is an improvement; as a ratio, 0.5 would look like a fall below 0.75."""
    assert first_run_and_rest([-2, -1], gamma=0.75) == [(0, 2)]
    assert first_run_and_rest([4, 3, 2, 9], gamma=0.75) == [(0, 2), (2, 4)]
    assert first_run_and_rest([4, 2.9], gamma=0.75) == [(0, 1), (1, 2)]
    assert first_run_and_rest([5], gamma=0.75) == [(0, 1)]


def test_segments_are_not_chains():
    """Releases 0.2, 0.1, 9, 0.2 give segments 1 | 2 3 | 4 and chains 1 2 3 | 4."""
    releases = [Fraction(1, 5), Fraction(1, 10), Fraction(9), Fraction(1, 5)]
    sizes = [Fraction(n, 100) for n in (100, 99, 98, 7, 0)]
    pairs = zip(releases, sizes, sizes[1:], strict=False)
    net = Network.chains([[((1 - b / a) / release, b / a) for release, a, b in pairs]])
    path = net.paths[0]
    assert net.releases(path) == tuple(releases)
    assert [len(segment.operators) for segment in net.segments()] == [1, 2, 1]
    assert [(chain.start, chain.stop) for chain in net.envelope(path)] == [(0, 3), (3, 4)]


sets_of_names = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=8)


@given(sets_of_names, st.randoms())
def test_pruning_keeps_the_largest_sets_in_any_order(names, random):
    segments = [fake(sorted(operators)) for operators in names]
    expected = {frozenset(s) for s in names if not any(s < other for other in names)}
    random.shuffle(segments)
    kept = pruned(segments)
    assert {frozenset(segment.operators) for segment in kept} == expected
    assert len(kept) == len(expected)


def test_where_two_paths_build_the_same_set_the_better_speaks_for_it():
    for order in ([fake("ab", 2), fake("ab", 5)], [fake("ab", 5), fake("ab", 2)]):
        assert [segment.release for segment in pruned(order)] == [5]


@given(networks(), st.data())
def test_segments_do_not_depend_on_the_order_of_queries(drawn, data):
    net, _ = drawn
    queries = data.draw(st.permutations(net.queries))
    shuffled = Network(net.streams, net.operators, tuple(queries))
    for build in ("segments", "simplified_segments"):
        these, those = (getattr(network, build)() for network in (net, shuffled))
        assert [(s.operators, s.release) for s in these] == [(s.operators, s.release) for s in those]


@given(networks(), st.data())
def test_registering_and_unregistering_leave_the_segments_of_a_fresh_network(drawn, data):
    net, _ = drawn
    gone = data.draw(st.sampled_from([query.name for query in net.queries]))
    left = net.unregister(gone)
    fresh = Network(left.streams, left.operators, left.queries)
    assert [s.operators for s in left.segments()] == [s.operators for s in fresh.segments()]
    assert {name for s in left.segments() for name in s.operators} == {op.name for op in left.operators}


def test_simplified_segments_take_three_quarters_exactly():
    """A release that is 3/4 of the one below it still belongs; a little less does not."""
    for cost, count in ((3.6, 1), (3.7, 2)):  # (1 / 2.7) · 3/4 = 1 / 3.6
        net = Network.chains([[(2.7, 0), (cost, 0)]])
        assert len(net.exact().simplified_segments()) == len(net.simplified_segments()) == count


@pytest.mark.parametrize("costs", [(3.3, 4.4), (0.3, 0.4), (2.7, 3.6), (0.9, 1.2)])
def test_floats_are_not_cut_by_rounding(costs):
    assert len(Network.chains([[(cost, 0) for cost in costs]]).simplified_segments()) == 1
    assert len(Network.chains([[(0.3, 0.7), (1, 1)]]).segments()) == 1


def test_simplified_segments_cut_a_path_once():
    net = Network.chains([[(1, 0.8), (10, 0.5), (1, 0.1), (10, 1)], [(1, 0.5), (1, 0.2)]])
    assert [segment.operators for segment in net.simplified_segments()] == [
        ("q1.o1",),
        ("q1.o2", "q1.o3", "q1.o4"),
        ("q2.o1", "q2.o2"),
    ]


def test_a_queue_into_the_middle_of_a_segment_is_served_by_it():
    """{O3, O4} is dropped for {O1, O3, O4}; O2 of the other path feeds O3, half-way up."""
    build = ps.NetworkBuilder()
    build.stream("s1")
    build.stream("s2")
    build.operator("O1", "s1", cost=10, selectivity=0.9)
    build.operator("O2", "s2", cost=Fraction(1, 10), selectivity=0.9)
    build.join("O3", ["O1", "O2"], cost=2, selectivity=0.5)
    build.operator("O4", "O3", cost=1, selectivity=1)
    build.query("q", "O4")
    net = build.build()
    assert [segment.operators for segment in net.segments()] == [("O1", "O3", "O4"), ("O2",)]
    long, short = units_of(net, POLICIES["segment"])
    assert Edge("O2", "O3", 1) in long.entries
    assert long.through == {Edge("O1", "O3", 0), Edge("O3", "O4", 0)}
    assert short.entries == (Edge("s2", "O2", 0),)


@given(networks(), st.sampled_from(["segment", "simplified_segment"]))
def test_every_queue_is_served(drawn, name):
    net, _ = drawn
    assert {edge for unit in units_of(net, POLICIES[name]) for edge in unit.entries} == set(net.edges)


def test_counts_of_users():
    net = Network.chains([[(1, 0.5)]]).register("again", "q1.o1")
    assert net.users["q1.o1"] == ("q1", "again")
    assert len(net.segments()) == 1
