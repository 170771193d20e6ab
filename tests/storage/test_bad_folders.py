"""Folders that cannot be a state, or cannot be this one: one clear sentence, and nothing is changed."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.errors import RunError
from penstock.sinks.parquet_sink import ParquetSink
from penstock.storage import documents
from penstock.storage.documents import encoded, read_document
from penstock.storage.folder import Folder
from tests.storage.small_run import LOW, PAIRS, SCRIPT, STREAMS, Camera, SmallRun, expected, found, make_files

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 15


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=4)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(place, data, *words, **keywords):
    with pytest.raises(RunError) as caught:
        SmallRun(place, data, **keywords).go()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_file(tmp_path, data):
    (tmp_path / "state").write_text("mine")
    refused(tmp_path, data, "is a file; --state needs a folder")
    assert (tmp_path / "state").read_text() == "mine"


def test_below_a_file(tmp_path, data):
    (tmp_path / "file").write_text("mine")
    refused(tmp_path / "file", data, "cannot be used", "Not a directory")


def test_a_folder_of_others(tmp_path, data):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "letter.txt").write_text("mine")
    refused(tmp_path, data, "is not a state of Penstock, and not empty")
    assert contents(tmp_path / "state").keys() == {next(iter(contents(tmp_path / "state")))}
    assert not (tmp_path / "out").exists()


def test_a_state_that_lost_the_file_that_tells_what_it_is(tmp_path, data):
    SmallRun(tmp_path, data, files=2, drain=False).go()
    (tmp_path / "state" / "penstock-state.json").unlink()
    refused(tmp_path, data, "is damaged: penstock-state.json is missing; restore a backup of the state")


@pytest.mark.parametrize(
    ("streams", "words"),
    [
        (STREAMS.replace("k INT", "k BIGINT"), ["a: column k was INT and is now BIGINT", "b: column k"]),
        (STREAMS.replace("path = 'b'", "path = 'a'"), ["b: path was 'b' and is now 'a'"]),
        (
            STREAMS.replace("timestamp = 'at'", "timestamp = 'at', lateness = '1 s'"),
            ["lateness was not set and is now 1 s"],
        ),
        (STREAMS.replace("STREAM b", "STREAM c"), ["b is gone"]),
        (STREAMS.replace("id INT, k INT", "k INT, id INT"), ["the columns were in the order id, k, at"]),
    ],
)
def test_a_state_of_another_script(tmp_path, data, streams, words):
    SmallRun(tmp_path, data, files=2, drain=False).go()
    before = {name: content for name, content in contents(tmp_path).items() if name.name != "owner"}
    refused(tmp_path, data, "script with other streams", *words, script=streams + LOW)
    after = {name: content for name, content in contents(tmp_path).items() if name.name != "owner"}
    assert after == before
    SmallRun(tmp_path, data).go()
    assert found(tmp_path) == expected(data)


@pytest.mark.parametrize("name", ["penstock-state.json", "owner", "journal", "checkpoint"])
def test_a_newer_version(tmp_path, data, name, monkeypatch):
    SmallRun(tmp_path, data, files=2, drain=False).go()
    place = tmp_path / "state" / name
    path = sorted(place.glob("*.json"))[-1] if place.is_dir() else place
    kind = {"penstock-state.json": "state", "journal": "entry"}.get(name, name)
    body = read_document(kind, path)
    monkeypatch.setattr(documents, "FORMAT", 2)
    if name == "journal":  # only entries after the newest checkpoint are read
        path = path.with_name(f"{int(path.stem) + 1:012d}.json")
    path.write_bytes(encoded(kind, body))
    monkeypatch.undo()
    before = path.read_bytes()
    refused(tmp_path, data, path.name, "newer Penstock (format 2; this one reads up to 1)", "update Penstock")
    assert path.read_bytes() == before


def test_the_folder_is_removed_while_it_is_used(tmp_path, data):
    def remove(work):
        shutil.rmtree(tmp_path / "state", ignore_errors=True)

    refused(tmp_path, data, "was removed while the run used it", on_job=remove)
    assert not any((found(tmp_path)[name] - expected(data)[name]) for name in ("low", "pairs"))


@pytest.mark.parametrize("part", ["journal", "checkpoint", "streams", "owner"])
def test_a_part_of_the_folder_is_removed_while_it_is_used(tmp_path, data, part):
    def remove(work):
        path = tmp_path / "state" / part
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    with suppress(RunError):  # anything else fails
        SmallRun(tmp_path, data, on_job=remove).go()
    assert not any((found(tmp_path)[name] - expected(data)[name]) for name in ("low", "pairs"))


def test_the_results_are_removed_or_replaced_between_runs(tmp_path, data):
    SmallRun(tmp_path, data, files=2, drain=False).go()
    (tmp_path / "out").rename(tmp_path / "kept")
    refused(tmp_path, data, "does not hold the results of this state")
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    other = tmp_path / "other"
    other.mkdir()
    SmallRun(other, data).go()
    shutil.copytree(other / "out", tmp_path / "out")
    refused(tmp_path, data, "does not hold the results of this state")
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "kept").rename(tmp_path / "out")
    SmallRun(tmp_path, data).go()
    assert found(tmp_path) == expected(data)


@pytest.mark.parametrize(("state", "out"), [("x", "x/out"), ("x/state", "x"), ("x", "x"), ("x/../x", "x/out")])
def test_results_inside_the_state_or_around_it(tmp_path, data, state, out):
    class Nested(SmallRun):
        state_path, out_path = tmp_path / state, tmp_path / out

    with pytest.raises(RunError, match="one inside the other"):
        Nested(tmp_path, data).go()


@pytest.mark.parametrize("where", ["s3a://bucket/state", "hdfs://host/state", "file:///state"])
def test_other_file_systems(where):
    with pytest.raises(RunError, match=r"a state cannot be on .* a folder of this machine"):
        Folder.open(Path(where))
    assert CliRunner().invoke(app, ["state", where]).exit_code == 1


AS_NOBODY = """
import os, sys
from pathlib import Path
from penstock.errors import RunError
from penstock.storage.folder import Folder
os.setuid(65534)
try:
    Folder.open(Path(sys.argv[1]))
except RunError as error:
    print(error)
    sys.exit(1)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_that_cannot_be_written(tmp_path, data, exists):
    if exists:
        SmallRun(tmp_path, data, files=1, drain=False).go()
    command = [sys.executable, "-c", AS_NOBODY, str(tmp_path / "state")]
    for folder in [tmp_path, *tmp_path.parents[:-2]]:
        folder.chmod(0o755)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr or "can't open" in done.stderr:
        pytest.skip("another user cannot read this installation")
    assert done.returncode == 1, done.stderr
    assert "cannot be written: Permission denied" in done.stdout


def test_only_queries_changed(tmp_path, data):
    """The same streams in other words are the same."""
    SmallRun(tmp_path, data, files=2, drain=False).go()
    SmallRun(tmp_path, data, script=STREAMS.replace("INT", "INTEGER") + LOW + PAIRS).go()
    assert found(tmp_path) == expected(data)
    assert SCRIPT != STREAMS


def test_results_are_not_appended_beside_hidden_ones(tmp_path, data):
    """A run of another state died there: its results must not come after later ones."""
    place = tmp_path / "place"
    place.mkdir()
    camera = Camera(place, tmp_path / "pictures", ["reveal.before"])
    with camera.rolling():
        SmallRun(place, data).go()
    assert len(camera.taken) > 3
    for _, copy in camera.taken[1::3]:
        for options in ({"append": True}, {"append": True, "state": "another"}):
            with pytest.raises(RunError, match="a run with --state that did not finish: go on with that state"):
                ParquetSink(copy / "out", **options)
        SmallRun(copy, data).go()
        assert found(copy) == expected(data)
        later = ParquetSink(copy / "out", append=True)
        later.open("low", pq.read_schema(next((copy / "out" / "low").glob("*.parquet"))))
        later.emit("low", pa.table({"id": pa.array([-1], pa.int32()), "k": pa.array([-1], pa.int32())}))
        later.close()
        assert found(copy)["low"] == expected(data)["low"] + Counter([(-1, -1)])
