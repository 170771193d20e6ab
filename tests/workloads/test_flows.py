"""Flows that begin as a Poisson process (BBDM03 §5), against the closed forms of the M/G/∞ queue."""

import math
import time
from itertools import islice

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Flows, hurst, index_of_dispersion, take, until
from penstock.workloads.flows import _levels


def dispersion(process, seconds):
    """1 + 2 r/t · ∫_0^t (t − u) P(rest of a flow > u) du, by adding up."""
    u = (np.arange(100_000) + 0.5) * seconds / 100_000
    k, alpha, mean = process.length.scale, process.alpha, process.mean_flow
    rest = np.where(u < k, 1 - u / mean, k / (mean * (alpha - 1)) * (u / k) ** (1 - alpha))
    return 1 + 2 * process.flow_rate / seconds * ((seconds - u) * rest).sum() * seconds / 100_000


def test_the_figures_by_hand():
    process = Flows(100, mean_flow=2, flow_rate=20, alpha=1.5)
    assert (process.at_once, process.begins) == (5, 2.5)  # 2.5 flows a second × 2 seconds × 20 = 100
    assert process.length.scale == pytest.approx(2 / 3)


@pytest.mark.parametrize("process", [Flows(100), Flows(300, mean_flow=0.2, alpha=1.9), Flows(50, flow_rate=100)])
def test_the_mean_of_many_runs_is_the_rate(process):
    counts = [len(until(process, seed, 30)) for seed in range(200)]
    error = np.std(counts) / math.sqrt(len(counts))
    assert abs(np.mean(counts) - 30 * process.rate) < 4 * error
    assert error < 0.1 * 30 * process.rate  # else the line above says nothing


def test_the_first_second_is_like_the_others():
    process = Flows(200)
    firsts = [len(until(process, seed, 1)) for seed in range(1500)]
    assert np.mean(firsts) == pytest.approx(200, rel=0.04)
    assert np.var(firsts) / np.mean(firsts) == pytest.approx(dispersion(process, 1), rel=0.15)


@pytest.mark.parametrize(
    ("process", "seconds"), [(Flows(500), 0.05), (Flows(500), 0.5), (Flows(500, flow_rate=1, alpha=3), 0.1)]
)
def test_dispersion_is_that_of_the_theory(process, seconds):
    found = np.mean([index_of_dispersion(until(process, seed, 300), seconds) for seed in range(4)])
    assert found == pytest.approx(dispersion(process, seconds), rel=0.12)


def test_it_is_self_similar_and_slow_flows_are_nearly_poisson():
    assert 0.65 < hurst(until(Flows(1000), 3, 800), 0.5) < 1
    assert index_of_dispersion(until(Flows(1000, flow_rate=0.1), 3, 200), 0.1) == pytest.approx(1, abs=0.1)


def test_flows_can_be_seen_one_by_one():
    """With few fast flows, what is sent between two silences is a flow, or several that overlap."""
    process = Flows(10, mean_flow=1, flow_rate=1000, alpha=1.9)
    times = until(process, 1, 3000)
    gaps = np.diff(times)
    silent = gaps > 0.03  # e^−30 within a flow
    assert gaps[~silent].mean() == pytest.approx(1 / 1000, rel=0.03)
    bursts = np.diff(times[np.flatnonzero(np.concatenate([[True], silent]))]) - gaps[silent]
    assert bursts[1:].min() > 0.97 * process.length.scale
    assert gaps[silent].mean() == pytest.approx(1 / process.begins, rel=0.6)  # 30 silences or so


def test_levels_against_counting_at_every_moment():
    rng = np.random.default_rng(5)
    begun, ends = rng.uniform(10, 20, 30), rng.uniform(10, 30, 8)
    ended = begun + rng.exponential(3, 30)
    knots, levels = _levels(10, 20, begun, ended, ends)
    for start, end, level in zip(knots[:-1], knots[1:], levels, strict=True):
        middle = (start + end) / 2
        assert level == (ends > middle).sum() + ((begun < middle) & (ended > middle)).sum()


def test_memory_is_bounded_and_silence_is_skipped():
    start = time.process_time()
    for process in (Flows(1, flow_rate=1e6), Flows(1e-6), Flows(5000), Flows(1e6, flow_rate=1000)):
        assert max(len(batch) for batch in islice(process.batches(2), 50)) <= 8 * 8192
    take(Flows(5000), 1, 300_000)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rate": 0}, "the rate of a process of flows must be above 0, not 0"),
        ({"mean_flow": -1}, "the mean of flow periods must be above 0, not -1"),
        ({"alpha": 1}, "the alpha of flow periods must be above 1, not 1"),
        ({"flow_rate": "fast"}, "the rate of one flow must be a number, not 'fast'"),
        ({"rate": 1e9}, "would be 5e+07 flows at once, but there can be at most 100000: raise flow_rate"),
        ({"mean_flow": 1e-9}, "would hardly send: raise mean_flow or flow_rate"),
    ],
)
def test_errors(settings, says):
    with pytest.raises(ArrivalError) as caught:
        Flows(**{"rate": 100, **settings})
    assert says in str(caught.value)
