"""Many ranges over the same column: found by bins, they are those that comparing with everybody finds."""

import math
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.language import Script
from penstock.language.statements import CONSTANTS, TableDef
from penstock.plan.plan import Plan
from penstock.plan.range_bins import BIN, LEAST_MEMBERS, Bins, binned
from penstock.plan.steps import Bound, Condition, Lookup
from tests.oracle.model import Case, FromItem, QuerySpec, StreamData
from tests.spark.test_right import assert_right

BETWEEN = Lookup(
    TableDef("group 1", (), CONSTANTS),
    "__0_",
    (
        Condition("s.v >= t.c0", frozenset({"v"}), bounds=(Bound("v", "c0", lower=True),)),
        Condition("s.v <= t.c1", frozenset({"v"}), bounds=(Bound("v", "c1", lower=False),)),
    ),
)


def constants(ranges):
    """The table of a group whose members want these ranges."""
    lows, highs = zip(*ranges, strict=True)
    return pa.table({"c0": pa.array(lows), "c1": pa.array(highs), "__q": range(len(ranges))})


def finite(most):
    return st.floats(-most, most, allow_nan=False)


@given(
    st.sampled_from([1.0, 1e-9, 1e15, 1e300]).flatmap(
        lambda scale: st.tuples(
            st.lists(st.tuples(finite(scale), finite(scale / 50)), min_size=LEAST_MEMBERS, max_size=60),
            st.lists(finite(2 * scale) | st.just(math.inf) | st.just(-math.inf), max_size=20),
        )
    )
)
def test_bins_find_what_comparing_with_everybody_finds(drawn):
    """Also at the very ends of ranges, and where a range ends before it begins."""
    ranges = [(low, low + length) for low, length in drawn[0]]
    values = [*drawn[1], *(end for each in ranges for end in each)]
    table, condition = binned(BETWEEN, constants(ranges))
    if condition == BETWEEN.condition:
        assert table.num_rows == len(ranges)
        return
    lines = table.to_pylist()
    bins = _bins_in(condition)
    for value, here in zip(values, bins.of(np.array(values)).tolist(), strict=True):
        found = [line["__q"] for line in lines if line[BIN] == here and line["c0"] <= value <= line["c1"]]
        assert sorted(found) == [n for n, (low, high) in enumerate(ranges) if low <= value <= high]


def _bins_in(condition):
    """The bins that a condition looks into."""
    inner = condition.split(" = ")[0].removeprefix("floor(least(greatest((CAST(s.`v` AS DOUBLE) - ")
    start, rest = inner.split("D) / ")
    width, rest = rest.split("D, 0D), ")
    return Bins(float(start), float(width), int(rest.removesuffix("D))")) + 1)


def test_a_thousand_narrow_ranges_are_a_few_comparisons():
    random = Random(1)
    ranges = [(low, low + 100) for low in random.choices(range(9_900), k=1000)]
    table, condition = binned(BETWEEN, constants(ranges))
    bins = _bins_in(condition)
    assert table.num_rows < 16_000
    assert table.num_rows / bins.count < 20  # of 1,000; 10 are in the range


@pytest.mark.parametrize(
    "ranges",
    [
        [(n, n + 1) for n in range(LEAST_MEMBERS - 1)],  # few
        [(n, 1000 + n) for n in range(100)],  # nearly all of them in every bin
        [(5, 5)] * 100,  # all the same
    ],
)
def test_where_bins_would_not_help_there_are_none(ranges):
    assert binned(BETWEEN, constants(ranges)) == (constants(ranges), BETWEEN.condition)


@pytest.mark.parametrize(
    ("where", "bounds"),
    [
        ("v >= {0} AND v < {1}", {("v", True), ("v", False)}),
        ("{0} < v AND {1} >= v", {("v", True), ("v", False)}),
        ("w BETWEEN {0} AND {1}", {("w", True), ("w", False)}),
        ("x > {0}.5 AND v < {1}", {("x", True), ("v", False)}),
        ("d <= {0}.25", {("d", False)}),
        ("w NOT BETWEEN {0} AND {1}", set()),
        ("f > {0} AND f < {1}", set()),  # beside a FLOAT Spark rounds the other number
        ("v + 1 > {0} AND name > '{1}'", set()),
        ("v > {0} OR v < {1}", set()),
    ],
)
def test_which_conditions_are_ranges(where, bounds):
    script = Script.parse(
        "CREATE STREAM s (v INT, w BIGINT, x DOUBLE, f FLOAT, d DECIMAL(9,2), name STRING) "
        "FROM poisson WITH (rate = 10);"
        + "".join(f"CREATE QUERY q{n} AS SELECT v FROM s WHERE {where.format(n, n + 9)};" for n in (1, 2))
    )
    [lookup] = [step for step in Plan.of(script).steps.values() if isinstance(step, Lookup)]
    found = [bound for condition in lookup.conditions for bound in condition.bounds]
    assert {(bound.column, bound.lower) for bound in found} == bounds


def test_bins_are_the_same_to_spark(spark):
    values = [0.0, -0.0, 0.1, 9.999999, 10.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, 2.0**53, -7.25]
    whole = [-(2**63), -1, 0, 3, 2**63 - 1]
    numbers = spark.createDataFrame(
        [(value, None) for value in values] + [(None, n) for n in whole], "x DOUBLE, n BIGINT"
    )
    for bins in (Bins(-3.7, 0.013, 1024), Bins(0.0, 1e-300, 16), Bins(-1e18, 7e15, 256)):
        got = numbers.selectExpr(bins.sql("x"), bins.sql("n")).collect()
        assert [row[0] for row in got[: len(values)]] == bins.of(np.array(values)).tolist()
        assert [row[1] for row in got[len(values) :]] == bins.of(np.array(whole, dtype=float)).tolist()
    not_a_number = Bins(0.0, 1.0, 16).sql("double('NaN')")
    assert spark.sql(f"SELECT {not_a_number}").collect()[0][0] == 15


def test_ranges_of_all_kinds_of_numbers(tmp_path, spark):
    """Beside the oracle, with NULL, NaN, infinities and the largest numbers among the rows and the constants."""
    random = Random(3)
    small = [None, -5, 0, 2**31 - 1, *range(-40, 120, 3)]
    large = [None, -(2**63), 2**63 - 1, *(n * 10**16 for n in range(-40, 120, 3))]
    real = [None, math.nan, math.inf, -math.inf, 0.1, 1e300, *(n / 4 for n in range(-40, 120))]
    rows = [(random.choice(small), random.choice(large), random.choice(real)) for _ in range(300)]
    stream = StreamData("a", [("v", "INT"), ("w", "BIGINT"), ("x", "DOUBLE")], rows, format="parquet")
    wheres = [
        *(f"v >= {n} AND v < {n + 7}" for n in range(-20, 60)),
        f"v >= 0 AND v < {2**31 - 1}",
        *(f"w BETWEEN {n}0000000000000001 AND {n + 2}0000000000000000" for n in range(1, 60)),
        *(f"x > {n}.25 AND {n + 3}.5 >= x AND v <> {n % 5}" for n in range(50)),
        *(f"x > {n / 10}e0 AND x < {n + 1}e0" for n in range(1, 40)),
    ]
    queries = [
        QuerySpec(f"q{n}", [("x", None), ("w", "v"), ("v", "w"), ("v", "again")], [FromItem("a")], where)
        for n, where in enumerate(wheres)
    ]
    summary = assert_right(Case([stream], [], queries), tmp_path, spark, chunk_rows=110)
    assert sum(query.outputs for query in summary.queries.values()) > 1000
