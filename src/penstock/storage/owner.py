"""The owner of a state folder: one process at a time, and a number (epoch) that tells it from earlier ones.

The process that owns the folder holds a lock, which ends with the process. A process that takes the folder over
from one that does not answer raises the epoch, and the other finds that out before it writes.
"""

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO
from uuid import uuid4

from penstock.storage.documents import DamagedError, StateError, encoded, read_document
from penstock.storage.files import make_folder, replace_file
from penstock.storage.locks import is_locked, lock, replace_lock

OWNER, LOCK = "owner", "lock"


class FencedError(StateError):
    """Another process has taken the state over."""


class Owner:
    """The right to write to a state folder."""

    def __init__(self, folder: Path, held: TextIO, about: Mapping[str, Any]) -> None:
        self._folder = folder
        self._lock: TextIO | None = held
        self._about = dict(about)
        replace_file(folder / OWNER, encoded("owner", about))

    @property
    def epoch(self) -> int:
        """The number that tells this owner from earlier ones."""
        return int(self._about["epoch"])

    @classmethod
    def claim(cls, folder: Path, started: str, *, take_over: bool = False) -> "Owner":
        """Become the owner; raise if another process is, unless it is to be replaced."""
        make_folder(folder)
        held = lock(folder / LOCK)
        before = _known_owner(folder)
        if held is None:
            if not take_over:
                raise StateError(_taken(folder, before))
            held = replace_lock(folder / LOCK)
        who = {"process": os.getpid(), "machine": socket.gethostname(), "started": started, "claim": uuid4().hex}
        return cls(folder, held, {"epoch": int(before.get("epoch", 0)) + 1, **who})

    def follow(self, epoch: int) -> None:
        """Be newer than an epoch that the journal knows: the owner file may have been lost."""
        if self.epoch <= epoch:
            self._about["epoch"] = epoch + 1
            replace_file(self._folder / OWNER, encoded("owner", self._about))

    def check(self) -> None:
        """Raise if another process has taken the folder over, or if it is gone."""
        try:
            now = owner_of(self._folder)
        except FileNotFoundError:
            now = {}
        if not now:
            raise StateError(f"the state folder {self._folder} was removed while the run used it")
        if now != self._about:
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


def _known_owner(folder: Path) -> dict[str, Any]:
    """Return what is known of the owner of a folder; nothing if its file is damaged: the journal has the epoch."""
    try:
        return owner_of(folder)
    except DamagedError:
        return {}


def is_owned(folder: Path) -> bool:
    """Whether a process uses a state folder now, as far as this machine can tell."""
    return is_locked(folder / LOCK)


def in_use(folder: Path, known: dict[str, Any]) -> str:
    """Return the sentence that tells who uses a state folder."""
    who = (
        f"process {known['process']} on {known['machine']}, since {known['started']}"
        if known
        else "another process"
    )
    return f"the state {folder} is in use by {who}"


def _taken(folder: Path, before: dict[str, Any]) -> str:
    return (
        f"{in_use(folder, before)}: wait until it ends, or if it will never go on "
        "(a paused or unreachable machine), start with --take-over"
    )
