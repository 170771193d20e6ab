"""Bursty arrivals (JC03 §5.1): the mean, the burstiness, the flows inside, and the speed."""

import math
import time
from itertools import islice

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Bursty, hurst, index_of_dispersion, take, until


@pytest.mark.parametrize(
    "process",
    [Bursty(500), Bursty(500, flows=128), Bursty(300, on_alpha=1.8, off_alpha=1.8, mean_on=0.3, mean_off=0.1)],
)
def test_the_mean_of_many_runs_is_the_rate(process):
    counts = [len(until(process, seed, 30)) for seed in range(200)]
    error = np.std(counts) / math.sqrt(len(counts))
    assert abs(np.mean(counts) - 30 * process.rate) < 4 * error
    assert error < 0.02 * 30 * process.rate  # else the line above says nothing


def test_the_first_second_is_like_the_others():
    firsts = [len(until(Bursty(500), seed, 1)) for seed in range(300)]
    assert np.mean(firsts) == pytest.approx(500, rel=0.04)


def test_it_is_bursty_at_every_scale():
    times = until(Bursty(2000), 4, 400)
    dispersion = [index_of_dispersion(times, seconds) for seconds in (0.1, 1, 10)]
    assert dispersion[0] > 3
    assert dispersion[1] > 4 * dispersion[0]
    assert dispersion[2] > 3 * dispersion[1]
    assert 0.7 < hurst(times, 0.1) < 1


def test_more_flows_are_smoother():
    few, many = (index_of_dispersion(until(Bursty(500, flows=n), 1, 200), 1) for n in (4, 256))
    assert few > 5 * many


def test_one_flow_is_on_or_off():
    """Of a single fast flow the periods can be read from the gaps."""
    process = Bursty(2000, flows=1, mean_on=1, mean_off=2, on_alpha=1.9, off_alpha=1.9)
    assert process.peak == pytest.approx(6000)
    times = until(process, 1, 1500)
    gaps = np.diff(times)
    silent = gaps > 0.9 * process.off.scale
    assert gaps[silent].min() > process.off.scale
    assert gaps[~silent].max() < 0.01  # nothing between: e^−60 against a gap so long while ON
    assert gaps[~silent].mean() == pytest.approx(1 / 6000, rel=0.01)  # the rate while ON, whatever the share
    assert gaps[silent].sum() / times[-1] == pytest.approx(2 / 3, abs=0.06)
    on_periods = np.diff(times[np.flatnonzero(np.concatenate([[True], silent]))]) - gaps[silent]
    assert on_periods[1:].min() > 0.98 * process.on.scale


def test_long_silence_is_skipped():
    """A single flow starts OFF for more than a million seconds in 1 run of 35; nobody waits for it."""
    start = time.process_time()
    firsts = [take(Bursty(100, flows=1), seed, 1)[0] for seed in range(200)]
    assert max(firsts) > 1e6
    assert time.process_time() - start < 2


def test_a_million_arrivals_in_a_second_of_processor_time():
    take(Bursty(5000), 1, 10)
    start = time.process_time()
    take(Bursty(5000), 1, 1_000_000)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("process", [Bursty(5000), Bursty(5000, mean_on=0.01, mean_off=10), Bursty(1, flows=2000)])
def test_batches_and_stretches_are_bounded(process):
    sizes = [len(batch) for batch in islice(process.batches(2), 200)]
    assert min(sizes) > 0
    assert max(sizes) < 8 * 8192


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rate": 0}, "the rate of a bursty process must be above 0, not 0"),
        ({"flows": 0}, "the number of flows must be between 1 and 100000, not 0"),
        ({"flows": 1.5}, "the number of flows must be a whole number, not 1.5"),
        ({"flows": 10**9}, "the number of flows must be between 1 and 100000"),
        ({"on_alpha": 1}, "the alpha of ON periods must be above 1, not 1"),
        ({"off_alpha": 0.5}, "the alpha of OFF periods must be above 1, not 0.5"),
        ({"mean_on": 0}, "the mean of ON periods must be above 0, not 0"),
        ({"mean_off": None}, "the mean of OFF periods must be a number, not None"),
        ({"rate": 1e-9}, "are too few for a bursty process of 64 flows"),
        ({"mean_on": 1e-50, "mean_off": 1e-50}, "are too few for a bursty process"),
    ],
)
def test_errors(settings, says):
    with pytest.raises(ArrivalError) as caught:
        Bursty(**{"rate": 100, **settings})
    assert says in str(caught.value)
