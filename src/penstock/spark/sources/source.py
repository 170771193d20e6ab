"""What every source of rows has in common."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import SparkSession

from penstock.errors import RunError
from penstock.spark.admission import Arrived


class Source(Protocol):
    """A source of rows. It is asked when there is room; nothing is lost if it is not asked for a while."""

    ended: bool
    """Whether no row will come any more."""

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived]:
        """Return what has come by now, in order; about as many rows as asked for, or none."""
        ...

    def known_until(self, now_us: int) -> int | None:
        """Return the time up to which every row was returned, if the source knows; else the rows tell."""
        ...

    def stop(self, now_us: int) -> None:
        """Let nothing in that comes after now; what has come can still be asked for."""
        ...

    def close(self) -> None:
        """Let go of files, threads and ports."""
        ...


@dataclass(frozen=True)
class Surroundings:
    """What sources are opened with."""

    spark: SparkSession
    folder: Path
    drain: bool
    chunk_rows: int
    chunk_us: int
    scratch: Path

    def path(self, written: str, what: str, *, glob: bool = False) -> Path:
        """Return a path of the script: absolute, beside the script, or in the working folder."""
        given = Path(written).expanduser()
        for found in (self.folder / given, Path.cwd() / given):
            if found.exists() or (glob and any(found.parent.glob(found.name))):
                return found.absolute()
        raise RunError(f"{what}: there is no file or folder {written!r} (looked in {self.folder.absolute()})")
