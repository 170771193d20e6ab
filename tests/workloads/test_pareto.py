"""The Pareto distribution against its closed forms."""

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads.pareto import Pareto


def random(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


@pytest.mark.parametrize(("mean", "alpha"), [(1.0, 1.4), (2.0, 1.2), (0.5, 3.0)])
def test_the_tail_is_its_formula(mean, alpha):
    periods = Pareto(mean, alpha)
    drawn = periods.draw(random(), 400_000)
    scale = mean * (alpha - 1) / alpha
    assert drawn.min() == pytest.approx(scale, rel=1e-3)
    for times in (1.5, 3, 10, 50):
        expected = len(drawn) * times**-alpha
        assert (drawn > times * scale).sum() == pytest.approx(expected, abs=4 * expected**0.5)


def test_the_mean_where_it_settles():
    assert Pareto(2.0, 3.0).draw(random(), 400_000).mean() == pytest.approx(2.0, rel=0.01)


def test_the_mean_below_a_cap_where_it_does_not():
    """E[min(X, c)] = mean − scale^alpha · c^(1 − alpha) ÷ (alpha − 1), which is finite and settles."""
    periods = Pareto(2.0, 1.2)
    cap = 100.0
    closed = 2.0 - periods.scale**1.2 * cap**-0.2 / 0.2
    assert np.minimum(periods.draw(random(), 4_000_000), cap).mean() == pytest.approx(closed, rel=0.01)


@pytest.mark.parametrize(("mean", "alpha"), [(1.0, 1.4), (2.0, 1.2), (0.5, 3.0)])
def test_the_rest_is_what_an_observer_finds(mean, alpha):
    """Periods laid end to end, and the time to the end of the one that a random moment falls into."""
    periods = Pareto(mean, alpha)
    rest = periods.draw_rest(random(2), 400_000)
    for at in (0.2, 0.5, 1, 3, 30):
        x = at * periods.scale
        inside = 1 - x / mean  # ∫_x^∞ P(X > u) du ÷ mean, below the scale
        beyond = periods.scale / (mean * (alpha - 1)) * at ** (1 - alpha)
        assert (rest > x).mean() == pytest.approx(inside if at < 1 else beyond, abs=0.005)


def test_the_rest_by_laying_periods_end_to_end():
    periods = Pareto(0.5, 3.0)
    ends = periods.draw(random(3), 200_000).cumsum()
    moments = random(4).uniform(0, ends[-1], 200_000)
    found = ends[np.searchsorted(ends, moments)] - moments
    rest = periods.draw_rest(random(5), 200_000)
    assert np.quantile(rest, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(found, [0.1, 0.5, 0.9]), rel=0.03)


def test_the_heaviest_tail_stays_a_number():
    periods = Pareto(1.0, 1.0000001)
    assert periods.draw_rest(random(), 10_000).max() == pytest.approx(1e9)


def test_errors():
    with pytest.raises(ArrivalError, match="the alpha of OFF periods must be above 1, not 1"):
        Pareto(1, 1, "OFF")
    with pytest.raises(ArrivalError, match="the mean of ON periods must be above 0, not 0"):
        Pareto(0, 1.5, "ON")
