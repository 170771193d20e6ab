"""`SourceContext`: the session and the options with which sources are opened."""

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.language.paths import found_path
from penstock.runtime.rows.place_choice import PlaceChoice


@dataclass(frozen=True)
class SourceContext:
    """The session, the script's folder and the options of the run."""

    spark: SparkSession
    folder: Path
    drain: bool
    seconds: float | None
    chunk_rows: int
    chunk_us: int
    scratch: Path
    tell: Callable[[str], object] = lambda text: None
    """Called with messages for the user, such as that a socket waits for a client."""
    buffer_bytes: int = 16 * 1024 * 1024
    """Bytes that a source may read ahead."""
    has_memory_limit: bool = False
    """Whether the script limits the memory."""
    keeps: Path | None = None
    """The folder for files that a later run needs, if there is a state."""
    places: PlaceChoice = field(default_factory=PlaceChoice)
    """Whether rows of files stay there."""
    needed: Set[str] = frozenset()
    """Files below `keeps` with rows that an earlier process admitted and that are still needed."""

    @property
    def landings(self) -> Path:
        """The folder in which Structured Streaming writes."""
        return self.scratch if self.keeps is None else self.keeps / "landings"

    @property
    def texts(self) -> Path:
        """The folder for text files that were parsed by executors."""
        return self.scratch / "text" if self.keeps is None else self.keeps / "streams" / "_text"

    def path(self, written: str, what: str) -> Path:
        """Return a path of the script as an absolute path; raise an error if nothing is there."""
        return found_path(self.folder, written, what)
