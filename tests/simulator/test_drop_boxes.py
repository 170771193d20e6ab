"""Drop boxes in the simulator: exact counts, what is predicted of them, and no flapping."""

import numpy as np
import pytest

import penstock as ps
from penstock import NetworkBuilder, Window
from penstock.shedding.controller import SheddingRules
from penstock.workloads import Phases, Poisson, population, until
from penstock.workloads.populations.population import scaled

BUSY_S, CALM_S = 100.0, 60.0


def joined():
    """Two streams of which one is more expensive, their pairs within two seconds, and more above."""
    build = NetworkBuilder()
    left, right = build.stream("left", rate=40), build.stream("right", rate=40)
    one = build.operator("one", left, cost=4.0, selectivity=0.5)
    other = build.operator("other", right, cost=1.0, selectivity=0.8)
    join = build.join("pairs", [one, other], cost=1.0, selectivity=0.05, windows=[Window("range", 2)] * 2)
    build.query("q", build.operator("top", join, cost=0.5))
    return scaled(build.build(), 3.0)


@pytest.fixture(scope="module", params=["chain", "join"])
def overloaded(request):
    """Three times what there is time for, then a fifth of that."""
    net = (
        joined()
        if request.param == "join"
        else population("bbdm03_four", load=3.0, arrivals=Poisson(40.0)).network
    )
    process = Phases(((Poisson(40.0), BUSY_S), (Poisson(8.0), CALM_S)), repeat=False)
    return net, {s: until(process, seed=3 + i, seconds=BUSY_S + CALM_S) for i, s in enumerate(net.stream_by_name)}


@pytest.fixture(scope="module")
def thinned(overloaded):
    return ps.simulate(*overloaded, "fifo", seed=2, memory=400, shed=True)


def test_counts_are_exact(overloaded, thinned):
    net, times = overloaded
    assert thinned.shed.offered == {name: len(some) for name, some in times.items()}
    last = ps.simulate(net, times, "fifo", seed=2, memory=400, shed=True)
    assert last.shed == thinned.shed  # the same for the same seed
    work = thinned.chosen.looks[-1].interval
    for stream in net.stream_by_name:
        (edge,) = net.out_edges[stream]
        served = work.operators[edge.target].taken + work.queues[str(edge)].tuples
        arrived = sum(time <= work.now for time in times[stream])
        missing = thinned.shed.offered[stream] - thinned.shed.dropped[stream] - served
        assert 0 <= missing <= len(times[stream]) - arrived + 1


def test_the_load_is_brought_down_and_the_rate_is_as_predicted(overloaded, thinned):
    net, _ = overloaded
    history = [keep for time, keep in thinned.shed.history if time < BUSY_S]
    assert history
    begun = thinned.shed.history[0][0]
    assert begun < 10
    samples = [sample.interval for sample in thinned.chosen.looks if begun + 20 < sample.time <= BUSY_S]
    rate = sum(each.results.count for each in samples) / sum(each.seconds for each in samples)
    times = [*(time for time, _ in thinned.shed.history if time < BUSY_S), BUSY_S]
    weights = np.diff(np.maximum(times, begun + 20))
    predicted = 0.0
    for keep, weight in zip(history, weights, strict=True):
        slower = net.measured(rates={each.name: float(each.rate) * keep[each.name] for each in net.streams})
        predicted += weight * float(slower.rates[net.queries[0].root])
    assert rate == pytest.approx(predicted / weights.sum(), rel=0.1)
    assert max(each.peak for each in samples) < 400


def test_back_to_none_without_flapping(thinned):
    assert len(thinned.shed.history) <= 12
    assert all(share == 1.0 for share in thinned.shed.history[-1][1].values())
    times = [time for time, _ in thinned.shed.history]
    assert min(np.diff(times)) >= SheddingRules().interval_s - 1e-9


def test_nothing_is_dropped_without_need():
    made = population("bbdm03_four", load=0.5, arrivals=Poisson(40.0))
    times = made.times(1, seconds=60)
    calm = ps.simulate(made.network, times, "chain", seed=2, memory=10_000, shed=True)
    assert calm.shed.dropped == {"s": 0}
    assert not calm.shed.history
    assert calm.metrics["outputs"] == ps.simulate(made.network, times, "chain", seed=2).metrics["outputs"]
    with pytest.raises(ps.QosError, match="needs a limit"):
        ps.simulate(made.network, times, "chain", shed=True)
