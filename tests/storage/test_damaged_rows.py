"""Row logs and segments that are damaged, cut off or missing: refused if they are needed, by the file's name."""

import shutil

import pytest

from penstock.storage.image import Image
from penstock.storage.inspection import found_in
from penstock.storage.verification import problems_in
from tests.storage.damage import Damaged, cut, flip
from tests.storage.small_run import copied, documents, make_files, photographed

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=7)


@pytest.fixture(scope="module", params=[False, True], ids=["row logs", "segments"])
def killed(request, data, tmp_path_factory):
    """What a process leaves that is killed after an entry with new rows, before a job took them."""
    place, pictures = photographed(tmp_path_factory.mktemp("killed"), data, files=3, stores=request.param)
    return place, pictures, request.param


def files_needed(place):
    """Return the files with rows that windows or queues need, from the journal alone."""
    _, found = found_in(place / "state")
    image = Image.of(found.checkpoint, found.entries)
    image.forget_chunks()
    return sorted(image.files)


def with_waiting_rows(pictures):
    return next(each for each in pictures[2:] if files_needed(each))


@pytest.fixture
def damaged(killed, data, tmp_path):
    return Damaged(with_waiting_rows(killed[1]), data, tmp_path, stores=killed[2])


def damages(name):
    """Each damage to a file: what is done, and a word of what is said."""
    yield lambda place: flip(place / "state" / name, 60), "damaged"
    yield lambda place: cut(place / "state" / name, 70), "rows of the state"
    yield lambda place: cut(place / "state" / name, 0), "rows of the state"
    yield lambda place: (place / "state" / name).unlink(), "missing"


def test_needed_rows_that_are_damaged_are_named(damaged):
    for name in files_needed(damaged.place):
        for damage, word in damages(name):
            damaged.refused(damage, name, word)
    damaged.refused(lambda place: shutil.rmtree(place / "state" / "streams"), "missing")


def test_a_refusal_harms_nothing(damaged):
    """When the file is there again, the run goes on."""
    name = files_needed(damaged.place)[0]
    damaged.refused(lambda place: flip(place / "state" / name, 60), name)
    refused = Damaged(damaged.last, damaged.data, damaged.album, **damaged.keywords)
    refused.right(lambda place: flip(place / "state" / name, 60))


def test_the_check_finds_what_a_run_would(damaged, tmp_path):
    place = copied(damaged.place, tmp_path / "copy")
    assert problems_in(place / "state") == []
    for name in files_needed(place):
        whole = (place / "state" / name).read_bytes()
        flip(place / "state" / name, 60)
        [said, *_] = problems_in(place / "state")
        assert name in said
        assert "checksum" in said
        (place / "state" / name).write_bytes(whole)


def test_every_byte_of_a_needed_file_counts(damaged, tmp_path):
    place = copied(damaged.place, tmp_path / "copy")
    name = files_needed(place)[-1]
    path = place / "state" / name
    whole = path.read_bytes()
    [end] = {len(whole)} if name.endswith(".parquet") else {needed_until(place, name)}
    begin = 0 if name.endswith(".parquet") else needed_from(place, name)
    for at in range(begin, end, 17):
        flip(path, at, 1 << at % 8)
        assert problems_in(place / "state"), at
        path.write_bytes(whole)


def places_of(place, name):
    _, found = found_in(place / "state")
    image = Image.of(found.checkpoint, found.entries)
    return [about["at"] for about in image.places() if "at" in about and about["at"][0] == name]


def needed_from(place, name):
    return min(start for _, start, _, _ in places_of(place, name))


def needed_until(place, name):
    return max(start + size for _, start, size, _ in places_of(place, name))


def test_rows_that_nothing_needs_may_go(killed, data, tmp_path):
    """Files that only a checkpoint before the newest one names."""
    for picture in killed[1][2::5]:
        unneeded = {name for name in files_there(picture) if name not in files_needed(picture)}

        def remove(place, unneeded=unneeded):
            for name in unneeded:
                (place / "state" / name).unlink()

        Damaged(picture, data, tmp_path, stores=killed[2]).right(remove)


def files_there(place):
    rows = [*(place / "state" / "streams").rglob("*"), *(place / "state" / "queues").rglob("*")]
    return [str(path.relative_to(place / "state")) for path in rows if path.is_file()]


def test_the_older_checkpoint_still_finds_its_rows(killed, data, tmp_path):
    """Retention keeps what the checkpoint before the newest one needs, and its entries."""
    for picture in [killed[0], *killed[1][::4]]:
        Damaged(picture, data, tmp_path, stores=killed[2]).right(
            lambda place: documents(place, "checkpoint")[-1].unlink()
        )


def test_files_of_a_process_that_died_are_removed(damaged):
    stray = damaged.place / "state" / "streams" / "=a" / "000009-00000001.rows"

    def leave(place):
        path = place / stray.relative_to(damaged.place)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rows")
        leave.path = path

    damaged.right(leave)
    assert not leave.path.exists()
