"""The landing folder of a Structured Streaming source, without Spark: no batch is overlooked at the end."""

import os
from types import SimpleNamespace

import pytest

from penstock.language import Script
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.files import FileSource
from penstock.spark.sources.structured import StructuredSource


@pytest.fixture
def ended(tmp_path):
    """A source whose stock query has ended, after a listing during which a batch was being written."""
    stream = Script.parse("CREATE STREAM s (v INT) FROM structured WITH (format = 'rate');").streams["s"]
    context = SourceContext(None, tmp_path, True, None, 100, 1000, tmp_path)
    (tmp_path / "batch=0").mkdir()
    os.utime(tmp_path, (1, 1))
    source = StructuredSource.__new__(StructuredSource)
    FileSource.__init__(source, stream, context, None, tmp_path)
    source._landing = tmp_path
    source._owns_landing = False
    source._query = SimpleNamespace(isActive=False, exception=lambda: None)
    source._list()
    assert not source._waiting
    return source


def test_a_batch_that_was_finished_after_the_last_listing_is_read(ended, tmp_path):
    (tmp_path / "batch=0" / "part.parquet").touch()
    (tmp_path / "batch=0" / "_SUCCESS").touch()
    assert not ended._at_end()
    assert [path.name for path in ended._waiting] == ["part.parquet"]


def test_without_one_the_stream_ends(ended):
    assert ended._at_end()
