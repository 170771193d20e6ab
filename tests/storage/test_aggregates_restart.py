"""Engines with aggregates that die and go on: panes, windows that closed and wait, and counted rows are there."""

from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime import file_admission, job_panes
from penstock.runtime.rows.time_index import TimeIndexBuilder
from tests.oracle.aggregate_generator import aggregate_cases, groups_of_50
from tests.runtime.duck_aggregates import any_blocks
from tests.runtime.test_aggregates_random import run
from tests.runtime.test_engine_random import POLICY
from tests.storage.test_engine_restart import Mortal


def check(case, seed: int, policy: str) -> int:
    """Check a case; return how often the engine died."""
    random = Random(seed)
    small_blocks = partial(TimeIndexBuilder, random.choice([1, 3, 4096]))
    with (
        TemporaryDirectory() as folder,
        any_blocks(Random(seed)),
        patch.object(file_admission, "TimeIndexBuilder", small_blocks),
        patch.object(job_panes, "MOST_CHUNKS", random.choice([1, 2, 8])),
        patch.object(job_panes, "RESIDENT_BYTES", random.choice([0, 500, 64_000_000])),
        patch.object(job_panes, "SEGMENT_BYTES", 200),
    ):
        place = Path(folder) / "rows"
        place.mkdir()
        drive = Mortal(case, random, policy, place)
        run(drive, case, random, (policy, seed))
    return drive.deaths


@settings(max_examples=15, deadline=None)
@given(case=aggregate_cases(max_rows=25), seed=st.integers(0, 2**32), policy=POLICY)
def test_aggregates_do_not_depend_on_deaths(case, seed, policy):
    check(case, seed, policy)


def test_groups_of_fifty_go_on():
    assert sum(check(groups_of_50(seed, 80), seed, "hnr") for seed in range(3)) > 3


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(case=aggregate_cases(max_rows=40, variants=2), seed=st.integers(0, 2**32), policy=POLICY)
def test_aggregates_do_not_depend_on_deaths_tried_often(case, seed, policy):
    check(case, seed, policy)
