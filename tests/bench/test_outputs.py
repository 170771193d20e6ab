import json
import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.bench.stock import outputs
from penstock.bench.stock.outputs import (
    between,
    fan_out,
    grouped,
    manifests,
    one_each,
    penstock,
    responses_since,
    totals,
)


def written(file, at, **columns):
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file)
    os.utime(file, (at, at))


def manifest(folder, name, at, *files):
    place = folder / "_spark_metadata" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"path": f"file://{folder}/{file}", "action": "add"}) for file in files]
    place.write_text("\n".join(["v1", *lines]))
    os.utime(place, (at, at))


def test_a_file_counts_from_the_first_manifest_that_lists_it(tmp_path):
    manifest(tmp_path, "8", 100, "a.parquet")
    manifest(tmp_path, "9.compact", 110, "a.parquet", "b.parquet")
    manifest(tmp_path, "10", 120, "c%20d.parquet")
    assert manifests(tmp_path) == {"a.parquet": 100, "b.parquet": 110, "c d.parquet": 120}


def test_a_manifest_that_is_being_written_does_not_count(tmp_path):
    manifest(tmp_path, "0", 100, "a.parquet")
    manifest(tmp_path, ".1.tmp", 110, "b.parquet")
    assert manifests(tmp_path) == {"a.parquet": 100}


def test_results_of_one_query_each_count_from_the_manifest_not_from_the_file(tmp_path):
    written(tmp_path / "q0" / "a.parquet", 99, sent=[0, 0, 1_000_000])
    written(tmp_path / "q0" / "never-committed.parquet", 99, sent=[0])
    manifest(tmp_path / "q0", "0", 103, "a.parquet")
    found = list(one_each(tmp_path))
    assert totals(found) == {"q0": 3}
    figures = responses_since(found, start=100)
    assert responses_since(found, start=99, sent_us=-1_000_000) == figures  # counted from another time
    assert (figures.outputs, figures.max) == (3, 3.0)
    assert figures.avg == pytest.approx((3 + 3 + 2) / 3)


def test_grouped_results_are_told_apart_by_a_column(tmp_path):
    written(tmp_path / "all" / "a.parquet", 99, sent=[0, 0, 0], q=np.array([1, 0, 1], dtype=np.int32))
    manifest(tmp_path / "all", "0", 103, "a.parquet")
    assert totals(list(grouped(tmp_path))) == {"q0": 1, "q1": 2}


def test_a_fanned_out_batch_counts_from_its_marker(tmp_path):
    for number, at in ((0, 101), (1, 105)):
        written(tmp_path / "q0" / f"batch={number}" / "part-0.parquet", 90, sent=[0])
        marker = tmp_path / "q0" / f"batch={number}" / "_SUCCESS"
        marker.touch()
        os.utime(marker, (at, at))
    written(tmp_path / "q0" / "batch=2" / "part-0.parquet", 90, sent=[0])
    assert [output.committed for output in fan_out(tmp_path)] == [101, 105]


@pytest.fixture
def renamed_when_written(monkeypatch):
    """Nobody can set the time at which a file was renamed."""
    monkeypatch.setattr(outputs, "renamed_s", lambda path: path.stat().st_mtime)


def test_a_rename_counts_and_not_the_writing(tmp_path):
    written(tmp_path / "hidden.parquet", 101, sent=[0])
    before = time.time() - 0.1  # files have the time of the last tick of the kernel's clock
    (tmp_path / "_recent" / "q").mkdir(parents=True)
    (tmp_path / "hidden.parquet").rename(tmp_path / "_recent" / "q" / "part-0001-00000001.parquet")
    assert before <= next(penstock(tmp_path)).committed <= time.time()


@pytest.mark.usefixtures("renamed_when_written")
def test_files_of_jobs_count_and_what_is_published_from_them_does_not(tmp_path):
    part = "part-0001-00000001.parquet"
    written(tmp_path / "_groups" / "group 1" / part, 101, sent=[0, 0, 0], __query=["q0", "q1", "q0"])
    written(tmp_path / "q0" / part, 130, sent=[0, 0])
    written(tmp_path / "_recent" / "alone" / part.replace("1.", "2."), 102, sent=[0])
    found = list(penstock(tmp_path))
    assert totals(found) == {"q0": 2, "q1": 1, "alone": 1}
    assert max(output.committed for output in found) == 102


@pytest.mark.usefixtures("renamed_when_written")
def test_files_belong_to_the_part_in_which_they_were_committed(tmp_path):
    for number, at in ((1, 100.0), (2, 101.5), (3, 102.0)):
        written(tmp_path / "_recent" / "q" / f"part-0001-0000000{number}.parquet", at, sent=[0])
    assert [output.committed for output in between(list(penstock(tmp_path)), 100.5, 102.0)] == [101.5]


def test_nothing_came_out():
    assert responses_since([], start=0).avg is None
