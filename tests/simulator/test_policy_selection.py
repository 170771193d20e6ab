"""Simulations whose policy is chosen on the way."""

import numpy as np
import pytest

import penstock as ps
from penstock.policies import QueueShare
from penstock.qos import SELECTORS, STATISTICS
from penstock.workloads import Bursty, Poisson, population

P04 = ("round_robin", "chain", "fifo", "mtiq")


@pytest.fixture(scope="module")
def four():
    made = population("bbdm03_four", arrivals=Bursty(40.0))
    return made.network, made.times(3, seconds=60)


@pytest.fixture(scope="module")
def many():
    made = population("sclp08", queries=10, load=0.9, arrivals=Poisson(40.0))
    return made.network, made.times(2, seconds=40)


@pytest.mark.parametrize("policy", ["chain", "mtiq", "bsd"])
def test_one_candidate_is_that_policy(four, policy):
    alone = ps.simulate(*four, policy, seed=5)
    chosen = ps.simulate(*four, ps.Selection(candidates=(policy,)), seed=5)
    assert chosen.chosen.shares == {policy: 1.0}
    for name in ("outputs", "avg_response", "max_slowdown", "peak_memory", "mean_memory"):
        assert chosen.metrics[name] == pytest.approx(alone.metrics[name], rel=1e-12)
    counted = sum(sample.interval.results.count for sample in chosen.chosen.looks)
    after = [time for time in alone.series["time"] if time > chosen.chosen.looks[-1].time]
    assert counted <= alone.metrics["outputs"]
    assert counted == alone.metrics["outputs"] or after


@pytest.mark.parametrize("selector", SELECTORS)
def test_every_selector_keeps_every_tuple(four, selector):
    alone = ps.simulate(*four, "fifo", seed=5, service=QueueShare())
    runs = [
        ps.simulate(*four, ps.Selection("balanced", selector, P04, seed=2), seed=5, service=QueueShare())
        for _ in range(2)
    ]
    assert runs[0].metrics == runs[1].metrics  # the same for the same seed
    assert runs[0].metrics["outputs"] == alone.metrics["outputs"]
    assert sum(runs[0].chosen.shares.values()) == pytest.approx(1)
    assert set(runs[0].chosen.shares) == set(P04)


def test_foresight_knows_what_is_best_before_it_tried(four, many):
    single = {name: ps.simulate(*four, name, seed=5).mean_memory for name in P04}
    run = ps.simulate(*four, ps.Selection("memory", candidates=P04), seed=5)
    assert run.chosen.most_used == min(single, key=single.__getitem__)
    assert run.mean_memory <= 1.02 * min(single.values())
    candidates = ("fifo", "hr", "lsf", "chain")
    for goal, metric in (("latency", "avg_response"), ("minimize max_response", "max_response")):
        singles = {name: ps.simulate(*many, name, seed=5).metrics[metric] for name in candidates}
        run = ps.simulate(*many, ps.Selection(goal, candidates=candidates), seed=5)
        assert run.chosen.most_used == min(singles, key=singles.__getitem__)
        assert run.chosen.looks[0].policy == run.chosen.most_used


def test_goals_that_change(many):
    selection = ps.Selection("latency", candidates=("fifo", "hr"), changes=[(20.0, "minimize max_response")])
    chosen = ps.simulate(*many, selection, seed=5).chosen
    assert {sample.policy for sample in chosen.looks if 4 < sample.time <= 20} == {"hr"}
    assert chosen.looks[-1].policy == "fifo"
    assert str(chosen.goals) == "minimize max_response 1"


def test_queries_weigh(many):
    net, times = many
    names = [query.name for query in net.queries]
    cheap = min(names, key=net.T)
    only = ", ".join(["latency", *(f"weigh {name} 0" for name in names if name != cheap)])
    run = ps.simulate(net, times, ps.Selection(only, candidates=("fifo",)), seed=5)
    counted = sum(sample.interval.results.count for sample in run.chosen.looks)
    assert counted == pytest.approx(run.per_query[cheap]["outputs"], abs=3)
    assert run.chosen.values()["avg_response"] == pytest.approx(run.per_query[cheap]["avg_response"], rel=0.05)


def test_drifting_selectivities_are_learnt():
    net = ps.Network.chains([[(0.01, 0.9)], [(0.01, 0.1)]], rate=40.0)
    times = {"s": np.arange(4000) / 40.0}
    swapped = {net.operators[0].name: 0.1, net.operators[1].name: 0.9}
    run = ps.simulate(net, times, "hr", seed=5, drifts=[(50.0, swapped)])
    half = [sample.interval for sample in run.chosen.looks if sample.time <= 50]
    before, after = half[-1].queries, run.chosen.looks[-1].interval.queries
    first, second = (query.name for query in net.queries)
    assert before[first].count == pytest.approx(1800, abs=60)
    assert before[second].count == pytest.approx(200, abs=60)
    assert after[first].count - before[first].count == pytest.approx(200, abs=60)
    # what brings more goes first: in the second half that is the other query, once it was learnt
    mean = {name: after[name].response - before[name].response for name in (first, second)}
    gained = {name: after[name].count - before[name].count for name in (first, second)}
    assert mean[second] / gained[second] < mean[first] / gained[first]


def test_refused(four):
    net, times = four
    for drifts, message in (
        ([(1.0, {"x": 0.5})], "no operator 'x' to drift"),
        ([(1.0, {"q1.o1": -0.5})], "drifts to"),
        ([(-1.0, {"q1.o1": 0.5})], "the time of a drift"),
        ([(1.0, {"q1.o1": 2.0})], "cannot drift above 1"),
        ([5], "a drift is"),
        ([(5, [0.5])], "a drift is"),
    ):
        with pytest.raises(ps.NetworkError, match=message):
            ps.simulate(net, times, "fifo", drifts=drifts)
    with pytest.raises(ps.PolicyError, match="leave out"):
        ps.simulate(net, times, ps.Selection(), detail=True)
    for wrong, message in (
        ({"selector": "rulette"}, "Did you mean 'roulette'"),
        ({"candidates": ()}, "at least one candidate policy"),
        ({"candidates": ("fifo", "fifo")}, "twice"),
        ({"every": 0}, "at least 0.001"),
        ({"starvation": 0}, "above 0"),
        ({"goals": "minimize nothing 1"}, "no statistic 'nothing'"),
    ):
        with pytest.raises(ps.QosError, match=message):
            ps.Selection(**wrong)
    with pytest.raises(ps.PolicyError, match="no policy 'x'"):
        ps.Selection(candidates=("x",))
    with pytest.raises(ps.QosError, match="no query 'nosuch' to weigh"):
        ps.simulate(net, times, ps.Selection("latency, weigh nosuch 3"))
    for wrong in ({"shed": "no"}, {"shed": True, "setup_cost": 0.1}):
        with pytest.raises(ps.QosError):
            ps.simulate(net, times, "fifo", memory=100, **wrong)


def test_a_statistic_that_raises_is_told_and_the_run_goes_on(four):
    try:

        @ps.statistic("broken")
        def broken(reading):
            raise RuntimeError("no")

        goals = "minimize broken 0.5, minimize queue_memory 0.5"
        run = ps.simulate(*four, ps.Selection(goals, "roulette", P04), seed=5)
        assert [note for note in run.notes if "'broken' raised RuntimeError" in note]
        assert run.metrics["outputs"] == ps.simulate(*four, "fifo", seed=5).metrics["outputs"]
    finally:
        STATISTICS.pop("broken", None)


def test_drifts_go_on_after_the_last_arrival():
    net = ps.Network.chains([[(0.01, 1.0)]])
    run = ps.simulate(net, {"s": [0.0] * 1000}, "fifo", drifts=[(5.0, {net.operators[0].name: 0.0})])
    assert run.metrics["outputs"] == pytest.approx(500, abs=2)
