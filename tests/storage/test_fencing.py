"""Two processes and one state: the second is refused; if it takes over, the first stops when it comes back."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from unittest.mock import patch

import pytest

from penstock.errors import RunError
from penstock.language import Script
from penstock.sinks.run_marker import RunMarker
from penstock.storage import faults
from penstock.storage.documents import StateError
from penstock.storage.faults import POINTS, Fault
from penstock.storage.owner import FencedError, is_owned
from penstock.storage.started import StartedState
from tests.storage.damage import too_many
from tests.storage.small_run import SCRIPT, Inline, SmallRun, documents, expected, found, make_files

SEED = 14
NEVER = {"retention.before", "retention.removed", "recovery.renamed", "segment.flushed"}
"""The runs here do not reach these points."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=4)


def test_a_second_process_is_refused(tmp_path, data):
    script = Script.parse(SCRIPT)
    first = StartedState.open(tmp_path / "state", script)
    before = (tmp_path / "state" / "owner").read_bytes()
    with pytest.raises(StateError, match=f"in use by process {os.getpid()} .*--take-over"):
        SmallRun(tmp_path, data).go()
    assert (tmp_path / "state" / "owner").read_bytes() == before
    first.folder.owner.release()
    SmallRun(tmp_path, data).go()
    assert found(tmp_path) == expected(data)


def paused_at(point, count, place, data, files):
    """Run; at a fault point, another run takes over and reads files. Return what the first one says then."""
    done = []

    def take_over():
        armed.clear()
        SmallRun(place, data, files=files, drain=files is None, take_over=True).go()
        done.append(found(place))

    armed = [Fault(point, count, take_over)]
    with patch.object(faults, "armed", armed):
        try:
            SmallRun(place, data).go()
        except RunError as error:
            return error, done
    return None, done


TRIED_OFTEN = [pytest.param(count, files, marks=pytest.mark.slow) for count in (2, 4) for files in (None, 0, 1)]


@pytest.mark.parametrize(("count", "files"), [(1, None), *TRIED_OFTEN])
@pytest.mark.usefixtures("no_flushes")
def test_a_process_that_comes_back_changes_nothing(tmp_path, data, count, files):
    """Wherever it was when another one took over: results and state stay as the other one left them."""
    want = expected(data)
    for point in POINTS:
        place = tmp_path / point
        place.mkdir()
        if point.startswith("recovery"):
            SmallRun(place, data, files=1, drain=False).go()
        error, done = paused_at(point, count, place, data, files)
        if point in NEVER or (count > 1 and not done):
            continue
        [then] = done
        assert files is not None or then == want, point
        assert isinstance(error, FencedError), (point, error)
        assert "taken over by process" in str(error)
        assert found(place) == then, point
        SmallRun(place, data).go()
        assert found(place) == want, point
        assert not too_many(place, want)


@pytest.mark.parametrize("stores", [False, True], ids=["row logs", "segments"])
@pytest.mark.parametrize(
    "point", ["rows.flushed", "entry.before", "entry.flushed", "entry.named", "reveal.before"]
)
@pytest.mark.parametrize("count", [2, 5, 9])
@pytest.mark.usefixtures("no_flushes")
def test_a_process_that_goes_on_while_another_begins(tmp_path, data, point, count, stores):
    """The other one has read the state, but has committed no work yet."""
    with ExitStack() as stack:
        for module in ("job_runner", "publishing"):
            stack.enter_context(patch(f"penstock.runtime.{module}.ThreadPoolExecutor", Inline))
        begun = []

        def take_over():
            armed.clear()
            second = SmallRun(tmp_path, data, take_over=True, stores=stores)
            begun.append(stack.enter_context(second.opened()))

        armed = [Fault(point, count, take_over)]
        stack.enter_context(patch.object(faults, "armed", armed))
        try:
            SmallRun(tmp_path, data, stores=stores).go()
        except FencedError:
            pass
        else:
            assert not begun
        for runtime in begun:
            runtime.run()
    SmallRun(tmp_path, data, stores=stores).go()
    assert found(tmp_path) == expected(data)
    assert not too_many(tmp_path, expected(data))


def test_who_lost_a_state_cannot_start_again(tmp_path):
    """Its restart, by systemd say, finds the locks of the other process."""
    script = Script.parse(SCRIPT)
    first, marker = StartedState.open(tmp_path / "state", script), RunMarker(tmp_path)
    marker.take()
    second, other = StartedState.open(tmp_path / "state", script, take_over=True), RunMarker(tmp_path)
    with pytest.raises(RunError, match="another run is writing to"):
        other.take()
    other.take(force=True)
    for _ in range(2):
        with pytest.raises(StateError, match="in use by process"):
            StartedState.open(tmp_path / "state", script)
        with pytest.raises(RunError, match="another run is writing to"):
            RunMarker(tmp_path).check_free()
        assert is_owned(tmp_path / "state")
        first.folder.owner.release()
        marker.release(ended_well=True)
    assert other.since is not None, "the marker is that of another run"
    second.folder.owner.release()
    other.release(ended_well=True)
    assert not is_owned(tmp_path / "state")
    RunMarker(tmp_path).check_free()


def test_a_state_that_was_removed_and_begun_anew_is_not_ours(tmp_path, data):
    """The new one has the same path and the same epoch."""
    script = Script.parse(SCRIPT)
    first = StartedState.open(tmp_path / "state", script).folder
    (tmp_path / "state").rename(tmp_path / "old")
    second = StartedState.open(tmp_path / "state", script).folder
    assert first.owner.epoch == second.owner.epoch
    second.owner.check()
    with pytest.raises(FencedError):
        first.owner.check()
    first.owner.release()
    second.owner.release()


PAUSED = """
import sys, time
from pathlib import Path
from tests.storage.small_run import FolderSource, SmallRun

class Slow(FolderSource):
    def poll(self, now_us, most_rows):
        time.sleep(0.02)
        yield from super().poll(now_us, most_rows)

place, data = map(Path, sys.argv[1:])
SmallRun(place, data, source_of=lambda stream, position: Slow(data / stream.name, position)).go()
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay_s", [0.0, 0.013, 0.031, 0.05, 0.11])
def test_a_paused_process_that_comes_back_stops(tmp_path, delay_s):
    data = make_files(tmp_path / "data", SEED, files=60, rows=2)
    place = tmp_path / "place"
    place.mkdir()
    process = subprocess.Popen([sys.executable, "-c", PAUSED, place, data], stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 30
        while len(documents(place, "journal")) < 5 and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(delay_s)
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(StateError, match="--take-over"):
            SmallRun(place, data).go()
        SmallRun(place, data, take_over=True).go()
        assert found(place) == expected(data)
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "was taken over by process" in said.splitlines()[-1], said
    assert found(place) == expected(data)
