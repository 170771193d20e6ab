"""Torn and rotten state folders: the results are right, or the run refuses and says what is wrong."""

import json
import shutil
from random import Random

import pyarrow.parquet as pq
import pytest

from penstock.errors import RunError
from penstock.language import Script
from penstock.storage.folder import Folder
from penstock.storage.started import StartedState
from tests.storage.damage import Damaged, cut, flip
from tests.storage.small_run import SCRIPT, Camera, SmallRun, copied, documents, found, make_files

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 11


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=7)


@pytest.fixture(scope="module")
def album(data, tmp_path_factory):
    """What a killed process leaves at each fault point, first and last time; the place itself ended well."""
    folder = tmp_path_factory.mktemp("album")
    place = folder / "place"
    place.mkdir()
    SmallRun(place, data, files=2, drain=False).go()
    camera = Camera(place, folder / "pictures", ["entry.durable", "reveal.after", "checkpoint.durable"])
    with camera.rolling():
        SmallRun(place, data, files=4, drain=False).go()
    return place, camera.taken


@pytest.fixture
def ended(album, data, tmp_path):
    """A run that was stopped."""
    return Damaged(album[0], data, tmp_path)


def pictures(album, point):
    return [place for taken, place in album[1] if taken == point]


@pytest.fixture
def committed(album, data, tmp_path):
    """A run that was killed when results were committed, and not revealed yet."""
    places = pictures(album, "entry.durable")
    place = [each for each in places if list((each / "out" / "_writing").glob("part-*"))][-1]
    return Damaged(place, data, tmp_path)


@pytest.fixture
def revealed(album, data, tmp_path):
    """A run that was killed when results had been revealed."""
    place = [each for each in pictures(album, "reveal.after") if list((each / "out").glob("_recent/*/*"))][-1]
    return Damaged(place, data, tmp_path)


def positions(place):
    """Return the last part of the results that a state knows."""
    about = entry_of(last(place))["sink"]
    return about["run"], about["part"]


def entry_of(path):
    return json.loads(path.read_bytes().partition(b"\n")[2])


def last(place, folder="journal"):
    return documents(place, folder)[-1]


def recovered(place):
    """Return what is read of a state, as far as it decides what happens then; or the refusal."""
    try:
        folder = Folder.open(place / "state")
    except RunError as error:
        return str(error)
    folder.owner.release()
    return folder.image


# The journal ------------------------------------------------------------------------------------------------


def test_nothing_is_wrong_without_damage(ended, committed, revealed):
    for each in (ended, committed, revealed):
        each.right(lambda place: None)


def test_a_last_entry_that_is_cut_anywhere_counts_as_not_written(album, tmp_path):
    place = copied(pictures(album, "entry.durable")[-1], tmp_path / "cut")
    data = last(place).read_bytes()
    last(place).unlink()
    before = recovered(place)
    for length in range(len(data)):
        path = last(place).with_name(f"{int(last(place).stem) + 1:012d}.json")
        path.write_bytes(data[:length])
        assert recovered(place) == before, length
        assert not path.exists()


def test_results_of_a_torn_last_entry_come_again_if_they_were_not_revealed(committed, data):
    size = last(committed.place).stat().st_size
    for length in (0, 1, 40, size // 2, size - 1):
        committed.right(lambda place, length=length: cut(last(place), length))
        assert "going on before it" in " ".join(committed.events)


def test_a_torn_last_entry_whose_results_were_revealed_is_refused(revealed):
    for length in (0, 30, 100):
        revealed.refused(lambda place, length=length: cut(last(place), length), "state is older than its results")
    revealed.refused(lambda place: last(place).unlink(), "state is older than its results")


def test_an_entry_is_missing_or_damaged_before_later_ones(album, data, tmp_path):
    damaged = Damaged(pictures(album, "entry.durable")[-1], data, tmp_path)
    entries = documents(damaged.place, "journal")
    checkpoint = int(last(damaged.place, "checkpoint").stem)
    needed = [path.name for path in entries if int(path.stem) > checkpoint]
    assert len(needed) > 3
    for name in needed[:-1:2]:
        damaged.refused(lambda place, name=name: (place / "state/journal" / name).unlink(), "missing", "later")
        damaged.refused(lambda place, name=name: flip(place / "state/journal" / name, 70), name, "later ones")


# Any byte of any document -----------------------------------------------------------------------------------


def documents_of(place):
    journal, checkpoints = documents(place, "journal"), documents(place, "checkpoint")
    names = ["owner", "penstock-state.json"]
    return [*journal[-1:], *journal[len(journal) // 2 :][:1], *checkpoints, *(place / "state" / n for n in names)]


@pytest.mark.parametrize(
    ("bits", "every"), [(1, 41), (16, 53), *(pytest.param(1 << n, 1, marks=pytest.mark.slow) for n in range(8))]
)
def test_a_changed_byte_is_found_or_does_not_matter(album, tmp_path, bits, every):
    """All that a run would go on with is the same, or it is what was committed before."""
    place = copied(pictures(album, "entry.durable")[-1], tmp_path / "flipped")
    whole = recovered(place)
    without = copied(place, tmp_path / "without")
    last(without).unlink()
    before = recovered(without)
    for path in documents_of(place):
        content = path.read_bytes()
        for at in {*range(0, len(content), every), *range(20)}:
            flip(path, at % len(content), bits)
            got = recovered(place)
            assert isinstance(got, str) or got in (whole, before), (path, at)
            path.with_suffix(".damaged").unlink(missing_ok=True)
            path.write_bytes(content)


@pytest.mark.parametrize("seed", range(2))
def test_runs_after_a_changed_byte(album, data, tmp_path, seed):
    random = Random(seed)
    _, place = random.choice(album[1])
    damaged = Damaged(place, data, tmp_path)
    for name in [str(path.relative_to(place)) for path in documents_of(place)]:
        at = random.randrange((place / name).stat().st_size)
        damaged.outcome(lambda copy, name=name, at=at: flip(copy / name, at, 1 << random.randrange(8)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_runs_after_changed_bytes_tried_often(album, data, tmp_path, seed):
    random = Random(1000 + seed)
    for _ in range(12):
        _, place = random.choice(album[1])
        damaged = Damaged(place, data, tmp_path)
        path = random.choice(
            [each for each in (place / "state").rglob("*") if each.is_file() and each.stat().st_size]
        )
        name = str(path.relative_to(place))
        for at in random.sample(range(path.stat().st_size), 4):
            damaged.outcome(lambda copy, name=name, at=at: flip(copy / name, at, 1 << at % 8))
            damaged.outcome(lambda copy, name=name, at=at: cut(copy / name, at))


# Checkpoints ------------------------------------------------------------------------------------------------


def test_without_the_newest_checkpoint_the_run_goes_on_from_the_one_before(ended, committed):
    for each in (ended, committed):
        assert len(documents(each.place, "checkpoint")) == 2
        each.right(lambda place: last(place, "checkpoint").unlink())
        each.right(lambda place: flip(last(place, "checkpoint"), 200))
        assert "going on from the one before" in " ".join(each.events)
        each.right(lambda place: cut(last(place, "checkpoint"), 100))


def test_without_checkpoints_or_entries_the_run_refuses(ended):
    def without_checkpoints(place):
        for path in documents(place, "checkpoint"):
            path.unlink()

    def without_newest(place):
        last(place, "checkpoint").unlink()
        last(place).unlink()

    def without_all(place):
        without_checkpoints(place)
        for path in documents(place, "journal"):
            path.unlink()

    def with_damaged(place):
        for path in documents(place, "checkpoint"):
            flip(path, 300)

    ended.refused(without_checkpoints, "no checkpoint")
    ended.refused(with_damaged, "no checkpoint can be read", "checksum")
    ended.refused(without_all, "state is older than its results")
    ended.right(without_newest)  # the last entry of a run that was stopped has no results


def test_an_older_copy_of_the_state_is_refused(album, data, tmp_path):
    newest = positions(album[0])
    older = [old for _, old in album[1] if positions(old) < newest]
    assert len(older) > 5
    for old in older[:: len(older) // 5]:
        damaged = Damaged(album[0], data, tmp_path)

        def restore(place, old=old):
            shutil.rmtree(place / "state")
            shutil.copytree(old / "state", place / "state")

        damaged.refused(restore, "state is older than its results")


def test_older_results_beside_a_newer_state_are_refused(album, data, tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    SmallRun(first, data, files=2, drain=False).go()
    old = copied(first / "out", tmp_path / "old")
    SmallRun(first, data, files=2, drain=False).go()

    def restore(place):
        shutil.rmtree(place / "out")
        shutil.copytree(old, place / "out")

    Damaged(first, data, tmp_path).refused(restore, "earlier time than the state")


# Results ----------------------------------------------------------------------------------------------------


def hidden(place):
    return sorted((place / "out" / "_writing").glob("part-new-*"))


def shown_at(place):
    """The place of each hidden part, as its entry has it."""
    return {place / "out" / name: place / "out" / to for name, to in entry_of(last(place))["files"]}


def test_a_committed_part_is_revealed(committed):
    committed.right(lambda place: None)


def test_a_part_under_both_names_is_there_once(committed):
    def both(place):
        for name, to in shown_at(place).items():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, to)

    committed.right(both)


def test_a_part_that_is_nowhere_is_named(committed, data, tmp_path):
    copy = copied(committed.place, tmp_path / "copy")
    [gone, *_] = shown_at(copy)
    rows = {tuple(row.values()) for row in pq.read_table(gone).to_pylist()}
    gone.unlink()
    run = SmallRun(copy, data)
    run.go()
    assert any("was committed and is neither there nor published" in text for text in run.events)
    query = shown_at(committed.place)[committed.place / gone.relative_to(copy)].parent.name
    lost = committed.want[query] - found(copy)[query]
    assert set(lost) == rows


def test_hidden_parts_that_no_entry_names_are_removed(committed, data, tmp_path):
    copy = copied(committed.place, tmp_path / "copy")
    stray = copy / "out" / "_writing" / "part-new-2-99999999.parquet.tmp"
    shutil.copy(hidden(copy)[0], stray)
    SmallRun(copy, data).go()
    assert found(copy) == committed.want
    assert not (copy / "out" / "_writing").exists()


def test_rejected_rows_of_other_runs_stay(ended, data, tmp_path):
    """Runs without the state may add to the folder: their rejected rows are none of its business."""
    copy = copied(ended.place, tmp_path / "copy")
    manifest = copy / "out" / "_penstock.jsonl"
    with manifest.open("a") as file:
        file.write('{"run": 3, "started": "2026-01-01"}\n')
    other = copy / "out" / "_rejected" / "other" / "rows-0003.json"
    other.parent.mkdir(parents=True)
    other.write_text('{"id": 1}\n')
    SmallRun(copy, data).go()
    assert other.read_text() == '{"id": 1}\n'
    assert found(copy) == ended.want


# Leftovers --------------------------------------------------------------------------------------------------


def test_unfinished_files_are_removed(ended, data, tmp_path):
    copy = copied(ended.place, tmp_path / "copy")
    state = copy / "state"
    names = [
        state / "journal" / ".000000000044.json.77.tmp",
        state / "checkpoint" / ".1.json.9.tmp",
        state / ".owner.5.tmp",
        state / ".penstock-state.json.5.tmp",
    ]
    for path in names:
        path.write_bytes(b"half")
    SmallRun(copy, data).go()
    assert found(copy) == ended.want
    assert not list(state.rglob("*.tmp"))


def test_a_process_that_died_when_it_began_leaves_a_new_state(data, tmp_path):
    state = tmp_path / "state"
    folder = Folder.open(state)
    folder.owner.release()
    for name in ("journal", "checkpoint"):
        (state / name).rmdir()
    (state / "penstock-state.json").rename(state / ".penstock-state.json.12.tmp")
    SmallRun(tmp_path, data).go()
    assert found(tmp_path) == Damaged(tmp_path, data, tmp_path).want


def test_an_owner_file_that_was_lost_does_not_repeat_epochs(ended, data, tmp_path):
    def lost(place):
        (place / "state" / "owner").unlink()

    def damaged(place):
        cut(place / "state" / "owner", 20)

    for damage in (lost, damaged):
        ended.right(damage)
    copy = copied(ended.place, tmp_path / "copy")
    lost(copy)
    started = StartedState.open(copy / "state", Script.parse(SCRIPT))
    assert started.folder.owner.epoch > started.folder.image.run["epoch"]
    started.folder.owner.release()
