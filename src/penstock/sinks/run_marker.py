"""The marker of an output folder: a run writes to it now, or did not finish."""

import json
import os
from pathlib import Path
from typing import TextIO

from penstock.errors import RunError
from penstock.runtime.clock import now_text
from penstock.sinks.folder_layout import RUNNING
from penstock.storage.locks import is_at, is_locked, lock, replace_lock


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
        if is_locked(self._path):
            raise self._taken

    def take(self, *, force: bool = False) -> None:
        """Mark the folder as written to by this run, with `force` even if another process does not let it go."""
        file = lock(self._path)
        if file is None:
            if not force:
                raise self._taken
            file = replace_lock(self._path)
        file.truncate(0)
        json.dump({"started": now_text(), "process": os.getpid()}, file)
        file.flush()
        self._file = file

    def release(self, *, ended_well: bool) -> None:
        """Unlock the folder; the marker stays if the run did not end well, or if it is that of another run."""
        if self._file is None:
            return
        if ended_well and is_at(self._file, self._path):
            self._path.unlink()
        self._file.close()
        self._file = None

    @property
    def _taken(self) -> RunError:
        return RunError(
            f"another run is writing to {self._path.parent} (since {self.since}): choose another folder, "
            "or wait until it ends"
        )
