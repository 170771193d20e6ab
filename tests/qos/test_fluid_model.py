"""The fluid model: worked by hand, rows conserved, what theory says of policies, a plain Python queue."""

from itertools import pairwise
from random import Random

import pytest

from penstock.network import Network
from penstock.policies import POLICIES, Limited
from penstock.qos import CANDIDATES
from penstock.qos.fluid_model import AdmittedFlow, FluidModel
from penstock.qos.fluid_queue import Flow
from penstock.qos.gatherer import Statistics
from penstock.qos.interval_statistics import merged
from penstock.qos.model_inputs import ModelInputs


def at(time, rows, stream="s"):
    return AdmittedFlow(stream, Flow.at(rows, time), time)


TWO = Network.chains([[(1.0, 1.0)], [(0.1, 0.5)]], stream=["a", "b"])
"""An expensive query that keeps everything, and a cheap one that keeps half."""


def test_two_queries_by_hand():
    r"""A job costs 1 s before its first row. Four rows at 0 for each query; fifo ties go to the lower number.

    fifo   0 ──── a: 1 + 4·1 ────► 5 ── b: 1 + 4·0.1 ──► 6.4
    hnr    0 ── b ──► 1.4 ──── a ────► 6.4
    """
    arrivals = [at(0.0, 4, "a"), at(0.0, 4, "b")]
    inputs = ModelInputs(TWO, setup_s=1.0, ideals={"q1": 2.0, "q2": 1.1}, row_bytes={"a": 10.0, "b": 10.0})
    fifo, hnr = (FluidModel(inputs, policy, 0.0).advance(10.0, arrivals) for policy in ("fifo", "hnr"))
    assert fifo.results.count == hnr.results.count == 4 + 2
    assert fifo.results.response == pytest.approx(4 * 5 + 2 * 6.4)
    assert hnr.results.response == pytest.approx(2 * 1.4 + 4 * 6.4)
    assert fifo.results.squared_response == pytest.approx(4 * 25 + 2 * 6.4**2)
    assert fifo.results.max_response == pytest.approx(6.4)
    assert fifo.results.slowdown == pytest.approx(4 * 5 / 2 + 2 * 6.4 / 1.1)
    assert fifo.results.max_slowdown == pytest.approx(6.4 / 1.1)
    assert fifo.memory == pytest.approx(40 * 5 / 10)  # a starts at once, and b waits 5 s
    assert hnr.memory == pytest.approx(40 * 1.4 / 10)
    assert fifo.peak == hnr.peak == 80
    assert (fifo.waiting, fifo.oldest) == (0, 0)


def test_a_job_that_runs_at_a_sample_is_finished_after_it():
    model = FluidModel(ModelInputs(TWO, setup_s=1.0), "fifo", 0.0)
    first = model.advance(2.0, [at(0.0, 4, "a"), at(1.0, 3, "b")])
    assert (first.results.count, first.waiting, first.oldest) == (0, 3, 1.0)
    assert (first.pending.count, first.pending.response, first.pending.max_response) == (1.5, 1.5, 1.0)
    second = model.advance(10.0, [])
    assert second.results.count == 4 + 1.5
    assert second.results.response == pytest.approx(4 * 5 + 1.5 * (6.3 - 1))


def test_samples_change_nothing():
    """Ten samples or one: the same results at the same times."""
    random = Random(3)
    arrivals = [at(time / 10, random.randrange(1, 30), random.choice("ab")) for time in range(100)]
    for policy in CANDIDATES:
        inputs = ModelInputs(TWO, setup_s=0.3, quantum_s=5.0)
        one, many = FluidModel(inputs, policy, 0.0), FluidModel(inputs, policy, 0.0)
        whole = one.advance(200.0, arrivals).results
        parts = [
            many.advance(20.0 * end, [each for each in arrivals if 20 * (end - 1) <= each.at < 20 * end]).results
            for end in range(1, 11)
        ]
        assert sum(part.count for part in parts) == pytest.approx(whole.count)
        assert sum(part.response for part in parts) == pytest.approx(whole.response)
        assert max(part.max_response for part in parts) == pytest.approx(whole.max_response)


@pytest.mark.parametrize("policy", [*POLICIES, "bsd.every(2)", "hnr.shared('sum')", "hr.clustered(3)"])
def test_rows_are_conserved(policy):
    """Every admitted row has made its results or waits in a queue: under every policy, in small batches."""
    net = Network.chains([[(0.01, 0.5), (0.02, 1.0)], [(0.03, 0.25)], [(0.01, 0.8), (0.01, 0.5), (0.04, 1.0)]])
    inputs = ModelInputs(net, setup_s=0.05, unit_s=0.01, service=Limited(7), quantum_s=0.3)
    model = FluidModel(inputs, policy, 0.0)
    arrivals = [at(i / 10, 10) for i in range(50)]
    early = model.advance(2.0, [each for each in arrivals if each.at <= 2.0])
    late = model.advance(500.0, [each for each in arrivals if each.at > 2.0])
    waits = {edge: queue.rows for edge, queue in model.queues.items()}
    assert all(rows < 1 for rows in waits.values()), "whole rows are worked off"
    made = early.results.count + late.results.count
    left = sum(rows * float(net.onward[net.suffixes[edge][0]].S) for edge, rows in waits.items())
    assert made + left == pytest.approx(500 * (0.5 + 0.25 + 0.4))


def test_the_shortest_first_have_the_least_response():
    """Under overload HR has a lower average response than FIFO, HNR the lowest average slowdown of the three."""
    random = Random(1)
    chains = [[(random.choice([0.01, 0.05, 0.2]), random.choice([0.1, 0.5, 1.0]))] for _ in range(8)]
    net = Network.chains(chains, stream=[f"s{i}" for i in range(8)])
    arrivals = [at(i / 20, 1, f"s{random.randrange(8)}") for i in range(600)]
    intervals = {}
    for policy in ("fifo", "hr", "hnr"):
        model = FluidModel(ModelInputs(net, setup_s=1e-6, service=Limited(1)), policy, 0.0)
        intervals[policy] = model.advance(10_000.0, arrivals).results
        assert intervals[policy].count == pytest.approx(intervals["fifo"].count)
    assert intervals["hr"].avg_response < 0.9 * intervals["fifo"].avg_response
    assert intervals["hnr"].avg_slowdown < 0.9 * intervals["fifo"].avg_slowdown
    assert intervals["hnr"].avg_slowdown <= intervals["hr"].avg_slowdown


def test_first_come_first_served_beside_a_plain_queue():
    """One query, batches of two: a loop over single rows gives the same responses."""
    random = Random(7)
    times = sorted(random.uniform(0, 20) for _ in range(40))
    free, ends = 0.0, []
    while len(ends) < len(times):
        begin = max(free, times[len(ends)])
        batch = [time for time in times[len(ends) : len(ends) + 2] if time <= begin]
        free = begin + 0.5 + 0.2 * len(batch)
        ends += [free] * len(batch)
    responses = [end - time for end, time in zip(ends, times, strict=True)]
    inputs = ModelInputs(Network.chains([[(0.2, 1.0)]]), setup_s=0.5, service=Limited(2))
    found = FluidModel(inputs, "fifo", 0.0).advance(100.0, [at(time, 1) for time in times]).results
    assert found.count == pytest.approx(40)
    assert found.max_response == pytest.approx(max(responses))
    # Rows of a long queue are merged; what each waited stays the same on average, but not its square
    assert found.response == pytest.approx(sum(responses), rel=0.02)


def test_rows_that_nobody_reads_are_let_go():
    found = FluidModel(ModelInputs(TWO, setup_s=1.0), "fifo", 0.0).advance(
        10.0, [at(0.0, 4, "c"), at(1.0, 4, "a")]
    )
    assert (found.results.count, found.waiting) == (4, 0)


def test_results_count_as_their_queries_weigh():
    arrivals = [at(0.0, 4, "a"), at(0.0, 4, "b")]
    found = FluidModel(ModelInputs(TWO, setup_s=1.0, weights={"q1": 3.0, "q2": 0.0}), "fifo", 0.0).advance(
        10.0, arrivals
    )
    assert (found.results.count, found.results.response) == (12, 60)
    assert found.results.max_response == 5


def test_more_in_flight_is_a_faster_machine_and_too_many_jobs_are_given_up():
    arrivals = [at(0.0, 4, "a")]
    assert (
        FluidModel(ModelInputs(TWO, setup_s=1.0, in_flight=2), "fifo", 0.0).advance(9.0, arrivals).results.response
        == 10
    )
    model = FluidModel(ModelInputs(TWO, setup_s=0.001, service=Limited(1)), "fifo", 0.0)
    assert model.advance(1.0, [at(0.0, 500, "b")], most_jobs=5) is None


def test_under_overload_a_policy_does_not_win_by_rows_it_leaves_waiting():
    """At a load of 1.35 chain's results come sooner than those of hnr, because it leaves far more rows waiting.

    With waiting rows counted, the order of policies is that after everything is served.
    """
    three = [(2, 0.9, 1), (4, 0.9, 8), (8, 0.1, 1), (8, 0.3, 4), (1, 0.9, 4), (1, 0.3, 4)]
    chains = [[(first, share), (last, 1)] for first, share, last in three]
    net = Network.chains([[(cost * 1e-5, share) for cost, share in each] for each in chains], rate=1000)
    scale = 1.35 / float(net.load)
    net = net.measured(costs={each.name: float(each.cost) * scale for each in net.operators})
    so_far, with_waiting, in_all = {}, {}, {}
    for policy in ("fifo", "hr", "hnr", "chain"):
        model = FluidModel(ModelInputs(net, setup_s=0.05, unit_s=0.02, quantum_s=0.5), policy, 0.0)
        seconds = [[at(second + place / 5, 200, "s") for place in range(5)] for second in range(60)]
        samples = [model.advance(second + 1.0, seconds[second]) for second in range(60)]
        so_far[policy] = merged(samples).results.avg_response
        with_waiting[policy] = Statistics().with_pending(merged(samples))["avg_response"]
        rest = [model.advance(60.0 + second, []) for second in range(1, 200)]
        assert rest[-1].waiting < len(net.edges)
        in_all[policy] = merged([*samples, *rest]).results.avg_response
    assert so_far["chain"] < so_far["hnr"] < so_far["fifo"]
    assert 2 * in_all["hnr"] < in_all["chain"]
    assert sorted(with_waiting, key=with_waiting.__getitem__) == sorted(in_all, key=in_all.__getitem__)


@pytest.mark.parametrize("policy", ["fifo", "hr", "hnr", "bsd", "lsf", "chain", "mtiq", "round_robin"])
def test_more_weight_never_makes_a_query_slower_in_a_model(policy):
    """Only q1 counts in the statistics; jobs have 100 rows, so that none is long."""
    net = Network.chains([[(8e-4, 0.5)], [(4e-4, 0.5)], [(4e-4, 1.0)]], rate=500)
    found = []
    for weight in (0.2, 1, 5, 25):
        inputs = ModelInputs(
            net.weighed({"q1": weight}), setup_s=0.01, service=Limited(100), weights={"q2": 0.0, "q3": 0.0}
        )
        model = FluidModel(inputs, policy, 0.0)
        arrivals = [at(place / 10, 50, "s") for place in range(200)]
        interval = model.advance(60.0, arrivals)
        found.append(interval.results.avg_response)
    assert all(more <= less * 1.02 for less, more in pairwise(found)), found
    assert found[-1] < found[0]
