"""Executors that do not reach the driver's files: rows pass the driver, or the run is refused with the reason."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from penstock.errors import RunError
from penstock.runtime import write_decision
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.spark import shared_files, write_results
from penstock.spark.sources import file_segments

SCRIPT = """CREATE STREAM s (v INT) FROM files WITH (path = '{0}', format = 'parquet');
CREATE QUERY q AS SELECT v FROM s WHERE v > 1;
SET rows = '{1}';"""


@pytest.fixture
def unreachable(tmp_path, monkeypatch):
    pq.write_table(pa.table({"v": pa.array([1, 2, 3], pa.int32())}), tmp_path / "a.parquet")
    monkeypatch.setattr(file_segments, "why_unreadable", lambda spark, path: "no such file")
    return tmp_path


def test_rows_that_must_be_stored_are_refused(unreachable, spark):
    with pytest.raises(RunError, match=r"stream s: executors cannot read .*a\.parquet: no such file"):
        ps.run(SCRIPT.format(unreachable, "stored"), drain=True, spark=spark)


def test_others_pass_through_the_driver(unreachable, spark, monkeypatch):
    monkeypatch.setattr("penstock.runtime.rows.place_choice.PlaceChoice.stores", lambda *_, **__: True)
    said, before = [], TRAFFIC.scans
    found = ps.run(SCRIPT.format(unreachable, "auto"), drain=True, spark=spark, on_event=said.append)
    assert found.results["q"].column("v").to_pylist() == [2, 3]
    assert TRAFFIC.scans == before
    assert [text for text in said if "pass through the driver" in text]


def test_a_file_is_tried_where_spark_is_not_local(tmp_path, spark, monkeypatch):
    monkeypatch.setattr(shared_files, "is_local", lambda spark: False)
    (tmp_path / "here").write_text("x")
    assert shared_files.why_unreadable(spark, tmp_path / "here") is None
    assert "PATH_NOT_FOUND" in shared_files.why_unreadable(spark, tmp_path / "gone")
    assert shared_files.can_write(spark, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


@pytest.mark.parametrize("more", ["", "CREATE QUERY r AS SELECT v FROM s WHERE v > 2;"])
def test_results_that_an_executor_wrote_elsewhere_end_the_run(more, tmp_path, spark, monkeypatch):
    """Of a query and of a group: nothing is published if the driver sees fewer rows than executors counted."""
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    monkeypatch.setattr(write_results, "is_local", lambda spark: False)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"v": pa.array(range(100), pa.int32())}), tmp_path / "in" / "a.parquet")
    iterdir = Path.iterdir

    def without_parts(folder):
        return [] if folder.name == "rows" else iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", without_parts)
    count = 195 if more else 98
    with pytest.raises(
        RunError, match=rf"^executors wrote {count} results to .* 0 of them are there: all machines"
    ):
        ps.run(SCRIPT.format(tmp_path / "in", "stored") + more, drain=True, spark=spark, out=tmp_path / "out")
    monkeypatch.undo()
    assert ps.read(tmp_path / "out", "q").num_rows == 0
