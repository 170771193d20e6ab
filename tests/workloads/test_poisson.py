"""Poisson arrivals: independent gaps, counts whose variance is their mean."""

import math

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Poisson, hurst, index_of_dispersion, take
from penstock.workloads.poisson import poisson_steps


def test_gaps_are_exponential():
    gaps = np.diff(take(Poisson(50), 1, 200_001)) * 50
    for at in (0.1, 0.5, 1, 2, 4):
        assert (gaps > at).mean() == pytest.approx(math.exp(-at), abs=0.005)


def test_gaps_are_independent_across_batches_too():
    gaps = np.diff(take(Poisson(50), 2, 200_001))
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.01


def test_it_is_not_bursty():
    times = take(Poisson(500), 3, 400_000)
    for seconds in (0.01, 0.1, 1):
        assert index_of_dispersion(times, seconds) == pytest.approx(1, abs=0.15)
    assert hurst(times, 0.1) == pytest.approx(0.5, abs=0.06)


def test_any_number_is_a_rate():
    assert Poisson(np.float32(2)) == Poisson(2)


def test_arrivals_follow_given_rates():
    knots, rates = np.array([1.0, 2.0, 4.0, 4.0, 5.0, 7.0]), np.array([100.0, 0.0, 500.0, 50.0, 0.0])
    rng = np.random.Generator(np.random.PCG64(2))
    times = np.concatenate([poisson_steps(rng, knots, rates) for _ in range(400)])
    counted = [((times >= start) & (times < end)).sum() for start, end in ((1, 2), (2, 4), (4, 5), (5, 7.1))]
    assert counted[1] == counted[3] == 0
    assert counted[0] / 400 == pytest.approx(100, rel=0.03)
    assert counted[2] / 400 == pytest.approx(50, rel=0.03)
    assert times[(times >= 1) & (times < 2)].mean() == pytest.approx(1.5, abs=0.01)


def test_no_arrivals_where_every_rate_is_zero():
    assert len(poisson_steps(np.random.Generator(np.random.PCG64(2)), np.array([0.0, 1.0]), np.array([0.0]))) == 0


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        (0, "rate of a Poisson process must be above 0, not 0"),
        (-3, "must be above 0, not -3"),
        (math.nan, "must be a finite number, not nan"),
        ("5", "must be a number, not '5'"),
        (True, "must be a number, not True"),
        (1e10, "must be at most 1e+09 per second, not 1e+10"),
    ],
)
def test_errors(rate, says):
    with pytest.raises(ArrivalError) as caught:
        Poisson(rate)
    assert says in str(caught.value)
