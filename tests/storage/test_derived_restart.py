"""Engines with derived streams that die and go on: rows with a number and without one are there."""

from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.runtime import file_admission, job_panes
from penstock.runtime.rows import written_segments
from penstock.runtime.rows.time_index import TimeIndexBuilder
from tests.oracle.derived_generator import derived_cases
from tests.runtime.test_derived_random import run
from tests.runtime.test_engine_random import POLICY
from tests.storage.test_engine_restart import Mortal


class MortalFromTheBeginning(Mortal):
    """Begins its derived streams before any row arrives, also after a death."""

    def keep(self, name: str) -> None:
        super().keep(name)
        self._commit()


def check(case, seed: int, policy: str) -> int:
    """Check a case; return how often the engine died."""
    random = Random(seed)
    small_blocks = partial(TimeIndexBuilder, random.choice([1, 3, 4096]))
    with (
        TemporaryDirectory() as folder,
        patch.object(file_admission, "TimeIndexBuilder", small_blocks),
        patch.object(job_panes, "MOST_CHUNKS", random.choice([1, 2, 8])),
        patch.object(written_segments, "RESIDENT_BYTES", random.choice([300, 64_000_000])),
        patch.object(written_segments, "SEGMENT_BYTES", 200),
    ):
        place = Path(folder) / "rows"
        place.mkdir()
        drive = MortalFromTheBeginning(case, random, policy, place)
        run(drive, case, random, (policy, seed))
    return drive.deaths


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=derived_cases(), seed=st.integers(0, 2**32), policy=POLICY)
def test_derived_streams_do_not_depend_on_deaths(case, seed, policy):
    check(case, seed, policy)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=derived_cases(max_rows=40, variants=2), seed=st.integers(0, 2**32), policy=POLICY)
def test_derived_streams_do_not_depend_on_deaths_tried_often(case, seed, policy):
    check(case, seed, policy)
