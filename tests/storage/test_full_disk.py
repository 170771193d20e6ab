"""A disk that is full, at each kind of write: the run says so and stops, and the next one goes on."""

import errno
import os
import re
import subprocess
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from penstock.errors import RunError
from penstock.storage import faults, files
from penstock.storage.faults import POINTS, Fault
from tests.storage.damage import too_many
from tests.storage.small_run import SmallRun, expected, found, make_files

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 13


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=4)


@contextmanager
def full_at(point, count=1):
    """From the nth time that a point is reached on, it is as if the disk were full there."""

    def fail():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")

    class Full(Fault):
        def reached(self, point):
            super().reached(point)
            if point == self._point and self._left < 0:
                fail()

    with patch.object(faults, "armed", [Full(point, count, fail)]):
        yield


def stopped(place, data, point, count, **keywords):
    """Run with a disk that becomes full; return what was said, or None if that point was not reached."""
    with full_at(point, count):
        return refusal(SmallRun(place, data, **keywords))


def refusal(run):
    """Run; return with which sentence it stopped."""
    try:
        run.go()
    except RunError as error:
        return str(error)
    return None


NEVER = {"retention.before", "retention.removed", "recovery.renamed"}
"""These points need a longer run."""
BESIDES = {"rows.before", "rows.written", "rows.flushed"}


@pytest.mark.parametrize(
    ("stores", "count", "points"),
    [
        (False, 1, POINTS),
        (True, 1, ["segment.flushed"]),
        pytest.param(True, 1, POINTS, marks=pytest.mark.slow),
        pytest.param(False, 3, POINTS, marks=pytest.mark.slow),
        pytest.param(True, 3, POINTS, marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_stops_the_run_at_its_last_commit(tmp_path, data, stores, count, points):
    for point in points:
        place = tmp_path / point
        place.mkdir()
        if point.startswith("recovery"):
            SmallRun(place, data, files=2, drain=False, stores=stores).go()
        said = stopped(place, data, point, count, stores=stores)
        skipped = NEVER | (BESIDES if stores else {"segment.flushed"})
        assert (said is None) == (point in skipped or (count > 1 and said is None)), point
        if said is not None:
            assert re.search("no room is left.*start again", said), (point, said)
        want = expected(data)
        assert not too_many(place, want), point
        SmallRun(place, data, stores=stores).go()
        assert found(place) == want, (point, said)


@pytest.mark.slow
@pytest.mark.parametrize("stores", [False, True])
def test_a_disk_that_is_full_again_and_again(tmp_path, data, stores):
    for point in POINTS:
        place = tmp_path / point
        place.mkdir()
        for count in (2, 1, 4, 3, 5):
            stopped(place, data, point, count, stores=stores, files=count, drain=False)
        SmallRun(place, data, stores=stores).go()
        assert found(place) == expected(data), point


@pytest.mark.parametrize("name", ["owner", "penstock-state.json"])
def test_no_room_for_the_first_files(tmp_path, data, name):
    write = files._write

    def full(path, content, point):
        if name in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, content, point)

    with patch.object(files, "_write", full), pytest.raises(RunError, match="no room is left for the state"):
        SmallRun(tmp_path, data).go()
    SmallRun(tmp_path, data).go()
    assert found(tmp_path) == expected(data)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of half a megabyte; skipped where it cannot be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("stores", [False, True])
def test_a_real_disk_that_is_full(small_disk, data, stores):
    """Room for less and less: each time the run says that it is too little, and in the end it goes on."""
    ballast = small_disk / "ballast"
    refusals = 0
    for room in (0, 4, 8, 16, 24, 32, 40, 60, 80):
        ballast.unlink(missing_ok=True)
        free = os.statvfs(small_disk)
        size = free.f_bavail * free.f_bsize - room * 1024
        if size > 0:
            ballast.write_bytes(bytes(size))
        said = refusal(SmallRun(small_disk, data, stores=stores, files=1, drain=False))
        if said is not None:
            refusals += 1
            assert "room" in said
    ballast.unlink()
    assert refusals > 2
    SmallRun(small_disk, data, stores=stores).go()
    assert found(small_disk) == expected(data)
