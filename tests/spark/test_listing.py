"""Many small files: read together, in order, and listed without checking those that were read."""

import json
import os
import time
from pathlib import Path
from random import Random

import pytest

from penstock.language import Script
from penstock.spark.sources import files
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.files import FileSource
from penstock.storage.image import moved


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


class GoingOn:
    """A source that is killed now and then and goes on where it was when its position was last committed."""

    def __init__(self, spark, folder: Path, random: Random) -> None:
        self.spark, self.folder, self.random = spark, folder, random
        self.kept: list[int] = []
        self.given: list[int] = []
        self.there: dict[str, list[int]] = {}
        self.gone: list[str] = []
        self.written: list[int] = []
        self.kills = 0
        self.source = opened(spark, folder, drain=False)
        self.position = self.source.position(whole=True)

    def add(self) -> None:
        name = self.gone.pop() if self.gone and self.random.random() < 0.5 else f"{len(self.written):04d}.json"
        values = [len(self.written) + place for place in range(self.random.randrange(1, 6))]
        (self.folder / name).write_text("".join(f'{{"v": {value}}}\n' for value in values))
        self.written += values
        self.there[name] = values

    def poll(self) -> None:
        for arrived in self.source.poll(0, 10):
            self.given += arrived.rows.column("v").to_pylist()

    def commit(self) -> None:
        self.position = json.loads(json.dumps(moved(self.position, self.source.position(whole=False))))
        self._commit()

    def checkpoint(self) -> None:
        self.position = json.loads(json.dumps(self.source.position(whole=True)))
        self._commit()

    def _commit(self) -> None:
        self.kept += self.given
        self.given = []

    def remove(self) -> None:
        """Remove a file that was read; its name may come again when that is known."""
        self.commit()
        read = [name for name, values in self.there.items() if set(values) <= set(self.kept)]
        if read:
            name = self.random.choice(read)
            (self.folder / name).unlink()
            del self.there[name]
            self.all_read()
            self.commit()
            self.gone.append(name)

    def all_read(self) -> None:
        for _ in range(len(self.there) + 3):
            self.poll()

    def kill(self) -> None:
        self.kills += 1
        self.given = []
        context = SourceContext(self.spark, self.folder, False, None, 50_000, 0, self.folder)
        self.source = FileSource(self.source._stream, context, self.position)


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_files_go_on_after_any_kill(seed, spark, tmp_path, monkeypatch):
    """Each row is kept once, in whatever order files come, go, and come again under a name."""
    random = Random(seed)
    monkeypatch.setattr(files, "_FILES_AT_ONCE", 3)
    monkeypatch.setattr(files, "_BYTES_AT_ONCE", 60)
    course = GoingOn(spark, tmp_path, random)
    for _ in range(120):
        does = [
            course.add,
            course.add,
            course.poll,
            course.poll,
            course.commit,
            course.checkpoint,
            course.remove,
            course.kill,
        ]
        random.choice(does)()
    course.all_read()
    course.commit()
    assert sorted(course.kept) == course.written
    assert course.kills > 5
