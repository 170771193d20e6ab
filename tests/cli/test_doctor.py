"""`penstock doctor` without Spark: what it finds, and what it says when something is missing."""

import json
import re
import socket
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import doctor
from penstock.cli.app import app

runner = CliRunner()
HERE = Path(__file__).parents[2]


def test_every_line_is_good_here():
    result = runner.invoke(app, ["doctor", "--no-spark"])
    assert result.exit_code == 0, result.output
    assert "Everything is in place." in result.stdout
    for name in ("Python", "Java", "pyspark", "cores", "memory", "disk, temporary", "loopback ports"):
        assert name in result.stdout


def test_json_has_an_entry_for_each_thing():
    findings = json.loads(runner.invoke(app, ["doctor", "--no-spark", "--json"]).stdout)
    assert all(list(finding) == ["name", "state", "found", "advice"] for finding in findings)
    assert "Spark" not in {finding["name"] for finding in findings}


def test_it_knows_the_packages_that_the_project_declares():
    declared = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [re.split(r"[<>=]", each)[0] for each in declared] == list(doctor.PACKAGES)


@pytest.mark.parametrize("home", ["/nowhere", ""])
def test_a_missing_java_is_named_with_a_way_to_get_it(monkeypatch, home):
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    else:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", "/nowhere")
    result = runner.invoke(app, ["doctor", "--no-spark"])
    assert result.exit_code == 1
    assert "Missing: Java." in result.stdout
    assert "openjdk" in result.stdout


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("rich", "no-such-package"))
    result = runner.invoke(app, ["doctor", "--no-spark", "--json"])
    assert result.exit_code == 1
    missing = [finding for finding in json.loads(result.stdout) if finding["state"] == "missing"]
    assert [finding["name"] for finding in missing] == ["no-such-package"]
    assert "pip install no-such-package" in missing[0]["advice"]


def test_a_loopback_that_cannot_be_bound_is_named(monkeypatch):
    def refuse(self, address):
        raise PermissionError("not allowed")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    assert doctor.ports().state == "missing"


def test_the_heap_is_shown_and_can_be_given(monkeypatch):
    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setattr("penstock.spark.driver_memory.machine_memory", lambda: 8 * 1024**3)
    monkeypatch.setattr(doctor, "machine_memory", lambda: 8 * 1024**3)
    assert doctor.heap({}) == doctor.Finding(
        "Spark's heap", "ok", "2.15 GB, a quarter of the memory, from 1 to 16 GiB"
    )
    assert doctor.heap({"spark.driver.memory": "4g"}).found == "4.29 GB, as given"
    assert doctor.heap({"spark.driver.memory": "8g"}).state == "low"
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "2g")
    assert "SPARK_DRIVER_MEMORY" in doctor.heap({}).found


def test_wrong_settings_are_a_wrong_call():
    for arguments in (["--driver-memory", "much"], ["--conf", "x"], ["--packages", "a:b"]):
        assert runner.invoke(app, ["doctor", "--no-spark", *arguments]).exit_code == 2
