"""Warnings about files that change after they were read: they grow, are replaced, or are renamed."""

import os

import pytest

from penstock.spark.sources.file_changes import FileChanges


@pytest.fixture
def told():
    return []


@pytest.fixture
def changes(told):
    return FileChanges("s", told.append)


def read(changes, path):
    changes.reads(path, path.stat())
    return path


def test_a_file_that_grows_is_reported_once(changes, told, tmp_path):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    read(changes, path)
    changes.check()
    assert told == []
    with path.open("a") as file:
        file.write("two\n")
    changes.check()
    changes.check()
    [text] = told
    assert text.startswith("stream s: a.log has changed since it was read and is not read again")


def test_a_rotated_log_is_reported(changes, told, tmp_path):
    old, new = tmp_path / "a.log", tmp_path / "a.log.1"
    old.write_text("one\n")
    read(changes, old)
    old.rename(new)
    changes.check()
    assert told == [], "files may be moved away"
    read(changes, new)
    [text] = told
    assert text.startswith("stream s: a.log.1 was already read as a.log")


def test_other_files_and_links_are_no_changes(changes, told, tmp_path):
    first = tmp_path / "a"
    first.write_text("one\n")
    read(changes, first)
    os.link(first, tmp_path / "b")
    read(changes, tmp_path / "b")
    for path in (first, tmp_path / "b"):
        path.unlink()
    for name in "cd":  # they may get the numbers of the old ones
        (tmp_path / name).write_text("one\n")
        read(changes, tmp_path / name)
    changes.check()
    assert told == []
