"""The owner of a state folder: one process at a time, and a number (epoch) that tells it from earlier ones.

The process that owns the folder holds a lock, which ends with the process. A process that takes the folder over
from one that does not answer raises the epoch, and the other finds that out before it writes.
"""

import json
import os
import socket
from pathlib import Path
from typing import Any, TextIO

from penstock.storage.documents import DamagedError, StateError, encoded, read_document
from penstock.storage.files import make_folder, replace_file

try:
    import fcntl
except ImportError:  # Windows: only the epoch protects the folder
    fcntl = None  # type: ignore[assignment]

OWNER, LOCK = "owner", "lock"


class FencedError(StateError):
    """Another process has taken the state over."""


class Owner:
    """The right to write to a state folder."""

    def __init__(self, folder: Path, lock: TextIO | None, epoch: int) -> None:
        self._folder = folder
        self._lock = lock
        self.epoch = epoch

    @classmethod
    def claim(cls, folder: Path, started: str, *, take_over: bool = False) -> "Owner":
        """Become the owner; raise if another process is, unless it is to be replaced."""
        make_folder(folder)
        lock: TextIO | None = (folder / LOCK).open("a", encoding="utf-8")
        assert lock is not None
        before = owner_of(folder)
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock.close()
                lock = None
                if not take_over:
                    raise StateError(_taken(folder, before)) from error
        epoch = int(before.get("epoch", 0)) + 1
        about = {"epoch": epoch, "process": os.getpid(), "machine": socket.gethostname(), "started": started}
        replace_file(folder / OWNER, encoded("owner", about))
        return cls(folder, lock, epoch)

    def check(self) -> None:
        """Raise if another process has taken the folder over, or if it is gone."""
        try:
            now = owner_of(self._folder)
        except FileNotFoundError:
            now = {}
        if not now:
            raise StateError(f"the state folder {self._folder} was removed while the run used it")
        if now["epoch"] != self.epoch:
            raise FencedError(
                f"the state {self._folder} was taken over by process {now['process']} on {now['machine']} "
                f"({now['started']}): this process stops, and has written nothing since"
            )

    def release(self) -> None:
        """Let another process own the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def owner_of(folder: Path) -> dict[str, Any]:
    """Return what is known of the owner of a folder; nothing if it never had one."""
    try:
        return read_document("owner", folder / OWNER)
    except FileNotFoundError:
        return {}
    except (DamagedError, json.JSONDecodeError) as error:
        raise DamagedError(f"{folder}: {error}") from error


def is_owned(folder: Path) -> bool:
    """Whether a process uses a state folder now, as far as this machine can tell."""
    path = folder / LOCK
    if fcntl is None or not path.exists():
        return False
    with path.open("r", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _taken(folder: Path, before: dict[str, Any]) -> str:
    who = (
        f"process {before['process']} on {before['machine']}, since {before['started']}"
        if before
        else "another process"
    )
    return (
        f"the state {folder} is in use by {who}: wait until it ends, or if it will never go on "
        "(a paused or unreachable machine), start with --take-over"
    )
