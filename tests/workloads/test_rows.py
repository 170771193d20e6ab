"""Random rows: ranges, distributions, types, options, speed."""

import time
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import made_rows, row_options


def rng(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


def column(kind, count=20_000, **options):
    return made_rows([("x", kind)], count, rng(), {f"x_{key}": value for key, value in options.items()})["x"]


def ends(values):
    listed = values.to_pylist()
    return min(listed), max(listed)


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (pa.int32(), {}, (0, 1499)),
        (pa.int64(), {"low": 10, "high": 12}, (10, 12)),
        (pa.int64(), {"low": -5, "high": -5}, (-5, -5)),
        (pa.int8(), {}, (0, 127)),
        (pa.uint8(), {}, (0, 255)),
        (pa.int16(), {"low": -3, "high": 3}, (-3, 3)),
        (pa.int64(), {"high": 4.0}, (0, 4)),
        (pa.timestamp("us"), {}, (datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 24, 59))),
        (pa.date32(), {"high": 3 * 86_400 - 1}, (date(1970, 1, 1), date(1970, 1, 3))),
        (pa.date64(), {"low": -86_400, "high": 86_399}, (date(1969, 12, 31), date(1970, 1, 1))),
        (pa.decimal128(3, 2), {"high": 1}, (Decimal("0.00"), Decimal("1.00"))),
        (pa.decimal128(3, 2), {"low": -0.5, "high": 0.25}, (Decimal("-0.50"), Decimal("0.25"))),
        (pa.decimal128(2, 2), {}, (Decimal("0.00"), Decimal("0.99"))),
        (pa.decimal128(4, 0), {}, (Decimal(0), Decimal(1499))),
    ],
)
def test_ranges_are_reached_and_kept(kind, options, expected):
    values = column(kind, **options)
    assert values.type == kind
    assert ends(values) == expected
    assert values.null_count == 0


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_floats(kind):
    values = column(kind, 100_000)
    assert values.type == kind
    low, high = ends(values)
    assert (low >= 0) & (high < 1)
    assert np.asarray(values, dtype=float).mean() == pytest.approx(0.5, abs=0.01)
    low, high = ends(column(kind, low=-2, high=6))
    assert (-2 <= low < -1.9) & (5.9 < high < 6)


def test_integers_are_uniform():
    counted = np.bincount(np.asarray(column(pa.int32(), 100_000, low=0, high=9)))
    assert counted == pytest.approx(np.full(10, 10_000), rel=0.05)


def test_all_of_64_bits():
    values = np.asarray(column(pa.int64(), low=-(2**63), high=2**63 - 1), dtype=float)
    assert (values.min() < -9.2e18) & (values.max() > 9.2e18)
    assert abs(values.mean()) < 2e17


def test_strings():
    values = column(pa.string(), 50_000)
    assert set(values.to_pylist()) == {f"x{k}" for k in range(100)}
    assert np.bincount([int(value[1:]) for value in values.to_pylist()]) == pytest.approx(
        np.full(100, 500), rel=0.25
    )
    assert set(column(pa.string(), distinct=3).to_pylist()) == {"x0", "x1", "x2"}
    assert len(set(column(pa.string(), 1000, distinct=10**12).to_pylist())) == 1000
    assert set(column(pa.binary(), distinct=2).to_pylist()) == {b"x0", b"x1"}
    assert column(pa.large_string()).type == pa.large_string()


def test_booleans_are_fair():
    assert pc.sum(column(pa.bool_())).as_py() == pytest.approx(10_000, rel=0.05)


@pytest.mark.parametrize("exponent", [1.1, 2.0])
def test_zipf(exponent):
    weights = np.arange(1, 51.0) ** -exponent
    expected = 100_000 * weights / weights.sum()
    numbers = np.asarray(column(pa.int64(), 100_000, low=7, high=56, zipf=exponent))
    assert np.bincount(numbers - 7, minlength=50)[:10] == pytest.approx(expected[:10], rel=0.15)
    assert numbers.max() <= 56
    strings = column(pa.string(), 100_000, distinct=50, zipf=exponent).to_pylist()
    assert [strings.count(f"x{k}") for k in range(3)] == pytest.approx(expected[:3], rel=0.05)


def test_decimals_of_many_digits():
    values = column(pa.decimal128(38, 30), 100).to_pylist()
    assert len(set(values)) == 100
    assert all(0 <= value <= 1499 for value in values)
    negative = column(pa.decimal128(20, 4), low=-7, high=-6).to_pylist()
    assert all(-7 <= value <= -6 for value in negative)


def test_same_seed_same_rows():
    columns = [("a", pa.string()), ("b", pa.int32()), ("c", pa.float64()), ("d", pa.bool_())]
    one, same, other = (made_rows(columns, 500, rng(seed), {}) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
    assert one.schema.names == ["a", "b", "c", "d"]
    assert len(made_rows(columns, 0, rng(), {})) == 0


def test_fast_enough_for_a_source():
    columns = [("src", pa.string()), ("dst", pa.string()), ("bytes", pa.int32()), ("load", pa.float64())]
    made_rows(columns, 10, rng(), {})
    start = time.process_time()
    for _ in range(5):
        made_rows(columns, 100_000, rng(), {})
    assert time.process_time() - start < 0.5


def test_options_of_others_are_not_looked_at():
    columns = [("x", pa.int32()), ("x_low", pa.int32())]
    made = made_rows(columns, 1000, rng(), {"rate": "nonsense", "y_low": "z", "x_low": 1490, "x_low_high": 3})
    assert ends(made["x"]) == (1490, 1499)
    assert ends(made["x_low"]) == (0, 3)


def test_option_names():
    columns = [("s", pa.string()), ("f", pa.float32()), ("t", pa.timestamp("us")), ("n", pa.decimal128(5, 2))]
    assert row_options(columns) == {
        *("s_distinct", "s_zipf", "f_low", "f_high"),
        *("t_low", "t_high", "t_zipf", "n_low", "n_high"),
    }


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        (pa.int32(), {"low": 2000}, "go from 2000 to 1499, which is lower: set x_low and x_high"),
        (pa.int8(), {"high": 300}, "x_high must be between -128 and 127, not 300"),
        (pa.uint16(), {"low": -1}, "x_low must be between 0 and 65535, not -1"),
        (pa.int32(), {"low": 1.5}, "x_low must be a whole number, not 1.5"),
        (pa.int32(), {"low": "a"}, "x_low must be a number, not 'a'"),
        (pa.int32(), {"zipf": 1}, "x_zipf must be above 1, not 1"),
        (pa.int64(), {"zipf": 2, "high": 10**9}, "can have at most 1000000 values, not 1000000001"),
        (pa.string(), {"distinct": 0}, "x_distinct must be between 1 and"),
        (pa.float32(), {"high": 1e60}, "is out of range for float, the type of column 'x'"),
        (pa.float64(), {"low": 2}, "go from 2.0 to 1.0"),
        (pa.decimal128(4, 2), {"high": 100}, "is out of range for decimal128(4, 2)"),
        (pa.timestamp("ns"), {"high": 10**12}, "x_high must be between"),
        (pa.list_(pa.int32()), {}, "values of type list<item: int32> cannot be made for the column 'x'"),
    ],
)
def test_errors(kind, options, says):
    with pytest.raises(ArrivalError) as caught:
        column(kind, **options)
    assert says in str(caught.value)


def test_errors_of_tables():
    with pytest.raises(ArrivalError, match="the column 'x' occurs twice"):
        made_rows([("x", pa.int32()), ("x", pa.string())], 1, rng(), {})
    with pytest.raises(ArrivalError, match="number of rows to make must be between 0"):
        made_rows([("x", pa.int32())], -1, rng(), {})
