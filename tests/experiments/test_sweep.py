"""Sweeps: keys, and resuming; tests/spark runs a cell as a task."""

import json

import pytest

from penstock.experiments import sweep
from penstock.experiments.sweep import SweepCell, SweepResults, swept

TINY = {"policy": "hr", "load": 0.9, "count": 50, "queries": 5, "seed": 1, "trace": None}


def test_keys_tell_cells_apart():
    changes = ({}, {"load": 0.8}, {"policy": "hnr"}, {"seed": 2})
    cells = [SweepCell("SCLP08", "load", TINY | change) for change in changes]
    assert len({cell.key for cell in cells}) == 4
    assert SweepCell("SCLP08", "load", dict(reversed(TINY.items()))).key == cells[0].key


def test_another_trace_of_the_same_name_is_another_cell(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("time\n1\n2\n")
    first = SweepCell("SCLP08", "load", TINY | {"trace": str(file)}).key
    file.write_text("time\n1\n2\n3\n")
    assert SweepCell("SCLP08", "load", TINY | {"trace": str(file)}).key != first


def test_what_is_kept_is_found_and_what_is_broken_is_not(tmp_path):
    results, cell = SweepResults(tmp_path / "deep"), SweepCell("SCLP08", "load", TINY)
    assert results.find(cell) is None
    results.keep(cell, json.dumps({"a": 1.5}), 0.1)
    assert results.find(cell) == {"a": 1.5}
    (tmp_path / "deep" / f"{cell.key}.parquet").write_bytes(b"half a file")
    assert results.find(cell) is None


def test_finished_cells_are_not_run_again(tmp_path, monkeypatch):
    cell = SweepCell("SCLP08", "load", TINY)
    SweepResults(tmp_path).keep(cell, json.dumps({"a": 1}), 0.1)
    monkeypatch.setattr(sweep, "spark_session", lambda *_: pytest.fail("nothing is missing"))
    told = []
    assert swept([cell], tmp_path, lambda *now: told.append(now)) == {cell.key: {"a": 1}}
    assert told == [(1, 1, "")]
