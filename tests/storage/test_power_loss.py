"""A loss of power keeps what was flushed, and nothing else for sure. The next run goes on, with right results."""

import os
import stat
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from penstock.storage import faults
from tests.storage.small_run import SmallRun, expected, found, make_files

SEED = 23


class Disk:
    """A place, and what of it a loss of power leaves.

    POSIX promises the contents of a file as of its last flush, and the names in a folder as of that folder's.
    All else may be on the disk or not.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._folders: set[int] = set()
        self._held: dict[int, int] = {}
        """A handle of each file and folder that was seen: while it is open, its number is not used again."""
        self._take_folder(place)

    def flush(self, handle: int) -> None:
        """What `os.fsync` does."""
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.is_relative_to(self._place) and path.exists():
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                self._take_folder(path)
            else:
                self._contents[self._number(path)] = path.read_bytes()

    def _take_folder(self, path: Path) -> None:
        number = self._number(path)
        self._folders.add(number)
        self._names[number] = {each.name: self._number(each) for each in path.iterdir()}

    def _number(self, path: Path) -> int:
        number = path.stat().st_ino
        if number not in self._held:
            self._held[number] = os.open(path, os.O_RDONLY)
        if path.is_dir():
            self._folders.add(number)
        return number

    def left(self, to: Path, *, names: bool, contents: bool) -> Path:
        """Write what is left; by chance, all names that are there now, or all contents, are on the disk."""
        now = Disk(self._place)
        with now.closing():
            for path in self._place.rglob("*"):
                if path.is_dir():
                    now._take_folder(path)
                else:
                    now._contents[now._number(path)] = path.read_bytes()
            all_names = now._names if names else self._names
            all_contents = self._contents | (now._contents if contents else {})
            self._write(to, now._number(self._place), all_names, all_contents, self._folders | now._folders)
        return to

    def _write(
        self,
        to: Path,
        number: int,
        names: dict[int, dict[str, int]],
        contents: dict[int, bytes],
        folders: set[int],
    ) -> None:
        to.mkdir()
        for name, each in names.get(number, {}).items():
            if each in folders:
                self._write(to / name, each, names, contents, folders)
            else:
                (to / name).write_bytes(contents.get(each, b""))

    @contextmanager
    def closing(self):
        try:
            yield self
        finally:
            for handle in self._held.values():
                os.close(handle)

    @contextmanager
    def in_use(self, reached):
        """Take note of all flushes; call `reached` at each fault point."""
        with self.closing(), ExitStack() as stack:
            for name in ("fsync", "fdatasync"):
                stack.enter_context(patch(f"os.{name}", lambda file: self.flush(_handle(file))))
            stack.enter_context(patch.object(faults, "armed", [_Watcher(reached)]))
            yield


def _handle(file) -> int:
    return file if isinstance(file, int) else file.fileno()


class _Watcher:
    def __init__(self, reached) -> None:
        self.reached = reached


CHANCES = [
    {"names": False, "contents": False},
    {"names": True, "contents": False},
    {"names": False, "contents": True},
]


@pytest.mark.parametrize("stores", [False, True], ids=["row logs", "segments"])
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_nothing_is_lost_or_doubled(tmp_path, stores, every):
    data = make_files(tmp_path / "in", SEED, files=6)
    place = tmp_path / "place"
    place.mkdir()
    disk = Disk(place)
    reached: list[str] = []
    left: list[tuple[str, Path]] = []

    def lose_power(point: str) -> None:
        reached.append(point)
        if len(reached) % every == 0:
            # Often in turns: all three at each point would take long
            chances = CHANCES if every == 1 else [CHANCES[len(left) % len(CHANCES)]]
            left.extend(
                (point, disk.left(tmp_path / f"{len(left):04d}-{n}", **each)) for n, each in enumerate(chances)
            )

    with disk.in_use(lose_power):
        SmallRun(place, data, files=3, drain=False, stores=stores).go()
        SmallRun(place, data, stores=stores).go()
    assert found(place) == expected(data)
    assert len(left) > 15
    with patch("os.fsync", lambda file: None), patch("os.fdatasync", lambda file: None):
        for point, copy in left:
            SmallRun(copy, data, stores=stores).go()
            assert found(copy) == expected(data), (point, copy)
