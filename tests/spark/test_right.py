"""`run` on finite files writes what the oracle computes: every shape, every policy, chunks of several sizes."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import penstock.spark as ps
from penstock.policies import POLICIES
from penstock.runtime.rows.place_choice import PlaceChoice
from tests.oracle.generator import cases
from tests.oracle.oracle import difference, expected, expected_late, read_columns, read_rows
from tests.oracle.shapes import SHAPES


def assert_right(case, folder, spark, **options):
    """Run a case to its end and compare every query's rows and columns with the oracle."""
    script = case.write(folder)
    out = folder / "out"
    summary = ps.run(script, out=out, drain=True, spark=spark, **options).summary
    assert summary.failed == (), {name: summary.queries[name].reason for name in summary.failed}
    assert (summary.abandoned_rows, summary.waiting_rows) == (0, 0)
    for query in case.queries:
        got = read_rows(out, query.name)
        assert difference(expected(case, query.name), got) == "", (query.name, query.text())
        assert summary.queries[query.name].outputs == len(got)
        if not any("*" in expression for expression, _ in query.select):
            for name, found in zip(query.output_names(), read_columns(out, query.name), strict=True):
                assert name in (None, found)
    for stream in case.streams:
        assert summary.streams[stream.name].rows == len(stream.rows)
        assert summary.streams[stream.name].late == len(expected_late(case, stream.name))
    return summary


@pytest.mark.parametrize(
    "shape",
    [pytest.param(each, marks=pytest.mark.slow) if place % 4 else each for place, each in enumerate(SHAPES)],
)
def test_every_shape(shape, tmp_path, spark):
    assert_right(SHAPES[shape](1), tmp_path, spark)


QUICK = ("bsd", "chain")


@pytest.mark.parametrize(
    "policy", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in POLICIES]
)
def test_every_policy(policy, tmp_path, spark):
    """A script with everything in it: shared selections, lookups and joins, self-joins, ties, small batches."""
    assert_right(SHAPES["equal_timestamps"](2), tmp_path, spark, policy=policy, chunk_rows=60)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["chain", "segment", "hnr"])
def test_every_kind_of_unit_in_small_batches(policy, tmp_path, spark):
    """Operators, segments and paths with queues half-way up, several queries behind each."""
    assert_right(SHAPES["shared_prefix"](3), tmp_path, spark, policy=policy, chunk_rows=7, batch_rows=60)


@pytest.mark.parametrize(
    ("chunk_rows", "batch_rows"),
    [(13, 60), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1, 100), (1000, None)))],
)
@pytest.mark.parametrize("shape", ["out_of_step", pytest.param("lateness", marks=pytest.mark.slow)])
def test_several_chunk_sizes(shape, chunk_rows, batch_rows, tmp_path, spark):
    assert_right(SHAPES[shape](3), tmp_path, spark, chunk_rows=chunk_rows, batch_rows=batch_rows)


@pytest.mark.parametrize(
    "policy",
    [
        "bsd.every(3)",
        "hnr.level('operator')",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("hr.clustered(3)", "hnr.shared('sum')", "brt.by_age_and_length()")
        ),
    ],
)
def test_combined_policies(policy, tmp_path, spark):
    assert_right(SHAPES["mixed_windows"](5), tmp_path, spark, policy=policy)


RANDOM = {
    "case": cases(max_rows=30, combined=20_000),
    "policy": st.sampled_from(list(POLICIES)),
    "chunk_rows": st.sampled_from([1, 5, 50]),
    "rows": st.sampled_from(["resident", "stored", "mixed"]),
}
# Shrinking a failure on Spark takes longer than understanding it: `test_engine_random.py` shrinks.
ON_SPARK = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@ON_SPARK
@given(**RANDOM)
def test_random_scripts(case, policy, chunk_rows, rows, tmp_path_factory, spark):
    check_random(case, policy, chunk_rows, rows, tmp_path_factory.mktemp("random"), spark)


@pytest.mark.slow
@settings(ON_SPARK, max_examples=20)
@given(**RANDOM)
def test_more_random_scripts(case, policy, chunk_rows, rows, tmp_path_factory, spark):
    check_random(case, policy, chunk_rows, rows, tmp_path_factory.mktemp("random"), spark)


def check_random(case, policy, chunk_rows, rows, folder, spark):
    """Rows are in the driver, in files, or every other batch of them in files."""
    case = replace(case, settings={**case.settings, "rows": "auto" if rows == "mixed" else rows})
    places = cycle([True, False])
    mixed = patch.object(PlaceChoice, "stores", lambda *_, **__: next(places))
    with mixed if rows == "mixed" else nullcontext():
        assert_right(case, folder, spark, policy=policy, chunk_rows=chunk_rows)
