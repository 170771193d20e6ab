"""docs/state.md says what is there: the function for a database, the unit for systemd, the loggers."""

import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

import penstock.spark as ps

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "state.md").read_text(encoding="utf-8")
STORE = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "sqlite3" in block)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The function of the page, and its database."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(STORE, names)
    yield names["store"], names["database"]
    names["database"].close()


def rows_of(*numbers):
    return pa.table({"at": ["t"] * len(numbers), "src": ["h"] * len(numbers), "bytes": list(numbers)})


def stored(database):
    return sorted(database.execute("SELECT query, bytes FROM results").fetchall())


def test_a_batch_that_comes_again_is_stored_once(store):
    function, database = store
    function("a", rows_of(1, 2), 1)
    function("b", rows_of(3), 1)  # of the same group
    function("b", rows_of(3), 1)
    function("a", rows_of(4), 2)
    function("a", rows_of(4), 2)
    assert stored(database) == [("a", 1), ("a", 2), ("a", 4), ("b", 3)]


def test_an_error_stores_nothing_of_a_batch(store):
    function, database = store
    bad = pa.table({"at": ["t"] * 2, "src": ["h"] * 2, "bytes": pa.array([1, 2])}).rename_columns(
        ["at", "src", "x"]
    )
    with pytest.raises(KeyError):
        function("a", bad, 1)
    database.execute("CREATE TRIGGER full BEFORE INSERT ON taken BEGIN SELECT RAISE(ABORT, 'full'); END")
    database.commit()
    with pytest.raises(sqlite3.IntegrityError, match="full"):
        function("a", rows_of(1), 1)
    assert stored(database) == []


def test_runs_on_one_state_store_each_result_once(spark, tmp_path, store):
    function, database = store
    text = """
        CREATE STREAM packets (at STRING, src STRING, bytes INT) FROM poisson WITH (rate = 5000, rows = 2000);
        CREATE QUERY low AS SELECT at, src, bytes FROM packets WHERE bytes < 300;
        CREATE QUERY high AS SELECT at, src, bytes FROM packets WHERE bytes < 700;
    """
    calls = []

    def broken(query, rows, batch):
        calls.append(batch)
        function(query, rows, batch)
        if len(calls) == 2:
            raise RuntimeError("after it was stored")

    with pytest.raises(RuntimeError, match="after it was stored"):
        ps.run(text, spark=spark, state=tmp_path / "state", on_rows=broken, drain=True)
    ps.run(text, spark=spark, state=tmp_path / "state", on_rows=function, drain=True)
    found = ps.run(text, spark=spark, drain=True).results
    for query, rows in found.items():
        kept = [each for name, each in stored(database) if name == query]
        assert kept == sorted(rows.column("bytes").to_pylist()), query


def test_the_unit_is_right(tmp_path):
    unit = (ROOT / "examples" / "penstock.service").read_text()
    shown = re.search(r"```ini\n(.*?)```", PAGE, re.DOTALL)[1]
    assert [line for line in shown.splitlines() if line not in unit.splitlines()] == []
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd")
    runnable = unit.replace("/opt/penstock/bin/penstock", "/bin/true").replace("User=penstock", "User=root")
    (tmp_path / "penstock.service").write_text(runnable)
    command = ["systemd-analyze", "verify", str(tmp_path / "penstock.service")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_the_page_names_every_logger():
    named = set(re.findall(r"`(penstock\.[a-z]+)` \|", PAGE))
    used = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r'getLogger\("(penstock\.[a-z]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert named == used
