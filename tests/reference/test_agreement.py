"""Every policy and combinator, on random networks: the same decisions, results and memory, to the last bit."""

import numpy as np
import pytest

from penstock.policies import POLICIES, Exhaustive, Limited, QueueShare, policy_named
from penstock.simulator.plain import Plain
from penstock.simulator.simulate import Adaptive, simulate
from tests.reference.networks import chains, network

ORACLES = [name for name, policy in POLICIES.items() if policy.clairvoyant]
VARIANTS = [
    *POLICIES,
    "hnr.level('operator')",
    "bsd.level('operator')",
    "fifo.level('operator')",
    "chain.level('query')",
    "segment.level('query')",
    "hr.every(3)",
    "bsd.every(2)",
    "round_robin.every(4)",
    "hnr.by_age_and_length()",
    "bsd.by_age_and_length()",
    "greedy.by_age_and_length()",
    "round_robin.by_age_and_length()",
    "bsd.clustered(2)",
    "bsd.clustered(3, 'uniform')",
    "bsd.clustered(2, together=False)",
    "hnr.clustered(2)",
    "hnr.shared('max')",
    "hnr.shared('sum')",
    "bsd.shared('max').level('operator')",
    "path_capacity.threshold(simplified_segment, memory=8)",
    "bsd.threshold(chain, memory=6)",
    "hr.threshold(segment, memory=5, shortest=1, longest=3)",
    "hr_oracle.level('operator')",
    "brt.oracle()",
    "greedy.oracle()",
    "hr.plain()",
]


def agree(net, times, policy, **settings):
    plain = {key: value for key, value in settings.items() if key != "adaptive"}
    if "adaptive" in settings:
        plain |= {"alpha": settings["adaptive"].alpha, "window": settings["adaptive"].window}
    policy = policy_named(policy)
    expected = Plain(net, times, policy, **plain).run()
    compiled = simulate(net, times, policy, detail=True, **settings)
    names = [query.name for query in net.queries]
    got = [(t, names[int(q)], int(n), r, h) for t, q, n, r, h in compiled.detail.departures]
    assert [start for start, _ in compiled.detail.runs] == [start for start, _ in expected.runs]
    assert got == [tuple(departure) for departure in expected.departures]
    assert dict(compiled.detail.memory.tolist()) == dict(expected.samples)
    assert compiled.decisions == len(expected.runs)
    assert compiled.seconds == expected.now - expected.start
    levels = list(dict(expected.samples).values())
    assert compiled.metrics["peak_memory"] == max(levels)
    assert compiled.metrics["outputs"] == len(expected.departures)
    if compiled.seconds:
        assert compiled.metrics["mean_memory"] == expected.area / compiled.seconds
    if expected.departures:
        for name in ("response", "slowdown"):
            values = np.array([getattr(departure, name) for departure in expected.departures])
            assert compiled.metrics[f"avg_{name}"] == pytest.approx(values.mean(), rel=1e-12)
            assert compiled.metrics[f"max_{name}"] == values.max()
            assert compiled.metrics[f"l2_{name}"] == pytest.approx(np.sqrt((values**2).sum()), rel=1e-12)
    return compiled


@pytest.mark.parametrize("name", VARIANTS)
def test_every_policy(name):
    for seed in range(12):
        random = np.random.default_rng(seed)
        joins = not policy_named(name).clairvoyant
        net, times = network(random, joins) if seed % 3 else chains(random, same=bool(seed % 2))
        agree(net, times, name, seed=seed)


def weighed(random, net):
    """Some queries count less, more, or not at all."""
    return net.weighed({query.name: float(random.choice([0, 0.3, 1, 1, 2, 5])) for query in net.queries})


@pytest.mark.parametrize("name", VARIANTS)
def test_every_policy_with_weights_of_queries(name):
    for seed in range(12):
        random = np.random.default_rng(seed)
        joins = not policy_named(name).clairvoyant
        net, times = network(random, joins) if seed % 3 else chains(random, same=bool(seed % 2))
        agree(weighed(random, net), times, name, seed=seed)


@pytest.mark.parametrize("name", ["fifo", "srpt", "hr", "hnr", "lsf", "bsd"])
def test_adaptive_statistics_with_weights_of_queries(name):
    for seed in range(6):
        random = np.random.default_rng(seed)
        net, times = chains(random)
        net = weighed(random, net)
        agree(net, times, name, seed=seed, adaptive=Adaptive(alpha=0.5, window=1 + seed % 3))


@pytest.mark.parametrize("name", VARIANTS)
def test_lanes_give_what_the_long_way_gives(name):
    """The kernel for lanes records no events, so it is held to the general one, bit by bit."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        net, times = chains(random, same=seed % 4 == 0)
        net = weighed(random, net) if seed % 2 else net
        short, long = (simulate(net, times, name, seed=seed, detail=detail) for detail in (False, True))
        assert short.metrics == long.metrics
        assert short.decisions == long.decisions
        assert np.array_equal(short.stats, long.stats)
        assert np.array_equal(short.bins, long.bins)


@pytest.mark.parametrize("name", ["fifo", "hnr", "bsd", "round_robin", "chain", "segment", "threshold", "mtiq"])
@pytest.mark.parametrize("service", [Limited(3), Exhaustive(), QueueShare(0.5, 1)])
def test_services_and_set_up_cost(name, service):
    for seed in range(4):
        net, times = network(np.random.default_rng(seed))
        agree(net, times, name, seed=seed, service=service, setup_cost=seed / 4, memory=6.0)
        agree(net, times, f"{name}.plain()", seed=seed, service=service, setup_cost=0.5)


@pytest.mark.parametrize("name", ["fifo", "hnr", "bsd", "greedy", "chain", "round_robin", "segment", "aurora"])
def test_blocking_joins(name):
    for seed in range(12):
        net, times = network(np.random.default_rng(seed))
        agree(net, times, name, seed=seed, blocking=True)


@pytest.mark.parametrize(
    "name", ["fifo", "srpt", "hr", "hnr", "lsf", "bsd", "hnr.level('operator')", "hr.every(3)"]
)
def test_adaptive_statistics(name):
    for seed in range(6):
        net, times = chains(np.random.default_rng(seed))
        agree(net, times, name, seed=seed, adaptive=Adaptive(alpha=0.5, window=1 + seed % 3))


@pytest.mark.parametrize("name", ["bsd", "hnr", "bsd.clustered(2)", "bsd.clustered(3, together=False)", "fifo"])
def test_decisions_that_cost(name):
    for seed in range(6):
        net, times = network(np.random.default_rng(seed))
        agree(net, times, name, seed=seed, decision_cost=1 / 64)


def test_a_scan_chooses_alike():
    for seed in range(6):
        random = np.random.default_rng(seed)
        net, times = network(random)
        net = weighed(random, net) if seed % 2 else net
        for name in VARIANTS[:16]:
            quick, scanned = (simulate(net, times, name, seed, by_scan=scan).metrics for scan in (False, True))
            assert quick == scanned


@pytest.mark.slow
def test_many_queries_with_ordinary_numbers():
    """No grid of numbers here: costs and times as they come, and many lines that cross."""
    random = np.random.default_rng(5)
    from penstock import Network

    net = Network.chains([[(c, s)] for c, s in zip(random.random(40) + 0.01, random.random(40), strict=True)])
    times = {"s": np.cumsum(random.exponential(15, size=60))}
    for name in ("bsd", "brt", "lsf", "fifo", "hnr", "srpt", "bsd.by_age_and_length()", "mtiq"):
        policy = policy_named(name)
        expected = Plain(net, times, policy, 5).run()
        compiled = simulate(net, times, policy, 5, detail=True)
        got = [(t, f"q{int(q) + 1}", int(n)) for t, q, n, _, _ in compiled.detail.departures]
        assert got == [tuple(departure)[:3] for departure in expected.departures]
        assert compiled.metrics == simulate(net, times, policy, 5).metrics
