"""Making the archive of Java's classes: in a process of its own, complete or not at all.

`python -m penstock.spark.archive_making` makes one at the lowest priority and says nothing; `penstock run` starts
that after a run that had no archive.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import RunError
from penstock.spark.class_archive import (
    ARCHIVE,
    RECORD,
    archive_folder,
    archives_folder,
    mode,
    options_with,
    ready_archive,
    reason_against,
    remove_archive,
    spark_home,
    write_record,
)
from penstock.spark.java import check_java, java_path

try:
    import fcntl
except ImportError:  # Windows: two processes may make an archive at the same time, and one of them keeps it
    fcntl = None  # type: ignore[assignment]

LEAST_ROOM = 1_000_000_000
"""Bytes that must be free on the disk; an archive takes about 160 MB."""
LONGEST_S = 900.0
"""When making an archive is given up, in seconds."""
_MAKING, _FAILED, _LOCK = "making", ".failed", "making.lock"


def make_archive(on_stage: Callable[[str], object] = lambda text: None) -> Path:
    """Make the archive for this Java and Spark, and return it; raise an error if that is impossible.

    If there is one, nothing is made.
    """
    check_java()
    folder = _possible_folder()
    archives_folder().mkdir(parents=True, exist_ok=True)
    check_room(archives_folder())
    with _locked():
        found = ready_archive(folder)
        if found is not None:
            return found
        _remove_leftovers(folder)
        part = folder.with_name(f"{folder.name}.{_MAKING}-{os.getpid()}")
        part.mkdir()
        try:
            on_stage("running a small script, whose classes Java archives")
            _train(part / ARCHIVE)
            write_record(part, java_path() or "", str(spark_home()))
            with contextlib.suppress(OSError):  # another process was first
                part.rename(folder)
        except RunError as error:
            _failed(folder).write_text(str(error))
            raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
        _failed(folder).unlink(missing_ok=True)
    made = ready_archive(folder)
    if made is None:
        raise RunError(f"the archive in {folder} cannot be read")
    return made


def _possible_folder() -> Path:
    against = reason_against({}, "local[*]")
    if against is not None:
        raise RunError(f"no archive can be used here: {against}")
    folder = archive_folder()
    if folder is None:
        raise RunError("no archive can be made: Spark's folder of jars was not found")
    if options_with(folder / ARCHIVE) is None:
        raise RunError(f"no archive can be made in {folder}: Java takes no such path as an option")
    return folder


def check_room(folder: Path) -> None:
    """Raise an error if the disk has little room."""
    free = shutil.disk_usage(folder).free
    if free < LEAST_ROOM:
        raise RunError(f"{folder} has {free / 1e6:,.0f} MB of free space, less than {LEAST_ROOM / 1e6:,.0f}")


def _train(archive: Path) -> None:
    """Run the training script in a process of its own, and wait until its Java has written the archive."""
    command = [sys.executable, "-P", "-m", "penstock.spark.archive_training", str(archive)]
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        # Java inherits the pipe, so the output ends when Java does
        output, _ = child.communicate(timeout=LONGEST_S)
    except BaseException as error:
        _end(child)
        if isinstance(error, subprocess.TimeoutExpired):
            raise RunError(f"no archive after {LONGEST_S:g} s") from error
        raise
    lines = output.decode(errors="replace").strip().splitlines()
    if child.returncode or not archive.is_file() or not archive.stat().st_size:
        raise RunError(f"Java made no archive: {lines[-1][:300] if lines else 'it does not say why'}")


def _end(child: "subprocess.Popen[bytes]") -> None:
    """End a process and its Java, which is in its group."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
    child.wait()


@contextmanager
def _locked() -> Iterator[None]:
    """Let one process at a time make an archive; the lock ends with the process."""
    with (archives_folder() / _LOCK).open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RunError("another process is making an archive; try again in a minute") from error
        yield


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes left that were ended, and archives that nothing can use any more."""
    mine = (java_path(), str(spark_home()))
    for each in archives_folder().iterdir():
        if f".{_MAKING}-" in each.name or ".removed-" in each.name:
            shutil.rmtree(each, ignore_errors=True)
        elif each.is_dir() and each != folder:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                record = json.loads((each / RECORD).read_text())
                theirs = (record["java"], record["home"])
                if theirs == mine or not all(map(os.path.exists, theirs)):
                    remove_archive(each)


def remove_all() -> int:
    """Remove all archives, and return how many bytes that frees."""
    folder = archives_folder()
    freed = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) if folder.is_dir() else 0
    shutil.rmtree(folder, ignore_errors=True)
    return freed


def failure(folder: Path) -> str | None:
    """Return why making the archive of a folder failed; None if it did not."""
    try:
        return _failed(folder).read_text()
    except OSError:
        return None


def _failed(folder: Path) -> Path:
    return folder.with_name(folder.name + _FAILED)


def make_in_background(conf: Mapping[str, str], master: str) -> bool:
    """Start a process that makes the archive, if there is none; return whether it was started.

    It is not tried again after a failure; `penstock warm` does that.
    """
    if mode() != "auto" or reason_against(conf, master) is not None:
        return False
    try:
        folder = archive_folder()
        if folder is None or folder.is_dir() or _failed(folder).exists():
            return False
        archives_folder().mkdir(parents=True, exist_ok=True)
        check_room(archives_folder())
        subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock.spark.archive_making"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, RunError):
        return False
    return True


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(19)
    with contextlib.suppress(RunError, OSError):
        make_archive()
