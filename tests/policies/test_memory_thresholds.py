"""Threshold mode (JC03 §3.4): formula (3.3), no oscillation, and when to shed."""

import math
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from penstock.policies import Thresholds

memory = st.floats(1, 1e9)
share = st.floats(0, 1)


@given(memory, share, st.floats(0.51, 0.99))
def test_thresholds_by_formula(m, mean_share, beta):
    mean = mean_share * m
    t_max, t_min = Thresholds(m, beta).limits(mean)
    assert t_max == min((1 + mean / m) / 2 * m, beta * m)
    assert t_min == min(mean, beta * t_max)
    assert t_min <= t_max < m


@given(memory, share, share)
def test_a_mode_holds_between_the_thresholds(m, mean_share, used_share):
    limits, mean, used = Thresholds(m), mean_share * m, used_share * m
    t_max, t_min = limits.limits(mean)
    assert limits.next_mode("normal", used, mean) == ("saving" if used >= t_max else "normal")
    assert limits.next_mode("saving", used, mean) == ("normal" if used <= t_min else "saving")


@given(memory, share, share)
def test_the_interval_shortens_as_memory_fills(m, one, other):
    less, more = sorted((one * m, other * m))
    limits = Thresholds(m, shortest=1, longest=60)
    assert limits.interval(more) <= limits.interval(less)
    assert limits.interval(m) == 1
    assert limits.interval(0) == 60


def test_without_a_limit_memory_is_never_short():
    limits = Thresholds(shortest=1, longest=60)
    assert limits.next_mode("normal", 1e12, 1e12) == "normal"
    assert limits.interval(1e12) == 60
    assert not limits.must_shed("saving", 1e12)
    assert limits.limits(5) == (math.inf, math.inf)


def test_any_number_will_do():
    limits = Thresholds(Decimal(10), Decimal("0.8"), shortest=Decimal(1), longest=Decimal(4))
    assert (limits.interval(2.5), limits.limits(2.5)[0]) == (3.0, 6.25)


def test_shedding_begins_when_saving_is_not_enough():
    limits = Thresholds(100)
    assert limits.must_shed("saving", 100)
    assert not limits.must_shed("normal", 100)
    assert not limits.must_shed("saving", 99)
