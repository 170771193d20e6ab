"""Whether there is an archive of Java's classes, in words for `penstock doctor` and `penstock warm`."""

from dataclasses import dataclass
from typing import Literal

from penstock.spark.archive_making import failure
from penstock.spark.class_archive import archive_folder, ready_archive, reason_against


@dataclass(frozen=True)
class ArchiveState:
    """Whether there is an archive: it is used, it can be made, or no local session here uses one."""

    state: Literal["ready", "missing", "unused"]
    folder: str | None
    size: int = 0
    reason: str = ""
    """Why none is used, or why none was made."""

    @property
    def text(self) -> str:
        """The state as a line.

        >>> ArchiveState("missing", "/cache/x").text
        'none; penstock warm makes one, and Spark starts faster'
        """
        if self.state == "ready":
            return f"{self.size / 1e6:.0f} MB in {self.folder}"
        if self.state == "unused":
            return f"not used: {self.reason}"
        hint = f"none; the last attempt failed: {self.reason}" if self.reason else "none"
        return f"{hint}; penstock warm makes one, and Spark starts faster"


def archive_state() -> ArchiveState:
    """Return whether there is an archive for this Java and Spark. A broken one is removed."""
    try:
        folder = archive_folder()
        against = reason_against({}, "local[*]") or (None if folder else "Java or Spark was not found")
        if folder is None or against:
            return ArchiveState("unused", str(folder) if folder else None, reason=against or "")
        found = ready_archive(folder)
        if found is not None:
            return ArchiveState("ready", str(folder), found.stat().st_size)
        return ArchiveState("missing", str(folder), reason=failure(folder) or "")
    except OSError as error:
        return ArchiveState("unused", None, reason=str(error))
