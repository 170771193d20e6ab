"""The measures of burstiness, on arrivals whose answer is known."""

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import hurst, index_of_dispersion
from penstock.workloads.burstiness import counts_of


def test_counts_by_hand():
    times = np.array([0.0, 0.4, 0.9, 2.0, 2.5, 3.99, 4.0])
    assert counts_of(times, 1).tolist() == [3, 0, 2, 1]  # the interval from 4 on is not whole
    assert index_of_dispersion(times, 1) == pytest.approx(np.var([3, 0, 2, 1], ddof=1) / 1.5)


def test_arrivals_in_tens_are_ten_times_as_dispersed():
    single = np.random.default_rng(1).exponential(0.01, 100_000).cumsum()
    assert index_of_dispersion(np.repeat(single, 10), 1) == pytest.approx(10 * index_of_dispersion(single, 1))


@pytest.mark.parametrize("wanted", [0.6, 0.75, 0.9])
def test_hurst_of_fractional_noise(wanted):
    """Counts made from fractional Gaussian noise of a known H, by its circulant covariance."""
    n = 2**15
    lag = np.arange(n + 1, dtype=float)
    power = 2 * wanted
    covariance = 0.5 * (np.abs(lag + 1) ** power - 2 * lag**power + np.abs(lag - 1) ** power)
    eigenvalues = np.fft.rfft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    rng = np.random.default_rng(5)
    spectrum = np.sqrt(eigenvalues * n) * (rng.normal(size=n + 1) + 1j * rng.normal(size=n + 1))
    noise = np.fft.irfft(spectrum)[:n]
    counts = np.maximum(0, np.round(200 + 30 * noise / noise.std())).astype(int)
    times = np.repeat(np.arange(n) + 0.5, counts)
    assert hurst(times, 1.0) == pytest.approx(wanted, abs=0.06)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: index_of_dispersion(np.array([]), 1), "there are no arrivals to count"),
        (lambda: index_of_dispersion(np.array([0.0, 1.5]), 1), "do not fill two intervals of 1 seconds"),
        (lambda: index_of_dispersion(np.array([0.0, 1.5]), 0), "length of an interval must be above 0, not 0"),
        (lambda: index_of_dispersion(np.array([0.0, 1e9]), 1e-6), "too short for arrivals over 1e+09 seconds"),
        (lambda: hurst(np.arange(50.0), 1), "fill 49 intervals of 1 seconds, but a Hurst parameter needs 128"),
        (lambda: hurst(np.arange(0.25, 1000, 0.5), 1), "perfectly even"),
    ],
)
def test_errors(build, says):
    with pytest.raises(ArrivalError) as caught:
        build()
    assert says in str(caught.value)
