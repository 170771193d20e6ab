"""Durations and sizes, each exact and with its unit."""

import re

import pytest

from penstock.language.time_literals import is_time
from penstock.language.values import LARGEST, UNITS_US, duration, microseconds, size


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        ("5 s", 5_000_000),
        ("5s", 5_000_000),
        (" 5  Seconds ", 5_000_000),
        ("100 ms", 100_000),
        ("7 us", 7),
        ("1.5 min", 90_000_000),
        (".5 h", 1_800_000_000),
        ("2 D", 172_800_000_000),
        ("0.000001 s", 1),
        ("3", 3_000_000),
        (3, 3_000_000),
        (0.1, 100_000),
        (1e-6, 1),
        (0, 0),
    ],
)
def test_durations(value, micros):
    assert duration(value) == micros


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("5 parsecs", "'parsecs' is not a unit of time; use us, ms, s, min, h, d or their full names"),
        ("0.5 us", "0.5 us is not a whole number of microseconds"),
        (1e-7, "1e-07 s is not a whole number"),
        (0.1 + 0.2, "is not a whole number of microseconds"),
        ("-1 s", "-1 s is out of range"),
        (-1, "-1 s is out of range"),
        ("1000000000000 d", "is out of range"),
        ("five s", "'five s' is not a time such as '5 s'"),
        ("", "'' is not a time such as"),
        ("s", "'s' is not a time such as"),
        ("1/2 s", "'1/2' is not a number"),
        ("1_0 s", "'1_0' is not a number"),
        ("٣ s", "'٣' is not a number"),
        (True, "'True' is not a time such as"),
        (float("inf"), "'inf' is not a number"),
        ("9" * 100, "is not a number"),
    ],
)
def test_what_is_no_duration(value, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        duration(value)


def test_a_huge_exponent_costs_nothing():
    with pytest.raises(ValueError, match="is not a number"):
        microseconds("1e999999999", "s")
    with pytest.raises(ValueError, match="is out of range"):
        microseconds("1e999", "s")
    assert microseconds("1e12", "us") == 10**12 <= LARGEST


def test_every_unit_has_its_full_name_and_its_plural():
    assert {UNITS_US[f"{unit}S"] // UNITS_US[unit] for unit in ("SECOND", "MINUTE", "HOUR", "DAY")} == {1}


@pytest.mark.parametrize(
    ("value", "count"),
    [("512MB", 512_000_000), ("1 KiB", 1024), ("1.5 kb", 1500), ("7", 7), (7, 7), ("2GiB", 2**31), ("1b", 1)],
)
def test_sizes(value, count):
    assert size(value) == count


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("1 XB", "'XB' is not a unit of memory; use B, KB"),
        (0, "0 is not a number of bytes"),
        (-5, "-5 is not a number of bytes"),
        (1.5, "1.5 is not a number of bytes"),
        ("0.3 B", "'0.3 B' is not a number of bytes"),
        (True, "'True' is not a size such as '512MB'"),
        ("", "'' is not a size such as"),
        ("1e99999999", "is not a unit of memory"),
        (10**19, "is not a number of bytes"),
    ],
)
def test_what_is_no_size(value, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        size(value)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026", True),
        ("2026-2", True),
        ("2026-02-28", True),
        (" 2026-02-28 ", True),
        ("2026-02-28T1:2", True),
        ("2026-02-28 01:02:03.123456", True),
        ("2026-02-28 01:02:03Z", True),
        ("2026-02-28 01:02:03 +01:00", True),
        ("2026-02-28 01:02:03 Europe/Paris", True),
        ("2026-02-29", False),
        ("2026-13-01", False),
        ("2026-01-01 24:00:00", False),
        ("01:02:03", False),
        ("20260228", False),
        ("26-01-01", False),
        ("0000-01-01", False),
        ("today", False),
        ("", False),
    ],
)
def test_times_in_quotes(text, good):
    assert is_time(text) == good
