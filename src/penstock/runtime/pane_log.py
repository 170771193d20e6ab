"""`PaneLog`: the partial aggregates of an operator, in chunks, until no window needs them any more."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.plan.columns import Micros, numbers
from penstock.plan.steps import BLOCK, TIME, VARIANT
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.stored import StoredRows

PANES = "panes"
"""The source of a stream of partial aggregates, as segments have it."""


class Panes(NamedTuple):
    """Distinct panes with rows, each with its variant (0 if there are none), sorted by variant and pane."""

    variants: Micros
    panes: Micros

    @classmethod
    def union(cls, parts: Iterable["Panes"]) -> "Panes":
        """Return the panes of several chunks."""
        every = [_NO_PANES, *parts]
        variants = np.concatenate([each.variants for each in every])
        return cls(variants, np.concatenate([each.panes for each in every])).distinct()

    def distinct(self) -> "Panes":
        """Return each pane once, sorted."""
        if not len(self.panes):
            return self
        order = np.lexsort((self.panes, self.variants))
        variants, panes = self.variants[order], self.panes[order]
        first = np.ones(len(panes), dtype=bool)
        first[1:] = (np.diff(variants) != 0) | (np.diff(panes) != 0)
        return Panes(variants[first], panes[first])


def panes_in(table: pa.Table) -> dict[int, Panes]:
    """Return the panes and blocks of partial aggregates, by what is in their column `BLOCK`."""
    begins, blocks = numbers(table, TIME), numbers(table, BLOCK)
    variants = numbers(table, VARIANT) if VARIANT in table.column_names else np.zeros(len(begins), np.int64)
    tags = np.unique(blocks).tolist()
    return {tag: Panes(variants[blocks == tag], begins[blocks == tag]).distinct() for tag in tags}


_NO_PANES = Panes(np.empty(0, np.int64), np.empty(0, np.int64))


def _together(parts: Iterable[Mapping[int, Panes]]) -> dict[int, Panes]:
    """Return the panes and blocks of several chunks, by what is in their column `BLOCK`."""
    found: dict[int, list[Panes]] = defaultdict(list)
    for part in parts:
        for block, panes in part.items():
            found[block].append(panes)
    return {block: Panes.union(each) for block, each in found.items()}


@dataclass
class PaneLog:
    """Partial aggregates by pane. Their column `__t` is the beginning of the pane: microseconds, or a position.

    Several chunks may have rows of one pane and group.
    """

    chunks: list[Chunk] = field(default_factory=list)
    _panes: dict[int, dict[int, Panes]] = field(default_factory=dict)
    """The panes and blocks of each chunk, by its number and by the size of blocks."""
    _by_block: dict[int, Panes] | None = None
    _all: Panes | None = None

    def add(self, chunk: Chunk) -> None:
        """Add what a job made."""
        self.chunks.append(chunk)
        self._by_block = self._all = None

    def replace(self, old: Iterable[Chunk], new: Chunk | None) -> None:
        """Put a chunk in place of others that were merged into it."""
        gone = {chunk.number for chunk in old}
        self.chunks = [chunk for chunk in self.chunks if chunk.number not in gone]
        self._forget()
        if new is not None:
            self.add(new)

    def oldest_resident(self, most_bytes: int, busy: Set[int]) -> list[Chunk]:
        """Return the oldest resident chunks, without which at most so many bytes are resident."""
        held = self.resident_bytes
        found: list[Chunk] = []
        for chunk in self.chunks:
            if held <= most_bytes:
                break
            if not chunk.is_stored and chunk.number not in busy:
                found.append(chunk)
                held -= chunk.bytes
        return found

    def store(self, old: Iterable[Chunk], new: Chunk) -> None:
        """Put a chunk of stored rows in place of resident ones."""
        chunks = list(old)
        panes = _together(self._panes_of(chunk) for chunk in chunks)
        self.replace(chunks, None)
        self.chunks.insert(0, new)
        self._panes[new.number] = panes

    def remove(self, lost: Set[Segment]) -> None:
        """Remove the rows of lost files."""
        self.chunks = [each for chunk in self.chunks for each in chunk.without(lost)]
        self._forget()

    def release(self, first: float) -> bool:
        """Release the chunks whose panes all begin before `first`; return whether there were some."""
        kept = [chunk for chunk in self.chunks if chunk.last_time >= first]
        if len(kept) == len(self.chunks):
            return False
        self.chunks = kept
        self._forget()
        return True

    def _forget(self) -> None:
        here = {chunk.number for chunk in self.chunks}
        self._panes = {number: panes for number, panes in self._panes.items() if number in here}
        self._by_block = self._all = None

    @property
    def panes(self) -> Panes:
        """All panes that have rows."""
        if self._all is None:
            self._all = Panes.union(panes for block, panes in self.by_block.items() if block <= 0)
        return self._all

    @property
    def by_block(self) -> Mapping[int, Panes]:
        """All panes and blocks that have rows, by what is in their column `BLOCK`."""
        if self._by_block is None:
            self._by_block = _together(map(self._panes_of, self.chunks))
        return self._by_block

    def _panes_of(self, chunk: Chunk) -> dict[int, Panes]:
        if chunk.number not in self._panes:
            place = chunk.place
            rows = place.columns([TIME, BLOCK, VARIANT]) if isinstance(place, StoredRows) else chunk.table
            self._panes[chunk.number] = panes_in(rows)
        return self._panes[chunk.number]

    def between(self, first: int, end: int) -> list[Chunk]:
        """Return the chunks that may have panes from `first` on and before `end`."""
        return [chunk for chunk in self.chunks if chunk.last_time >= first and chunk.first_time < end]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def bytes(self) -> int:
        """Bytes of the rows."""
        return sum(chunk.bytes for chunk in self.chunks)

    @property
    def resident_bytes(self) -> int:
        """Bytes of the rows in the driver's memory."""
        return sum(chunk.bytes for chunk in self.chunks if not chunk.is_stored)
