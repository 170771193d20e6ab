"""The papers' theorems as properties, the optimum by brute force."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.experiments.theorem_3 import RULES, compare, counterexample, peaks
from penstock.policies import POLICIES
from penstock.simulator import BBDM03, JC03, SCLP08, run_fractional
from tests.simulator.brute_force import least_memory, least_path_memory, least_total_latency
from tests.strategies import separate_streams, tenths

INSTANCES = 150


def network_of_charts(charts):
    """One query a chart. A chart is a list of (duration, size left); the last size is 0.

    An operator that takes d time units for what is left of a tuple costs d ÷ that; BBDM03 §3.
    """
    queries = []
    for chart in charts:
        sizes = [Fraction(1), *(size for _, size in chart)]
        durations = [duration for duration, _ in chart]
        queries.append(
            [(d / before, after / before) for d, (before, after) in zip(durations, pairwise(sizes), strict=True)]
        )
    return ps.Network.chains(queries, [f"s{index}" for index in range(len(queries))])


def by_time_unit(chart):
    """What is left of a tuple after each time unit of work: it shrinks when an operator ends."""
    sizes = [Fraction(1)]
    for duration, size in chart:
        sizes += [sizes[-1]] * (duration - 1) + [size]
    return sizes


@st.composite
def falling_charts(draw, convex, max_paths=3):
    """Charts whose sizes only fall: convex ones in unit steps (their own lower envelopes), or any."""
    charts = []
    for _ in range(draw(st.integers(1, max_paths))):
        drops = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
        if convex:
            drops.sort(reverse=True)
        durations = [1 if convex else draw(st.integers(1, 3)) for _ in drops]
        left, chart = sum(drops), []
        for drop, duration in zip(drops, durations, strict=True):
            left -= drop
            chart.append((duration, Fraction(left, sum(drops))))
        charts.append(chart)
    return charts


@st.composite
def charts_with_arrivals(draw, convex):
    charts = draw(falling_charts(convex))
    tuples = 5 // len(charts) + 1
    times = st.lists(st.integers(0, 5), min_size=1, max_size=tuples).map(sorted)
    return charts, [draw(times) for _ in charts]


def assert_chain_is_within(slack, charts, arrivals, horizon=12):
    """At every instant Chain has at least the brute-force optimum, and at most `slack` more."""
    optimum = least_memory([by_time_unit(chart) for chart in charts], arrivals, horizon)
    named = {f"s{index}": times for index, times in enumerate(arrivals)}
    trace = run_fractional(network_of_charts(charts), named, "chain", BBDM03)
    for time, best in enumerate(optimum):
        assert best <= trace.queue_at(time) <= best + slack


@settings(max_examples=INSTANCES)
@given(charts_with_arrivals(convex=True))
def test_bbdm03_theorem_1_chain_is_optimal_on_lower_envelopes(drawn):
    assert_chain_is_within(0, *drawn)


@settings(max_examples=INSTANCES)
@given(charts_with_arrivals(convex=False))
def test_bbdm03_theorem_2_chain_is_within_a_unit_a_query(drawn):
    assert_chain_is_within(len(drawn[0]), *drawn)


def test_greedy_is_not_optimal_where_chain_is():
    """A slow operator before a fast, selective one: the brute force tells the two policies apart."""
    charts = [
        [(1, Fraction(9, 10)), (1, Fraction(0))],
        [(1, Fraction(7, 10)), (1, Fraction(4, 10)), (1, Fraction(0))],
    ]
    arrivals = {"s0": [0, 1, 2], "s1": [0, 1, 2]}
    net = network_of_charts(charts)
    chain, greedy = (run_fractional(net, arrivals, name, BBDM03) for name in ("chain", "greedy"))
    optimum = least_memory([by_time_unit(chart) for chart in charts], list(arrivals.values()), 8)
    assert sum(greedy.queue_at(t) for t in range(9)) > sum(chain.queue_at(t) for t in range(9)) >= sum(optimum)


@settings(max_examples=INSTANCES)
@given(separate_streams(max_queries=3, max_operators=3, max_tuples=2))
def test_jc03_theorem_1_path_capacity_has_the_least_total_latency(drawn):
    """Over all input tuples, discarded ones included, all present at the start."""
    net, arrivals = drawn
    present = {stream: [0] * len(times) for stream, times in arrivals.items()}
    trace = run_fractional(net, present, "path_capacity", SCLP08)
    work = []
    for stream, times in present.items():
        path = next(path for path in net.paths if path.source == stream)
        reach, steps = Fraction(1), []
        for name in path.operators:
            steps.append(reach * net.operator(name).cost)
            reach *= net.operator(name).selectivity
        work += [steps] * len(times)
    assert len(trace.departures) == len(work)
    assert sum(departure.response for departure in trace.departures) == least_total_latency(work)


def test_jc03_theorem_1_is_false_over_outputs_only():
    """Costs 1 and 2, selectivities 0.1 and 1: serving the greater capacity first delays nearly all output."""
    net = ps.Network.chains([[(1, Fraction(1, 10))], [(2, Fraction(1))]], ["a", "b"])
    total = {}
    for name in ("path_capacity", "hr"):
        trace = run_fractional(net, {"a": [0], "b": [0]}, name, SCLP08)
        total[name] = sum(result.response * result.amount for result in trace.results)
    assert total == {"path_capacity": Fraction(31, 10), "hr": Fraction(23, 10)}


@settings(max_examples=INSTANCES)
@given(separate_streams(max_queries=2, max_operators=3, max_tuples=4))
def test_jc03_theorem_2_path_capacity_has_the_least_memory_of_path_based_policies(drawn):
    net, arrivals = drawn
    horizon = 8
    trace = run_fractional(net, arrivals, "path_capacity", JC03)
    capacities = [net.exact().capacity(path) for path in net.paths]
    optimum = least_path_memory(capacities, list(arrivals.values()), horizon)
    assert [trace.queue_at(time) for time in range(horizon + 1)] == optimum


def test_jc03_theorem_3_is_false():
    """Segments can need more memory than Chain, in either paper's conventions (docs/theorems.md)."""
    assert peaks(*counterexample(), BBDM03) == (3, Fraction(207, 100))
    assert peaks(*counterexample(), JC03) == (Fraction(27, 10), 2)


def more_and_less(comparisons):
    more = sum(c.segment > c.chain for c in comparisons)
    return more, sum(c.segment < c.chain for c in comparisons)


def test_jc03_theorem_3_holds_mostly_where_a_time_unit_serves_part_of_a_tuple():
    """It breaks where segments are not Chain's chains; where they are, none of these instances breaks it."""
    found = compare(150, seed=1, rules=JC03)
    assert more_and_less([c for c in found if c.same_segments])[0] == 0
    more, less = more_and_less(found)
    assert more < less


@pytest.mark.slow
def test_jc03_theorem_3_as_documented():
    """The figures in docs/theorems.md, from the command it names."""
    found = {name: compare(1000, seed=1, rules=rules) for name, rules in RULES.items()}
    assert {name: more_and_less(all_of) for name, all_of in found.items()} == {
        "JC03": (10, 469),
        "BBDM03": (107, 67),
    }
    same = {name: more_and_less([c for c in all_of if c.same_segments]) for name, all_of in found.items()}
    assert same == {"JC03": (0, 240), "BBDM03": (59, 28)}


@settings(max_examples=INSTANCES)
@given(separate_streams(max_queries=4, selectivities=st.just(Fraction(1))))
def test_sclp08_3_5_hr_hnr_and_srpt_choose_alike_where_nothing_is_filtered(drawn):
    net, arrivals = drawn
    runs = [run_fractional(net, arrivals, name, SCLP08).runs for name in ("hr", "hnr", "srpt")]
    assert runs[0] == runs[1] == runs[2]


def test_they_differ_where_something_is_filtered_and_at_operator_level():
    filtered = ps.Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    orders = [run_fractional(filtered, {"s": [0, 0]}, name).runs for name in ("hr", "hnr", "srpt")]
    assert orders[0] != orders[1]
    whole = ps.Network.chains([[(4, 1), (1, 1)], [(2, 1)]], ["a", "b"])  # b comes while q1.o1 works
    level = {
        name: run_fractional(whole, {"a": [0], "b": [1]}, POLICIES[name].level("operator")).runs[1].units
        for name in ("hr", "hnr", "srpt")
    }
    assert level == {"hr": ("q1.o1→q1.o2",), "hnr": ("b→q2.o1",), "srpt": ("q1.o1→q1.o2",)}


@pytest.mark.slow
@settings(max_examples=1000)
@given(charts_with_arrivals(convex=True), charts_with_arrivals(convex=False))
def test_chain_against_the_optimum_at_length(on_envelopes, on_any):
    assert_chain_is_within(0, *on_envelopes)
    assert_chain_is_within(len(on_any[0]), *on_any)


@given(tenths)
def test_charts_and_networks_are_the_same_thing(left):
    """The translation used above: durations and sizes come back from the network's own chart."""
    net = network_of_charts([[(2, left), (3, Fraction(0))]])
    assert net.chart(net.paths[0]).points == ((0, 1), (2, left), (5, 0))
