"""`penstock warm` as a person or a script meets it; nothing is made here."""

import json

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PENSTOCK_CLASS_ARCHIVE", raising=False)
    return tmp_path


def test_help_has_an_example():
    result = runner.invoke(app, ["warm", "--help"])
    assert result.exit_code == 0
    assert "penstock warm" in result.stdout
    assert "PENSTOCK_CLASS_ARCHIVE=off" in result.stdout


def test_a_dry_run_says_what_there_is(cache):
    found = json.loads(runner.invoke(app, ["warm", "--dry-run", "--json"]).stdout)
    assert found["state"] == "missing"
    assert found["folder"].startswith(str(cache))
    assert "penstock warm makes one" in runner.invoke(app, ["warm", "--dry-run"]).stdout
    assert list(cache.iterdir()) == []


def test_doctor_says_it_too():
    findings = json.loads(runner.invoke(app, ["doctor", "--no-spark", "--json"]).stdout)
    [found] = [each for each in findings if each["name"] == "Spark's class archive"]
    assert found["state"] == "ok"
    assert "penstock warm makes one" in found["found"]


def test_nothing_to_remove():
    result = runner.invoke(app, ["warm", "--remove"])
    assert result.exit_code == 0
    assert result.stdout.startswith("0 B removed")


def test_switched_off(monkeypatch):
    monkeypatch.setenv("PENSTOCK_CLASS_ARCHIVE", "off")
    result = runner.invoke(app, ["warm"])
    assert result.exit_code == 1
    assert "PENSTOCK_CLASS_ARCHIVE is off" in str(result.exception)


def test_options_that_exclude_each_other():
    assert runner.invoke(app, ["warm", "--remove", "--dry-run"]).exit_code == 2
