"""Counts what passes through the driver: bytes handed to Spark, fetched from it, read from files; and file scans.

The driver decides and does not carry rows, so these numbers stay small where rows are stored. `bench scale`
reports them.
"""

from dataclasses import asdict, dataclass
from threading import Lock


@dataclass
class DriverTraffic:
    """Bytes of rows that passed through this process, by how, and files that jobs were told to scan."""

    handed_over: int = 0
    """Bytes given to `createDataFrame`."""
    fetched: int = 0
    """Bytes that `toArrow` returned."""
    read: int = 0
    """Bytes of rows that this process itself read from files."""
    scans: int = 0
    """Files that jobs read by path; a file counts once for every time that it is read."""

    def __post_init__(self) -> None:
        self._lock = Lock()

    def add(self, *, handed_over: int = 0, fetched: int = 0, read: int = 0, scans: int = 0) -> None:
        """Count more. Jobs call this from several threads."""
        with self._lock:
            self.handed_over += handed_over
            self.fetched += fetched
            self.read += read
            self.scans += scans

    @property
    def bytes(self) -> int:
        """All bytes."""
        return self.handed_over + self.fetched + self.read

    def snapshot(self) -> dict[str, int]:
        """Return all counts, to compare with later ones."""
        with self._lock:
            return asdict(self)


TRAFFIC = DriverTraffic()
"""The traffic of this process since it started."""
