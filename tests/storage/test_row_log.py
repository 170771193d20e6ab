"""Row logs: what was appended is read back, whatever the names and however many there are."""

import os
from pathlib import Path
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pytest

from penstock.storage import row_log
from penstock.storage.row_log import RowLogs, place_of, read_rows


def open_files(folder: Path) -> int:
    """How many files below a folder this process has open."""
    links = Path("/proc/self/fd")
    return sum(os.path.realpath(link).startswith(str(folder)) for link in links.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell which files are open")
@pytest.mark.parametrize("roll_bytes", [500, 1_000_000])
def test_thousands_of_places_need_few_open_files(tmp_path, roll_bytes):
    random, most = Random(5), 3
    logs, kept = RowLogs(tmp_path, 1), {}
    with patch.object(row_log, "_MOST_HANDLES", most), patch.object(row_log, "ROLL_BYTES", roll_bytes):
        for _ in range(400):
            place = place_of("queues", f"q{random.randrange(12)}")
            rows = pa.table({"v": [random.randrange(10**9) for _ in range(random.randrange(1, 9))]})
            kept[logs.append(place, rows)] = rows
            assert open_files(tmp_path) <= most
            if random.random() < 0.1:
                logs.flush()
            if random.random() < 0.05:
                needed = {at.file for at in kept if random.random() < 0.5}
                logs.leave(needed)
                kept = {at: rows for at, rows in kept.items() if at.file in needed}
                for path in tmp_path.rglob("*.rows"):
                    if str(path.relative_to(tmp_path)) not in needed:
                        path.unlink()  # nothing may be appended to it
        logs.flush()
        assert len(kept) > 10
        for at, rows in kept.items():
            assert read_rows(tmp_path, at) == rows
        logs.close()
    assert open_files(tmp_path) == 0


@pytest.mark.parametrize("letter", ["x", "ü", "語"])
def test_places_of_long_names_differ_and_can_be_made(tmp_path, letter):
    names = [letter * 255, letter * 254 + "y", letter * 300, "../" * 100, "../" * 101, "x", "X"]
    places = [place_of("queues", name) for name in names]
    assert len(set(places)) == len(names)
    logs = RowLogs(tmp_path, 1)
    found = [logs.append(place, pa.table({"v": [number]})) for number, place in enumerate(places)]
    logs.flush()
    assert [read_rows(tmp_path, at).column("v").to_pylist() for at in found] == [[n] for n in range(len(names))]
    assert all((tmp_path / at.file).resolve().is_relative_to(tmp_path / "queues") for at in found)
    logs.close()
