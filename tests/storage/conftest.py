"""Fixtures of the tests of states."""

from unittest.mock import patch

import pytest


@pytest.fixture(scope="module")
def no_flushes():
    """Files are not flushed: for tests that do not depend on it, and would spend most of their time there."""
    with patch("os.fsync", lambda file: None), patch("os.fdatasync", lambda file: None):
        yield
