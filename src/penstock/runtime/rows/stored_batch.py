"""`StoredBatch`: rows of files that were admitted together, without those that were rejected or dropped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from penstock.language.statements import StreamDef
from penstock.plan.columns import Micros
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.time_index import TimeIndex
from penstock.shedding.drop_box import DropBox


def _none() -> Micros:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class AdmittedFile:
    """A segment without the rows that were rejected or dropped."""

    segment: Segment
    kept: int
    excluded: Micros = field(default_factory=_none)
    """The places in the file of rejected rows."""
    keep: float = 1.0
    """The share that the stream's drop box kept of the others."""

    @property
    def is_whole(self) -> bool:
        """Whether every row of the file was admitted."""
        return self.kept == self.segment.rows

    def places(self, stream: str) -> Micros:
        """Return the places in the file of the rows that were admitted and kept."""
        places = np.arange(self.segment.rows, dtype=np.int64)
        if len(self.excluded):
            places = np.delete(places, self.excluded)
        if self.keep < 1:
            box = DropBox(stream, [(0, self.keep)])
            places = places[box.keeps(places + self.segment.base)]
        return places


@dataclass(frozen=True)
class Span:
    """Rows of a file, by their places in it: from `first` up to `end`, without excluded and dropped ones."""

    file: AdmittedFile
    first: int
    end: int
    rows: int

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows of the file."""
        return self.rows == self.file.segment.rows


@dataclass(frozen=True, eq=False)
class StoredBatch:
    """Rows of files that were admitted together."""

    stream: StreamDef
    files: tuple[AdmittedFile, ...]
    arrival_us: int
    index: TimeIndex
    names: Mapping[str, str]
    """The column of the files for each declared column."""
    mean_arrival: float = 0.0

    @cached_property
    def ends(self) -> Micros:
        """How many rows there are up to the end of each file."""
        return np.cumsum([file.kept for file in self.files])

    @property
    def rows(self) -> int:
        """Rows admitted and kept."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @cached_property
    def bytes_per_row(self) -> float:
        """Bytes of a row on average, with its number, time and arrival."""
        rows = sum(file.segment.rows for file in self.files)
        return sum(file.segment.bytes for file in self.files) / max(rows, 1) + 24

    def spans(self, first: int, end: int) -> Iterator[Span]:
        """Yield the rows from one position up to another, file by file."""
        start = 0
        for file, stop in zip(self.files, self.ends.tolist(), strict=True):
            low, high = max(first, start) - start, min(end, stop) - start
            if low < high:
                yield self._span(file, low, high)
            start = stop

    def _span(self, file: AdmittedFile, low: int, high: int) -> Span:
        if (low, high) == (0, file.kept):
            return Span(file, 0, file.segment.rows, file.kept)
        if file.is_whole:
            return Span(file, low, high, high - low)
        places = file.places(self.stream.name)
        return Span(file, int(places[low]), int(places[high - 1]) + 1, high - low)
