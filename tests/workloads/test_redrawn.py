"""Redrawn means (P04 §6.1): the means themselves, where periods begin, and the dispersion they give."""

from itertools import islice

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Poisson, Redrawn, hurst, index_of_dispersion, until


def test_the_figures_by_hand():
    assert Redrawn(150).steady == 100  # half the time at 100, half at 200
    assert Redrawn(130, share=0.1, burst=4).steady == pytest.approx(100)


def test_means_are_steady_or_bursty():
    process = Redrawn(150, spread=0.1)
    means = process.means(np.random.default_rng(1), 40_000)
    bursty = means > 150
    assert bursty.mean() == pytest.approx(0.5, abs=0.01)
    assert (means[~bursty].min(), means[~bursty].max()) == pytest.approx((90, 110), rel=0.001)
    assert (means[bursty].min(), means[bursty].max()) == pytest.approx((180, 220), rel=0.001)
    assert means.mean() == pytest.approx(150, rel=0.01)


@pytest.mark.parametrize("rate", [40, 20_000])  # several periods in a batch, several batches in a period
def test_every_period_has_its_own_mean(rate):
    process = Redrawn(rate, spread=0, every=2)
    counts = np.bincount((until(process, 3, 100) / 2).astype(int), minlength=50) / (2 * process.steady)
    tolerance = 6 / np.sqrt(2 * process.steady)
    assert (np.minimum(abs(counts - 1), abs(counts - 2)) < tolerance).all()
    assert 10 < (counts > 1.5).sum() < 40


def test_dispersion_is_that_of_the_theory():
    """The count of a period has variance rate·t + Var(mean)·t²."""
    process = Redrawn(150, spread=0.3)
    second = 100**2 * (1 + 0.3**2 / 3) * (1 + 0.5 * (2**2 - 1))
    expected = 1 + 5 * (second - 150**2) / 150
    counts = np.bincount((until(process, 4, 20_000) / 5).astype(int), minlength=4000)
    assert counts.var() / counts.mean() == pytest.approx(expected, rel=0.05)


def test_beyond_a_few_periods_it_is_not_self_similar():
    assert hurst(until(Redrawn(100), 2, 40_000), 10) == pytest.approx(0.5, abs=0.08)


def test_without_bursts_or_spread_it_is_poisson():
    times = until(Redrawn(500, share=0, spread=0), 3, 500)
    for seconds in (0.1, 1):
        assert index_of_dispersion(times, seconds) == pytest.approx(1, abs=0.15)
    assert len(times) == pytest.approx(len(until(Poisson(500), 3, 500)), rel=0.01)


def test_a_rare_great_burst_does_not_make_a_great_batch():
    process = Redrawn(100, every=0.01, burst=1000, share=0.001)
    assert max(len(batch) for batch in islice(process.batches(2), 300)) <= 8 * 8192


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"rate": -1}, "the rate of a redrawn process must be above 0, not -1"),
        ({"every": 0}, "the time between redrawn means must be above 0, not 0"),
        ({"burst": 0.5}, "the burst of a redrawn process must be at least 1, not 0.5"),
        ({"share": 1.5}, "the share of a redrawn process must be at most 1, not 1.5"),
        ({"spread": "x"}, "the spread of a redrawn process must be a number, not 'x'"),
        ({"rate": 1e-9}, "too few for means redrawn every 5 seconds"),
    ],
)
def test_errors(settings, says):
    with pytest.raises(ArrivalError) as caught:
        Redrawn(**{"rate": 100, **settings})
    assert says in str(caught.value)
