"""Java that is missing, too old or mute is named before Spark is tried; errors of jobs come down to a line."""

import stat

import pytest

from penstock.errors import RunError
from penstock.spark.java import check_java, java_version
from penstock.spark.job_errors import explained
from penstock.spark.session import spark_session


def java(folder, text: str):
    place = folder / "bin"
    place.mkdir()
    program = place / "java"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_no_java(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java_version() == (None, None)
    with pytest.raises(RunError, match=r"Spark needs Java 17 or newer; no Java was found\..*openjdk"):
        check_java()


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("Segmentation fault", None),
    ],
)
def test_versions(answer, version, tmp_path, monkeypatch):
    java(tmp_path, f"echo '{answer}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() == (str(tmp_path / "bin" / "java"), version)
    if version is None or version < 17:
        with pytest.raises(RunError, match="Spark needs Java 17 or newer"):
            check_java()
    else:
        check_java()


def test_a_home_without_java(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RunError, match="JAVA_HOME is set, but has no Java"):
        check_java()


def test_not_both():
    with pytest.raises(RunError, match="a master or a remote, not both"), spark_session("local[1]", "sc://x"):
        pass


def test_errors_come_down_to_a_line():
    error = RuntimeError(
        "An error occurred while calling o1.x.\n: org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] "
        "Division by zero. Use `try_divide` to tolerate. SQLSTATE: 22012\n\tat org.apache.spark…"
    )
    assert explained(error) == "Division by zero. [DIVIDE_BY_ZERO]"
    assert explained(RuntimeError()) == "RuntimeError"
