"""The archive of Java's classes: whose it is, when it is used, and that a broken one is never in the way."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.errors import RunError
from penstock.spark import archive_making as making
from penstock.spark import class_archive as archives
from penstock.spark.archive_state import archive_state
from penstock.spark.class_archive import DEFAULT_OPTIONS, EXTRA_OPTIONS, SWITCH
from tests.conftest import QUICK_COMPILER

JAVA = 'IMPLEMENTOR="X"\nJAVA_VERSION="{}"\n'


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """A cache, a Java and a Spark of the test's own."""
    home, spark = tmp_path / "java", tmp_path / "spark"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(JAVA.format("17.0.1"))
    (spark / "jars").mkdir(parents=True)
    (spark / "jars" / "a.jar").write_text("a")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("SPARK_HOME", str(spark))
    for name in (SWITCH, "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "JAVA_TOOL_OPTIONS", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def archive():
    """An archive that looks complete."""
    folder = archives.archive_folder()
    folder.mkdir(parents=True)
    (folder / archives.ARCHIVE).write_bytes(b"classes" * 1000)
    archives.write_record(folder, "/java", "/spark")
    return folder / archives.ARCHIVE


def used(conf=None, master="local[*]"):
    return archives.archive_options(conf or {}, master).get(DEFAULT_OPTIONS)


# The key --------------------------------------------------------------------------------------------------------


def test_the_folder_is_in_the_cache_and_names_the_versions(alone):
    folder = archives.archive_folder()
    assert folder.parent == alone / "cache" / "penstock" / "classes"
    assert folder.name.startswith("java-17.0.1-spark-")
    assert "-penstock-" in folder.name


def test_a_cache_that_is_no_absolute_path_is_ignored(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", "/home/someone")
    assert archives.archives_folder() == Path("/home/someone/.cache/penstock/classes")


@pytest.mark.parametrize(
    "change",
    [
        lambda at: (at / "java" / "release").write_text(JAVA.format("21.0.1")),
        lambda at: os.utime(at / "java" / "bin" / "java", (1, 1)),
        lambda at: (at / "spark" / "jars" / "b.jar").write_text("b"),
        lambda at: os.utime(at / "spark" / "jars" / "a.jar", (1, 1)),
    ],
    ids=["Java's version", "Java itself", "another jar", "a jar that changed"],
)
def test_an_archive_is_of_one_java_and_its_jars(alone, archive, change):
    assert used() is not None
    change(alone)
    assert used() is None


def test_without_java_or_spark_there_is_no_archive(alone, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", str(alone / "nowhere"))
    assert archives.archive_folder() is None
    assert used() is None
    assert archive_state().state == "unused"


# When it is used ------------------------------------------------------------------------------------------------


def test_options_are_added_to_those_of_the_user(archive):
    assert used() == archives.options_with(archive)
    assert f"-XX:SharedArchiveFile={archive}" in used()
    assert used({DEFAULT_OPTIONS: "-Dx=1"}).endswith(" -Dx=1")
    assert used({EXTRA_OPTIONS: "-Dx=1"}) == used()  # Spark adds them itself


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (SWITCH, "off"),
        ("JAVA_TOOL_OPTIONS", "-XX:SharedArchiveFile=/mine"),
        ("PYSPARK_SUBMIT_ARGS", "--driver-class-path /x pyspark-shell"),
        ("PYSPARK_SUBMIT_ARGS", "--conf spark.driver.defaultJavaOptions=-Dx=1 pyspark-shell"),
        ("PYSPARK_GATEWAY_PORT", "1"),
    ],
)
def test_the_environment_can_be_against_it(archive, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    assert used() is None
    assert archive_state().state == "unused"
    assert archive.exists()


@pytest.mark.parametrize(
    "conf",
    [
        {DEFAULT_OPTIONS: "-XX:SharedArchiveFile=/mine"},
        {EXTRA_OPTIONS: "-Dx=1 -Xshare:off"},
        {"spark.driver.extraClassPath": "/x"},
    ],
)
def test_settings_can_be_against_it(archive, conf):
    assert used(conf) is None


def test_only_local_sessions_use_it(archive):
    assert used(master="local[2]") is not None
    assert used(master="spark://host:7077") is None


def test_settings_of_spark_in_a_folder_are_left_alone(alone, archive):
    (alone / "spark" / "conf").mkdir()
    assert used() is not None
    (alone / "spark" / "conf" / "spark-defaults.conf").write_text("spark.driver.defaultJavaOptions -Dx=1")
    assert used() is None


def test_a_path_that_java_would_split_is_not_used(alone, monkeypatch):
    assert archives.options_with(alone / "a:b" / "classes.jsa") is None


# Broken ones ----------------------------------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def overwrite(path):
    path.write_bytes(b"garbage" * 1000)  # as long as before


@pytest.mark.parametrize("harm", [cut, overwrite, lambda path: path.write_bytes(b""), Path.unlink])
def test_a_broken_archive_is_left_out_and_removed(archive, harm):
    harm(archive)
    assert used() is None
    assert not archive.parent.exists()
    assert list(archives.archives_folder().iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"size": 1}'])
def test_a_broken_record_counts_as_a_broken_archive(archive, text):
    (archive.parent / archives.RECORD).write_text(text)
    assert used() is None
    assert not archive.exists()


def test_a_copied_archive_is_used_after_its_checksum(archive, monkeypatch):
    os.utime(archive, (1, 1))
    assert used() is not None
    monkeypatch.setattr(archives, "checksum", lambda path: pytest.fail("the copy is known by now"))
    assert used() is not None


# Making ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def makes(monkeypatch):
    """Let making write some bytes instead of running Spark."""
    monkeypatch.setattr(making, "check_java", lambda: None)
    monkeypatch.setattr(making, "_train", lambda path: path.write_bytes(b"made"))


def test_made_once(makes, monkeypatch):
    path = making.make_archive()
    assert path.read_bytes() == b"made"
    assert archive_state().state == "ready"
    monkeypatch.setattr(making, "_train", lambda path: pytest.fail("there is one"))
    assert making.make_archive() == path


def test_leftovers_and_outdated_archives_are_removed(alone, makes):
    old = making.make_archive().parent
    (alone / "spark" / "jars" / "b.jar").write_text("b")
    (archives.archives_folder() / "x.making-1").mkdir()
    new = making.make_archive().parent
    assert new != old
    assert {each.name for each in archives.archives_folder().iterdir()} == {new.name, "making.lock"}


def test_a_failure_leaves_nothing_but_its_reason(makes, monkeypatch):
    def fail(path):
        path.write_bytes(b"half")
        raise RunError("Java made no archive: no reason")

    monkeypatch.setattr(making, "_train", fail)
    with pytest.raises(RunError, match="no reason"):
        making.make_archive()
    assert archives.ready_archive(archives.archive_folder()) is None
    assert "no reason" in archive_state().text
    monkeypatch.setattr(making.subprocess, "Popen", lambda *_, **__: pytest.fail("it is not tried again"))
    assert not making.make_in_background({}, "local[*]")


def test_one_process_at_a_time(makes):
    archives.archives_folder().mkdir(parents=True)
    with making._locked(), pytest.raises(RunError, match="another process"):
        making.make_archive()


def test_little_room(makes, monkeypatch):
    monkeypatch.setattr(making, "LEAST_ROOM", 1 << 60)
    with pytest.raises(RunError, match="free space"):
        making.make_archive()
    assert not making.make_in_background({}, "local[*]")


def test_the_background_makes_it_only_where_it_is_missing(monkeypatch, makes):
    started = []
    monkeypatch.setattr(making.subprocess, "Popen", lambda command, **_: started.append(command))
    monkeypatch.setenv(SWITCH, "use")
    assert not making.make_in_background({}, "local[*]")
    monkeypatch.delenv(SWITCH)
    assert not making.make_in_background({}, "spark://host:7077")
    assert making.make_in_background({}, "local[*]")
    assert started[0][-1] == "penstock.spark.archive_making"
    making.make_archive()
    assert not making.make_in_background({}, "local[*]")


def test_a_cache_that_cannot_be_written_is_no_error_in_the_background(alone, monkeypatch):
    (alone / "cache").write_text("a file")
    monkeypatch.setattr(making.subprocess, "Popen", lambda *_, **__: pytest.fail("there is no folder"))
    assert not making.make_in_background({}, "local[*]")
    assert used() is None


def test_removing_all_frees_their_bytes(archive):
    assert making.remove_all() > 7000
    assert not archives.archives_folder().exists()
    assert making.remove_all() == 0


# With Java ------------------------------------------------------------------------------------------------------


def penstock(folder, *arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    run = subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        cwd=folder,
        # With the garbage collector that users have: what an archive holds depends on it
        env={**kept, SWITCH: "use", "JDK_JAVA_OPTIONS": QUICK_COMPILER, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run


@pytest.mark.slow
def test_a_real_archive_is_used_and_a_broken_one_is_not_in_the_way(alone):
    (alone / "rows.json").write_text("\n".join(json.dumps({"v": each}) for each in range(100)))
    (alone / "x.sql").write_text(
        "CREATE STREAM a (v INT) FROM files WITH (path = 'rows.json', format = 'json');\n"
        "CREATE QUERY half AS SELECT v FROM a WHERE v >= 50;\n"
    )
    assert json.loads(penstock(alone, "warm", "--json").stdout)["made"]
    [path] = (alone / "cache").rglob(archives.ARCHIVE)

    def drained(where, crashes=False):
        loaded = alone / f"{where}.txt"
        conf = f"{EXTRA_OPTIONS}=-Xlog:class+load:file={loaded}"
        run = penstock(alone, "run", "x.sql", "--drain", "--json", "--conf", conf)
        text = run.stdout[run.stdout.index("{\n") :] if crashes else run.stdout  # Java reports its crash there
        assert json.loads(text)["rows_out"] == 50
        assert "warning" not in run.stderr
        time.sleep(1)
        lines = [line for line in loaded.read_text().splitlines() if " org.apache.spark." in line]
        lines = [line for line in lines if "$$Lambda" not in line]  # Java makes these anew
        return sum("shared objects file (top)" in line for line in lines) / len(lines)

    assert drained("with") > 0.9
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:1_000_000])
    assert drained("broken") == 0
    assert not path.exists()
    # One that is broken and fits its record: Java ends at once, and is started without it
    path.parent.mkdir()
    path.write_bytes(data[:1_000_000])
    archives.write_record(path.parent, "", "")
    assert drained("unnoticed", crashes=True) == 0
    assert not path.exists()
