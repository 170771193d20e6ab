"""The marker of an output folder: a run writes to it now, or did not finish."""

import json
import os
from pathlib import Path
from typing import TextIO

from penstock.errors import RunError
from penstock.runtime.clock import now_text
from penstock.sinks.folder_layout import RUNNING

try:
    import fcntl
except ImportError:  # Windows: a second run in a folder is not detected
    fcntl = None  # type: ignore[assignment]


class RunMarker:
    """The file `_running`, locked by the process that writes to the folder; the lock ends with the process."""

    def __init__(self, out: Path) -> None:
        self._path = out / RUNNING
        self._file: TextIO | None = None

    @property
    def since(self) -> str | None:
        """Start of the run that writes to the folder or did not finish; None if the last run ended well."""
        try:
            return str(json.loads(self._path.read_text(encoding="utf-8"))["started"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):  # a crash cut it off
            return "at an unknown time"

    def check_free(self) -> None:
        """Raise an error if another run is writing to the folder."""
        if self.since is not None:
            with self._path.open("a", encoding="utf-8") as file:
                self._lock(file)

    def take(self, *, force: bool = False) -> None:
        """Mark the folder as written to by this run, with `force` even if another process does not let it go."""
        file = self._path.open("a", encoding="utf-8")
        try:
            self._lock(file)
        except RunError:
            if not force:
                file.close()
                raise
        file.truncate(0)
        json.dump({"started": now_text(), "process": os.getpid()}, file)
        file.flush()
        self._file = file

    def release(self, *, ended_well: bool) -> None:
        """Unlock the folder; the marker stays if the run did not end well."""
        if self._file is None:
            return
        if ended_well:
            self._path.unlink(missing_ok=True)
        self._file.close()
        self._file = None

    def _lock(self, file: TextIO) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"another run is writing to {self._path.parent} (since {self.since}): choose another folder, "
                "or wait until it ends"
            ) from error
