"""A short form of `python -m tests.storage.killed`."""

import pytest

from tests.storage import killed


@pytest.mark.slow
def test_five_kills_lose_and_double_nothing():
    assert killed.main(["--times", "5", "--seed", "1", "--files", "20", "--no-plain"]) == 0
