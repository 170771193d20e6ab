"""Many small files: read together, in order, and listed without checking those that were read."""

import os
import time
from pathlib import Path

from penstock.language import Script
from penstock.spark.sources import files
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.files import FileSource


def opened(spark, folder: Path, pattern: str = "", drain: bool = True) -> FileSource:
    script = Script.parse(
        f"CREATE STREAM s (v INT) FROM files WITH (path = '{folder / pattern}', format = 'json');", folder=folder
    )
    return FileSource(script.streams["s"], SourceContext(spark, folder, drain, None, 50_000, 0, folder))


def test_thousands_of_small_files_are_one_job(spark, tmp_path):
    for number in range(3000):
        (tmp_path / f"{number:05d}.json").write_text(f'{{"v": {number}}}\n')
    source = opened(spark, tmp_path)
    [arrived] = source.poll(0, 50_000)
    assert arrived.rows.column("v").to_pylist() == list(range(3000))
    assert not list(source.poll(0, 50_000))
    assert source.ended


def test_new_files_come_in_the_order_of_their_names_each_once(spark, tmp_path):
    ours = {"b.json": 2, "a.json": 1}
    for name, value in {**ours, "_c.json": 9, ".d.json": 9, "e.json.tmp": 9, "f.txt": 9}.items():
        (tmp_path / name).write_text(f'{{"v": {value}}}')
    (tmp_path / "g.json").mkdir()
    source = opened(spark, tmp_path, "*.json", drain=False)
    [first] = source.poll(0, 10)
    (tmp_path / "0.json").write_text('{"v": 3}')
    [second] = source.poll(0, 10)
    assert [first.rows.column("v").to_pylist(), second.rows.column("v").to_pylist()] == [[1, 2], [3]]


def test_a_listing_does_not_cost_by_what_was_read(tmp_path, monkeypatch):
    """Known files are not checked again: a listing is one call and a difference of sets."""
    for number in range(2000):
        (tmp_path / f"{number:05d}.json").touch()
    source = opened(None, tmp_path, drain=False)
    asked: list[str] = []
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda path: asked.append(path.name) or is_file(path))
    assert len(source._new_files()) == 2000
    (tmp_path / "new.json").touch()
    asked.clear()
    assert [path.name for path in source._new_files()] == ["new.json"]
    assert len(asked) < 10


def test_an_unchanged_folder_is_not_listed_over_and_over(tmp_path, monkeypatch):
    (tmp_path / "a.json").touch()
    os.utime(tmp_path, (1, 1))
    source = opened(None, tmp_path, drain=False)
    listed: list[object] = []
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: listed.append(folder) or time.sleep(0.03) or listdir(folder))
    for _ in range(20):
        source._list()
        time.sleep(0.01)
    assert len(listed) == 1


def test_small_text_files_are_read_some_bytes_at_a_time(spark, tmp_path, monkeypatch):
    """They pass through the driver, however many bytes a job may take of larger ones."""
    monkeypatch.setattr(files, "_BYTES_AT_ONCE", 20)
    for number in range(5):
        (tmp_path / f"{number}.json").write_text(f'{{"v": {number}}}\n')  # nine bytes: two files have room
    source = opened(spark, tmp_path)
    tables = [arrived.rows for _ in range(5) for arrived in source.poll(0, 100)]
    assert [table.column("v").to_pylist() for table in tables] == [[0, 1], [2, 3], [4]]
    assert source.ended
