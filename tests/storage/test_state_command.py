"""`penstock state`: shows, checks and compacts a state folder, and says what is wrong."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.language import Script
from penstock.sinks.durable_parts import missing_results
from penstock.storage.compaction import compact
from penstock.storage.documents import StateError
from penstock.storage.folder import Folder
from penstock.storage.image import Image
from penstock.storage.inspection import found_in
from penstock.storage.started import StartedState
from penstock.storage.verification import problems_in
from tests.storage.damage import cut, flip
from tests.storage.small_run import (
    SCRIPT,
    Camera,
    SmallRun,
    copied,
    documents,
    expected,
    found,
    make_files,
    photographed,
    rows_of,
)

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 19
FILES = 4


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=7)


@pytest.fixture(scope="module", params=[False, True], ids=["row logs", "segments"])
def killed(request, data, tmp_path_factory):
    """What a process leaves that is killed when results were committed, and not revealed."""
    place, pictures = photographed(tmp_path_factory.mktemp("killed"), data, files=2, stores=request.param)
    hidden = [copy for copy in pictures if list((copy / "out" / "_writing").glob("part-new-*"))]
    return place, hidden[-1], request.param


def command(*arguments):
    return CliRunner().invoke(app, ["state", *map(str, arguments)])


def test_what_is_shown(killed, data):
    place, _, _ = killed
    done = command(place / "state", "--json")
    assert done.exit_code == 0
    shown = json.loads(done.stdout)
    rows, late = rows_of(data, "a")
    assert shown["streams"]["a"]["rows"] == sum(1 for id_, _, _ in rows if id_ < FILES * 6) + sum(
        1 for id_ in late if id_ < FILES * 6
    )
    assert shown["streams"]["a"]["late"] == sum(1 for id_ in late if id_ < FILES * 6) == 1
    assert shown["queries"] == {"low": "running", "pairs": "running"}
    assert shown["owner"] is None
    results = {name: sum(counts.values()) for name, counts in found(place).items()}
    assert shown["results"] == results["low"] + results["pairs"]
    text = command(place / "state")
    assert text.exit_code == 0
    assert "2 running" in text.stdout
    assert "not in use" in text.stdout
    assert "results are in" in text.stdout


def test_a_folder_in_use(tmp_path, data, killed):
    place = copied(killed[1], tmp_path / "copy")
    owner = StartedState.open(place / "state", Script.parse(SCRIPT)).folder.owner
    assert "in use by process" in command(place / "state").stdout
    for option in ("--check", "--compact"):
        done = command(place / "state", option)
        assert isinstance(done.exception, StateError)
        assert done.exit_code == 1
        assert f"in use by process {os.getpid()}" in str(done.exception)
        assert f"stop it before {option.strip('-')}ing" in str(done.exception)
    owner.release()
    assert command(place / "state", "--check").exit_code == 0


def test_no_state_at_all(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter").write_text("mine")
    (tmp_path / "file").write_text("mine")
    folder = Folder.open(tmp_path / "empty")
    folder.owner.release()
    cases = {
        "other": "is not a state",
        "file": "is a file",
        "none": "does not exist",
        "empty": "nothing was committed",
    }
    for name, words in cases.items():
        for option in ([], ["--check"], ["--compact"], ["--json"]):
            done = command(tmp_path / name, *option)
            assert isinstance(done.exception, StateError), (name, option)
            assert done.exit_code == 1
            assert words in str(done.exception)
    assert not (tmp_path / "none").exists()
    assert command(tmp_path / "other", "--check", "--compact").exit_code == 2


def damages(place):
    """Each kind of damage: its name, and what does it."""
    journal, checkpoints = documents(place, "journal"), documents(place, "checkpoint")
    yield "the last entry", lambda: flip(journal[-1], 60)
    yield "the last entry, cut", lambda: cut(journal[-1], 60)
    yield "an entry", lambda: flip(journal[-2], 60)
    yield "an entry, gone", journal[-2].unlink
    yield "the newest checkpoint", lambda: cut(checkpoints[-1], 100)
    yield "the checkpoint before", lambda: flip(checkpoints[0], 100)
    yield "the owner", lambda: cut(place / "state" / "owner", 10)
    yield "what the folder is", lambda: flip(place / "state" / "penstock-state.json", 50)
    yield "rows", lambda: [flip(path, path.stat().st_size // 2) for path in row_files(place)]
    yield "rows, gone", lambda: shutil.rmtree(place / "state" / "streams")
    yield "results, gone", lambda: shutil.rmtree(place / "out")
    yield "a hidden part, gone", lambda: next((place / "out" / "_writing").glob("part-new-*")).unlink()


def row_files(place):
    return [path for path in (place / "state" / "streams").rglob("*") if path.is_file()]


@pytest.mark.parametrize("number", range(12))
def test_the_check_finds_each_kind_of_damage(tmp_path, killed, number):
    place = copied(killed[1], tmp_path / "copy")
    assert problems_in(place / "state", also=lambda image: missing_results(image, place / "out")) == []
    name, damage = list(damages(place))[number]
    damage()
    try:
        problems = problems_in(place / "state", also=lambda image: missing_results(image, place / "out"))
    except StateError as error:
        problems = [str(error)]
    assert problems, name
    assert all(len(each) > 20 for each in problems)


def test_committed_results_are_there_or_published_or_missed(tmp_path, data):
    """Whatever was published since, also by later runs, and queries without results have parts of number 0."""
    place, album = tmp_path / "place", tmp_path / "album"
    place.mkdir()
    points = ["entry.durable", "reveal.renamed", "publish.renamed", "publish.removed"]
    with Camera(place, album, points).rolling() as camera:
        SmallRun(place, data, script=SCRIPT + "CREATE QUERY none AS SELECT id FROM a WHERE k > 99;\n").go()
    missed = 0
    for point, copy in camera.taken:
        out, state = copy / "out", copy / "state"

        def problems(out=out, state=state):
            return problems_in(state, also=lambda image: missing_results(image, out))

        assert problems() == [], point
        _, known = found_in(state)
        pending = Image.of(known.checkpoint, known.entries).pending
        there = [out / name for pair in pending for name in pair if (out / name).exists()]
        for number, query in enumerate(("low", "none", "other")):
            (out / query).mkdir(exist_ok=True)
            pq.write_table(pa.table({"id": [1]}), out / query / f"part-0002-0000000{number % 2}.parquet")
        assert problems() == [], point
        for path in there:
            path.unlink()
        if not point.startswith("publish"):  # else some of them are also in a published file
            assert len(problems()) == len(there)
            missed += len(there)
    assert missed > 10


def test_the_check_says_so(tmp_path, killed):
    place = copied(killed[1], tmp_path / "copy")
    done = command(place / "state", "--check")
    assert done.exit_code == 0
    assert "is whole" in done.stdout
    for path in row_files(place):
        flip(path, path.stat().st_size // 2)
    done = command(place / "state", "--check")
    assert done.exit_code == 1
    assert "the checksum differs" in done.stdout
    done = command(place / "state", "--check", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["problems"]


def test_a_compact_state_goes_on(tmp_path, killed, data):
    for number, source in enumerate(killed[:2]):
        place = copied(source, tmp_path / f"copy-{number}")
        done = command(place / "state", "--compact", "--json")
        assert done.exit_code == 0, done.exception
        sizes = json.loads(done.stdout)
        assert sizes["after"] < sizes["before"]
        assert (len(documents(place, "journal")), len(documents(place, "checkpoint"))) == (0, 1)
        assert command(place / "state", "--check").exit_code == 0
        SmallRun(place, data, stores=killed[2]).go()
        assert found(place) == expected(data)


def test_compacting_may_end_at_any_time(tmp_path, killed, data):
    place = copied(killed[1], tmp_path / "copy")
    points = ["entry.durable", "checkpoint.before", "checkpoint.named", "checkpoint.durable", "rows.flushed"]
    camera = Camera(place, tmp_path / "album", points)
    with camera.rolling():
        compact(place / "state")
    assert len(camera.taken) >= 4
    for _, copy in camera.taken:
        SmallRun(copy, data, stores=killed[2]).go()
        assert found(copy) == expected(data)


def test_compacting_twice_and_between_runs(tmp_path, killed, data):
    place = copied(killed[1], tmp_path / "copy")
    for _ in range(2):
        compact(place / "state")
        compact(place / "state")
        SmallRun(place, data, files=1, drain=False, stores=killed[2]).go()
    compact(place / "state")
    SmallRun(place, data, stores=killed[2]).go()
    assert found(place) == expected(data)
