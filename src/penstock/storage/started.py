"""`StartedState`: a state folder with the script that runs in it, before Spark has started."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from penstock.language.script import Script
from penstock.language.statements import Statement
from penstock.runtime.options import RunOptions
from penstock.storage.folder import Folder
from penstock.storage.script_changes import query_changes
from penstock.storage.store import StateStore


@dataclass(frozen=True)
class StartedState:
    """An open state folder, the script to run, and how its queries changed since the last run."""

    folder: Folder
    script: Script
    """The script as it ran last, with new streams, tables and settings."""
    changes: list[Statement] = field(default_factory=list)
    """Queries to drop and to create: the file was edited."""

    @classmethod
    def open(cls, path: Path, script: Script, *, take_over: bool = False) -> Self:
        """Open a state folder for a script; raise if the state is of another script."""
        folder = Folder.open(path, take_over=take_over)
        try:
            if folder.image is None:
                return cls(folder, folder.begin(script))
            running, before, now = folder.go_on(script)
            return cls(folder, running, query_changes(running, before, now))
        except BaseException:
            folder.owner.release()
            raise

    @property
    def results(self) -> Path | None:
        """The folder that has the results so far; None if there is none yet."""
        known = None if self.folder.image is None else self.folder.image.sink.get("folder")
        return None if known is None else Path(known)

    @property
    def now_us(self) -> int:
        """The time of the last commit; the clock goes on from there even if the machine's was set back."""
        return 0 if self.folder.image is None else int(self.folder.image.run["now_us"])

    def store(self, options: RunOptions) -> StateStore:
        """Return the state for a run with these options."""
        return StateStore(self.folder, options.commit_us, options.state_bytes)
