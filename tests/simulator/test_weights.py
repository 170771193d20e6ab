"""Weights of queries in a simulation: the more a query weighs, the sooner its results come."""

from itertools import pairwise

import pytest

import penstock as ps
from penstock.errors import NetworkError, QosError
from penstock.policies import POLICIES
from penstock.simulator.fractional import run_fractional
from penstock.workloads import population

NOISE = 1.02
VARIANTS = [*POLICIES, "hnr.every(5)", "hnr.level('operator')", "bsd.by_age_and_length()", "hnr.shared('sum')"]
WORKLOADS = {  # name, load, the queries that are weighed one after the other
    "sclp08": (0.95, {"queries": 12}, ("q3", "q10")),
    "sclp08_shared": (0.95, {"queries": 20}, ("q2", "q17")),
    "bbdm03_three": (0.95, {}, ("q1", "q3")),
    "jc03": (0.95, {}, ("q4", "q16")),
}


@pytest.mark.parametrize(
    "workload",
    [each if each == "sclp08" else pytest.param(each, marks=pytest.mark.slow) for each in WORKLOADS],
)
@pytest.mark.parametrize("name", VARIANTS)
def test_more_weight_never_makes_a_query_slower(workload, name):
    """Oracles rank by what happens to wait, which weights change; they are held to it where nothing is shared."""
    if POLICIES.get(name, POLICIES["hr"]).clairvoyant and workload != "sclp08":
        return
    load, options, queries = WORKLOADS[workload]
    found = population(workload, load=load, **options)
    times = found.times(seed=3, count=3000)
    for query in queries:
        responses = []
        for weight in (0.2, 1, 5, 25):
            result = ps.simulate(found.network, times, name, seed=2, weights={query: weight})
            responses.append(result.per_query[query]["avg_response"])
        assert all(more <= less * NOISE for less, more in pairwise(responses)), responses


@pytest.mark.parametrize("name", ["fifo", "lsf", "round_robin", "mtiq", "hr", "hnr", "bsd", "chain", "segment"])
def test_a_weight_of_25_helps_under_every_policy(name):
    """The most expensive query of twelve, at a load of 0.95, has at most half the response it had."""
    found = population("sclp08", load=0.95, queries=12)
    times = found.times(seed=3, count=6000)
    query = max(found.network.queries, key=lambda each: found.network.T(each.name)).name
    plain, heavy = (
        ps.simulate(found.network, times, name, seed=2, weights={query: weight}).per_query[query]["avg_response"]
        for weight in (1, 25)
    )
    assert heavy < plain / 2


def test_the_fractional_engine_ranks_by_weights():
    """One tuple for each of two queries of cost 1: the first goes first, unless the second weighs more."""
    net = ps.Network.chains([[(1, 1)], [(1, 1)]])
    for weights, first in (({}, "q1"), ({"q2": 2}, "q2"), ({"q1": 0}, "q2")):
        trace = run_fractional(net.weighed(weights), {"s": [0]}, "hr")
        assert trace.departures[0].query == first


def test_goals_that_weigh_rank_by_it_and_may_change_on_the_way():
    found = population("sclp08", load=0.95, queries=12)
    times = found.times(seed=3, seconds=200)
    query = max(found.network.queries, key=lambda each: found.network.T(each.name)).name

    def response(goals, **options):
        chosen = ps.Selection(goals, candidates=("hnr",), **options)
        return ps.simulate(found.network, times, chosen, seed=2).per_query[query]["avg_response"]

    plain, heavy = response("latency"), response(f"latency, weigh {query} 50")
    later = response("latency", changes=[(100.0, f"latency, weigh {query} 50")])
    assert heavy < plain / 2
    assert heavy < later < plain


def test_what_is_wrong_with_weights_is_said():
    net = ps.Network.chains([[(1, 1)]])
    with pytest.raises(NetworkError, match="no query 'q2'"):
        ps.simulate(net, {"s": [0]}, "fifo", weights={"q2": 2})
    with pytest.raises(NetworkError, match="the weight of query 'q1'"):
        ps.simulate(net, {"s": [0]}, "fifo", weights={"q1": -2})
    with pytest.raises(QosError, match="belong to the goals of a selection"):
        ps.simulate(net, {"s": [0]}, ps.Selection("latency"), weights={"q1": 2})
