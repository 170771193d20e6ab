"""`penstock bench start`: medians of alternating runs, and the verdict; no Spark is started here."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.bench import start
from penstock.cli.app import app

runner = CliRunner()


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Let a run take one of the given times; return which runs took place."""
    archive = tmp_path / "classes.jsa"
    archive.write_bytes(b"1234")
    monkeypatch.setattr(start, "make_archive", lambda: archive)
    took = {"off": iter([99, 20, 22, 30]), "use": iter([99, 7, 8, 12])}
    seen = []

    def timed(folder: Path, switch: str):
        assert len((folder / "rows.json").read_text().splitlines()) == start.ROWS
        seen.append(switch)
        return {"wall_s": float(next(took[switch])), "cpu_s": 1.0}

    monkeypatch.setattr(start, "_timed", timed)
    return seen


def test_runs_alternate_and_the_first_does_not_count(runs):
    result = runner.invoke(app, ["bench", "start", "--repeat", "3", "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert runs == ["off", "use"] * 4
    assert found["medians"]["without archive"]["wall_s"] == 22
    assert found["medians"]["with archive"]["wall_s"] == 8
    assert found["archive_bytes"] == 4
    assert [each["holds"] for each in found["comparisons"]] == [True]


def test_a_table_that_fits_a_terminal_and_a_verdict(runs, monkeypatch):
    monkeypatch.setattr(start, "LONGEST_S", 5.0)
    result = runner.invoke(app, ["bench", "start", "--repeat", "3"])
    assert result.exit_code == 1
    assert "does not hold" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
