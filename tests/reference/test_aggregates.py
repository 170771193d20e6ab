"""Aggregates over windows: the compiled simulator against its plain reference, to the last bit."""

import numpy as np
import pytest

from penstock.policies import Exhaustive, Limited, QueueShare, policy_named
from penstock.simulator.simulate import simulate
from tests.reference.networks import aggregates
from tests.reference.test_agreement import VARIANTS, agree, weighed
from tests.reference.test_steered import POLICIES, Steered, steered

SEEING = [name for name in VARIANTS if not policy_named(name).clairvoyant]


@pytest.mark.parametrize("name", SEEING)
def test_every_policy(name):
    for seed in range(16):
        random = np.random.default_rng(seed)
        net, times = aggregates(random)
        agree(weighed(random, net) if seed % 4 == 3 else net, times, name, seed=seed)


@pytest.mark.parametrize("name", ["fifo", "hnr", "bsd", "round_robin", "chain", "segment", "threshold", "mtiq"])
@pytest.mark.parametrize("service", [Limited(3), Exhaustive(), QueueShare(0.5, 1)])
def test_services_and_set_up_cost(name, service):
    for seed in range(8):
        net, times = aggregates(np.random.default_rng(100 + seed))
        agree(net, times, name, seed=seed, service=service, setup_cost=seed / 8, memory=6.0)
        agree(net, times, f"{name}.plain()", seed=seed, service=service, setup_cost=0.5)


@pytest.mark.parametrize("name", ["bsd", "hnr", "bsd.clustered(2)", "fifo"])
def test_decisions_that_cost(name):
    for seed in range(8):
        net, times = aggregates(np.random.default_rng(200 + seed))
        agree(net, times, name, seed=seed, decision_cost=1 / 64)


def test_a_scan_chooses_alike():
    for seed in range(6):
        net, times = aggregates(np.random.default_rng(300 + seed))
        for name in SEEING[:12]:
            quick, scanned = (simulate(net, times, name, seed, by_scan=scan).metrics for scan in (False, True))
            assert quick == scanned


@pytest.mark.parametrize("seed", range(24))
def test_policies_that_change_on_the_way(seed):
    random = np.random.default_rng(400 + seed)
    net, times = aggregates(random)
    service = [Limited(1), Exhaustive(), QueueShare(0.5, 2)][seed % 3]
    starts = [-1.0, *sorted(random.choice(64, 5, replace=False) * 0.25)]
    turns = [(start, str(random.choice(POLICIES))) for start in starts]
    expected = Steered(net, times, policy_named("fifo"), seed, service=service).steer(turns)
    course, readings = steered(net, times, turns, seed, service)
    names = [query.name for query in net.queries]
    detail = course.close().detail()
    got = [(t, names[int(q)], int(n), r, h) for t, q, n, r, h in detail.departures]
    assert got == [tuple(departure) for departure in expected.departures]
    assert [start for start, _ in detail.runs.tolist()] == [start for start, _ in expected.runs]
    # what was counted: partial rows, and results of each close
    work = readings[-1].operators
    for name, panes in net.panes.items():
        made = work[name].made
        assert made <= work[name].taken
        for reader in panes.readers:
            assert work[reader].made <= work[reader].taken
            results = [each for each in expected.departures if net.query(each.query).root == reader]
            assert len(results) == work[reader].made * len(net.queries_at.get(reader, ()))
    held = sum(readings[-1].queues[str(edge)].memory for edge in net.edges)
    assert held == dict(expected.samples)[expected.samples[-1][0]]
