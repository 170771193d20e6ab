"""Aggregates on Spark equal the second oracle's: every function, random scripts, groups of fifty."""

from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock.spark as ps
from penstock.policies import POLICIES
from penstock.runtime import job_panes
from penstock.spark import aggregation
from tests.oracle.aggregate_generator import aggregate_cases, groups_of_50
from tests.oracle.aggregate_model import AggregateSpec
from tests.oracle.aggregates import difference, expected_aggregates
from tests.oracle.oracle import expected
from tests.oracle.results import read_rows
from tests.runtime.duck_aggregates import any_blocks
from tests.spark.test_right import ON_SPARK


def assert_right(case, folder, spark, **options):
    """Run a case to its end and compare the rows of every query with the oracle."""
    script = case.write(folder)
    out = folder / "out"
    summary = ps.run(script, out=out, drain=True, spark=spark, **options).summary
    assert summary.failed == (), {name: summary.queries[name].reason for name in summary.failed}
    assert (summary.abandoned_rows, summary.waiting_rows) == (0, 0)
    for query in case.queries:
        wanted = (expected_aggregates if isinstance(query, AggregateSpec) else expected)(case, query.name)
        got = read_rows(out, query.name)
        assert difference(wanted, got) == "", (query.name, query.text())
        assert summary.queries[query.name].outputs == len(got)
    return summary


RANDOM = {
    "case": aggregate_cases(max_rows=40),
    "policy": st.sampled_from(list(POLICIES)),
    "chunk_rows": st.sampled_from([1, 5, 50]),
    "rows": st.sampled_from(["resident", "stored", "auto"]),
    "in_flight": st.sampled_from([1, 2]),
}


@ON_SPARK
@given(**RANDOM)
def test_random_aggregates(case, policy, chunk_rows, rows, in_flight, tmp_path_factory, spark):
    check_random(case, policy, chunk_rows, rows, in_flight, tmp_path_factory.mktemp("random"), spark)


@pytest.mark.slow
@settings(ON_SPARK, max_examples=30)
@given(**RANDOM)
def test_more_random_aggregates(case, policy, chunk_rows, rows, in_flight, tmp_path_factory, spark):
    check_random(case, policy, chunk_rows, rows, in_flight, tmp_path_factory.mktemp("random"), spark)


def check_random(case, policy, chunk_rows, rows, in_flight, folder, spark):
    case = replace(case, settings={**case.settings, "rows": rows, "in_flight": in_flight})
    small = 0 if rows == "stored" else 64_000_000
    with (
        patch.object(job_panes, "RESIDENT_BYTES", small),
        patch.object(job_panes, "SEGMENT_BYTES", small),
        patch.object(aggregation, "SINGLE_ROWS", 100_000 if in_flight == 1 else 5),
        any_blocks(Random(chunk_rows)),
    ):
        assert_right(case, folder, spark, policy=policy, chunk_rows=chunk_rows)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.slow) if seed else seed for seed in range(6)]
)
def test_fifty_queries_of_one_shape(seed, tmp_path, spark):
    with any_blocks(Random(seed)):
        assert_right(groups_of_50(seed), tmp_path, spark, chunk_rows=40)
