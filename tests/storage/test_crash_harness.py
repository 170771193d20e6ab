"""The crash harness finds what it must: rows lost, doubled and vanished, files that cannot be read."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.storage.crash.compare import Expected, differences, rejected_difference
from tests.storage.crash.plan import KINDS, MOST, round_plan
from tests.storage.crash.reader import ID_BITS, Reader, ids
from tests.storage.crash.workload import COLUMNS, LATENESS_US, Size, make_workload

POINTS = ("a.before", "a.after", "b.before", "c.before", "c.written", "c.after", "d.before")
QUERIES = {"pairs": ["p_id", "r_id"]}


def put(out, name, pairs, query="pairs"):
    (out / query).mkdir(exist_ok=True)
    left, right = zip(*pairs, strict=True)
    pq.write_table(pa.table({"p_id": left, "r_id": right}), out / query / name)


@pytest.fixture
def reader(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.storage.crash.reader.LASTING_S", 0.05)
    monkeypatch.setattr("tests.storage.crash.reader.AGAIN_S", 0.01)
    return Reader(tmp_path, QUERIES)


def kinds(reader):
    return {(each.way, each.kind) for each in reader.problems}


def test_a_reader_is_content_with_new_rows(reader, tmp_path):
    reader._round()
    put(tmp_path, "1.parquet", [(1, 2), (2, 1)])
    reader._round()
    put(tmp_path, "2.parquet", [(2, 2)])
    reader._round()
    assert not reader.problems
    assert reader.reads == {"duckdb": 2, "pyarrow": 2}  # for `penstock.read`, the folder has no results


def test_a_reader_finds_a_row_in_two_files(reader, tmp_path):
    put(tmp_path, "1.parquet", [(1, 2), (7, 8)])
    put(tmp_path, "2.parquet", [(7, 8)])
    reader._round()
    assert kinds(reader) == {("duckdb", "doubled"), ("pyarrow", "doubled")}
    assert "[7, 8]" in reader.problems[0].detail
    assert reader.problems[0].is_lasting


def test_a_reader_finds_that_a_row_vanished(reader, tmp_path):
    put(tmp_path, "1.parquet", [(1, 2), (7, 8)])
    reader._round()
    put(tmp_path, "1.parquet", [(1, 2), (9, 9)])
    reader._round()
    reader._round()
    assert kinds(reader) == {("duckdb", "vanished"), ("pyarrow", "vanished")}
    assert len(reader.problems) == 2  # each once


def test_a_reader_finds_that_all_rows_vanished(reader, tmp_path):
    put(tmp_path, "1.parquet", [(1, 2)])
    reader._round()
    (tmp_path / "pairs" / "1.parquet").unlink()
    reader._round()
    assert kinds(reader) == {("duckdb", "vanished"), ("pyarrow", "vanished")}


def test_a_reader_finds_a_file_that_is_cut_off(reader, tmp_path):
    put(tmp_path, "1.parquet", [(1, 2)])
    path = tmp_path / "pairs" / "1.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    reader._round()
    assert kinds(reader) == {("duckdb", "unreadable"), ("pyarrow", "unreadable")}


def test_ids_are_found_again():
    assert ids((3 << ID_BITS | 5) << ID_BITS | 7, ["p_id", "r_id", "a_id"]) == [3, 5, 7]


def test_the_comparison_counts_lost_doubled_and_foreign_rows(tmp_path):
    put(tmp_path, "1.parquet", [(1, 2), (1, 2), (5, 5)])
    want = Expected({"pairs": pa.table({"c0": [1, 3], "c1": [2, 4]})}, {})
    [found, _] = differences(want, tmp_path, ["pairs"], [])
    assert (found.lost, found.doubled, found.foreign) == (1, 1, 1)
    assert "(3, 4)" in found.detail


def test_the_comparison_accepts_what_is_right(tmp_path):
    put(tmp_path, "1.parquet", [(3, 4)])
    put(tmp_path, "2.parquet", [(1, 2)])
    want = Expected({"pairs": pa.table({"c0": [1, 3], "c1": [2, 4]})}, {})
    assert [each.way for each in differences(want, tmp_path, ["pairs"], [])] == ["penstock"]  # no manifest


def test_the_comparison_finds_what_a_run_left_behind(tmp_path):
    (tmp_path / "_recent" / "pairs").mkdir(parents=True)
    (tmp_path / "_recent" / "pairs" / "part-0001-00000001.parquet").touch()
    [found] = differences(Expected({}, {}), tmp_path, [], [])
    assert "part-0001" in found.detail


def test_rejected_rows_are_compared_one_by_one(tmp_path):
    place = tmp_path / "_rejected" / "packets"
    place.mkdir(parents=True)
    rows = [{"_seq": 1, "_kind": "late", "id": 1}, {"_seq": 4, "_kind": "late", "id": "4"}]
    (place / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    found = rejected_difference([(1, "late"), (2, "malformed"), (4, "late")], tmp_path, "packets")
    assert (found.lost, found.doubled, found.foreign) == (1, 1, 0)
    (place / "rows.json").write_text('{"_seq": 1, "_ki')
    assert "no JSON" in rejected_difference([(1, "late")], tmp_path, "packets").detail


def test_a_plan_depends_on_the_seed_alone():
    plans = [round_plan(3, number, points=POINTS) for number in range(12)]
    assert plans == [round_plan(3, number, points=POINTS) for number in range(12)]
    assert plans != [round_plan(4, number, points=POINTS) for number in range(12)]
    assert {kill.kind for plan in plans for kill in plan.kills} == set(KINDS)
    assert [{plan.rows for plan in plans[at : at + 3]} for at in (0, 3, 6)] == [{"auto", "stored", "bulk"}] * 3


def test_a_plan_for_chosen_points_has_them_in_order():
    plan = round_plan(1, 0, points=POINTS, only=POINTS[:MOST])
    assert [kill.point for kill in plan.kills] == list(POINTS[:MOST])
    assert len(plan.first(2).kills) == 2
    assert not replace(plan, kills=()).first(2).kills


def test_a_workload_has_rows_of_all_kinds(tmp_path):
    made = make_workload(5, tmp_path / "made", Size(6, 200))
    for stream in made.case.streams:
        assert made.malformed[stream.name], "some lines are malformed"
        times = [row[1] for row in stream.rows if row[1] is not None]
        assert sorted(times) != times, "some rows are out of order"
        assert [row[0] for row in stream.rows] == sorted({row[0] for row in stream.rows})
    assert set(LATENESS_US) == set(COLUMNS)
    files = made.files(bulk=True)
    assert {stream for stream, _ in files} == {*COLUMNS, "bulk"}
    for name in COLUMNS:
        paths = [path.name for stream, path in files if stream == name]
        assert paths == sorted(paths)
