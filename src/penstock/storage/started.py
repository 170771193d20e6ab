"""`StartedState`: a state folder with the script that runs in it, before Spark has started."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from penstock.language.script import Script
from penstock.language.statements import Statement
from penstock.runtime.options import RunOptions
from penstock.storage.folder import Folder, check_apart
from penstock.storage.store import StateStore
from penstock.storage.waiting_changes import as_waiting, changes_to_make


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
            changes = changes_to_make(running, before, now, folder.image)
            folder.script |= as_waiting(changes, folder.image)
            return cls(folder, running, changes)
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

    def check_results(self, folder: Path) -> None:
        """Raise if results cannot be in a folder because it is the state, or one is inside the other."""
        check_apart(self.folder.path, folder)

    def store(self, options: RunOptions, on_note: Callable[[str], object] = lambda text: None) -> StateStore:
        """Return the state for a run with these options; `on_note` is told what was wrong with its results."""
        return StateStore(self.folder, options.commit_us, options.state_bytes, on_note)
