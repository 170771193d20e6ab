"""One contract for every policy and every combinator, on random networks with joins and sharing.

P04: every scheduler produces the same result set. And none loses a tuple, idles while work waits, or does more
work than the tuples need.
"""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.policies import POLICIES, Exhaustive, Limited, QueueShare
from penstock.simulator import BBDM03, JC03, P04, SCLP08, Rules, run_fractional
from tests.strategies import networks, separate_streams

COMBINED = {
    "hnr.every": POLICIES["hnr"].every(3),
    "bsd.by_age_and_length": POLICIES["bsd"].by_age_and_length(),
    "round_robin.by_age_and_length": POLICIES["round_robin"].by_age_and_length(),
    "bsd.clustered.log": POLICIES["bsd"].clustered(3, "log"),
    "bsd.clustered.uniform": POLICIES["bsd"].clustered(2, "uniform"),
    "greedy.clustered": POLICIES["greedy"].clustered(2),
    "hr.shared.max": POLICIES["hr"].shared("max"),
    "hnr.shared.sum": POLICIES["hnr"].shared("sum"),
    "fifo.operator": POLICIES["fifo"].level("operator"),
    "hnr.operator": POLICIES["hnr"].level("operator"),
    "chain.query": POLICIES["chain"].level("query"),
    "segment.operator": POLICIES["segment"].level("operator"),
    "simplified_segment.query": POLICIES["simplified_segment"].level("query"),
    "bsd.oracle": POLICIES["bsd"].oracle(),
    "hnr.threshold": POLICIES["hnr"].threshold(POLICIES["chain"]),
}
EVERY = {**POLICIES, **COMBINED}
RULES = {
    "JC03": JC03,
    "BBDM03": BBDM03,
    "P04": P04,
    "SCLP08": SCLP08,
    "exhaustive": Rules(service=Exhaustive()),
    "workload": Rules(service=QueueShare(ratio=Fraction(1, 2), threshold=1)),
    "two at a time": Rules(service=Limited(2), quantum=Fraction(3, 2)),
}


def quick_third(rules):
    """Every policy with some of the rules, and all the rules with some policy; the other pairs are slow."""
    return [
        (policy, each) if (place + turn) % 3 == 0 else pytest.param(policy, each, marks=pytest.mark.slow)
        for place, policy in enumerate(EVERY)
        for turn, each in enumerate(rules)
    ]


def results_of(trace):
    """What came out: how much of each input tuple, for each query."""
    total = Counter()
    for departure in trace.departures:
        total[departure.query, departure.number] += departure.amount
    return {key: amount for key, amount in total.items() if amount > 0}


def expected_results(net, arrivals):
    """The same from the definition alone: every tuple, up every path."""
    net = net.exact()
    order = sorted((time, place) for place, s in enumerate(net.streams) for time in arrivals.get(s.name, ()))
    total = Counter()
    for number, (_, place) in enumerate(order):
        for path in net.paths:
            if path.source == net.streams[place].name:
                total[path.query, number] += net.S(path)
    return {key: amount for key, amount in total.items() if amount > 0}


@pytest.mark.parametrize(("policy", "rules"), quick_third(RULES))
@settings(max_examples=5)
@given(networks())
def test_every_policy_produces_the_same_results(policy, rules, drawn):
    net, arrivals = drawn
    trace = run_fractional(net, arrivals, EVERY[policy], RULES[rules], memory=4)
    assert results_of(trace) == expected_results(net, arrivals)
    assert trace.samples[-1].before == 0


@pytest.mark.parametrize(
    ("policy", "rules"), quick_third(["JC03", "BBDM03", "SCLP08", "exhaustive", "two at a time"])
)
@settings(max_examples=5)
@given(networks())
def test_no_policy_idles_while_work_waits_or_works_twice(policy, rules, drawn):
    net, arrivals = drawn
    trace = run_fractional(net, arrivals, EVERY[policy], RULES[rules], memory=4)
    busy = sum((run.end - run.start for run in trace.runs), Fraction(0))
    needed = sum(
        len(arrivals.get(stream.name, ())) * net.exact().shared_set(ways).cost
        for stream in net.streams
        for edge in net.out_edges.get(stream.name, ())
        for ways in [net.suffixes[edge]]
    )
    assert busy == needed
    for before, after in zip(trace.runs, trace.runs[1:], strict=False):
        assert before.end <= after.start
        if before.end < after.start:
            assert trace.queue_at(before.end) == 0


@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=5)
@given(separate_streams())
def test_every_policy_repeats_itself(policy, drawn):
    net, arrivals = drawn
    first, second = (run_fractional(net, arrivals, EVERY[policy], JC03, memory=3) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("policy", EVERY)
@settings(max_examples=10)
@given(separate_streams(max_tuples=4), st.integers(1, 3).map(lambda n: Fraction(n, 2)))
def test_set_up_cost_is_paid_once_a_run(policy, drawn, setup):
    net, arrivals = drawn
    free = run_fractional(net, arrivals, EVERY[policy], SCLP08, memory=4)
    dear = run_fractional(net, arrivals, EVERY[policy], SCLP08, memory=4, setup_cost=setup)
    work = sum((run.end - run.start for run in free.runs), Fraction(0))
    assert sum((run.end - run.start for run in dear.runs), Fraction(0)) == work + setup * len(dear.runs)


def test_the_contract_covers_the_table():
    assert set(ps.POLICIES) <= set(EVERY)
