"""Which parts are published together, and whether the driver reads them for that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from penstock.sinks.folder_layout import Staged

LARGE_BYTES = 256 * 1024
"""A part of this size is published as a file of its own."""
SPLIT_BYTES = 200_000
"""Parts of a group with so many bytes per query are split by executors. They need some 25 ms for the file of each
query: 2 million results of 1,000 queries took them 6 s, and the driver about one."""
BATCH_BYTES = 64 * 1000 * 1000
"""Bytes of parts that the driver publishes together, and so has in memory at a time."""


@dataclass(frozen=True)
class Batch:
    """Parts that are published together. Large ones, a query's part or those of a group, are not read for it."""

    parts: Sequence[Staged]
    is_large: bool


def next_batch(staged: Sequence[Staged], queries: int) -> Batch:
    """Return the first parts to publish, of a run with so many queries."""
    small: list[Staged] = []
    for parts in _alike(staged):
        if _is_large(parts, queries):
            if not small:
                return Batch(parts, is_large=True)
            break
        small += parts
    return Batch(next(read_at_once(small)), is_large=False)


def read_at_once(parts: Sequence[Staged]) -> Iterator[list[Staged]]:
    """Yield parts that the driver can have in memory at a time, in their order."""
    some: list[Staged] = []
    size = 0
    for part in parts:
        if size >= BATCH_BYTES:
            yield some
            some, size = [], 0
        some.append(part)
        size += part.bytes
    yield some


def _alike(staged: Sequence[Staged]) -> Iterator[list[Staged]]:
    """Yield parts of one group and one run that follow each other, which have the same columns; others alone."""
    for _, parts in groupby(staged, lambda part: (part.part[0], part.place or part.path.parent)):
        together = list(parts)
        if together[0].place is None:
            yield together
        else:
            yield from ([part] for part in together)


def _is_large(parts: Sequence[Staged], queries: int) -> bool:
    """Whether parts are published without being read in the driver."""
    size = sum(part.bytes for part in parts)
    if parts[0].place is not None:
        return size >= LARGE_BYTES
    too_large = any(part.bytes >= BATCH_BYTES for part in parts)
    return too_large or size >= max(LARGE_BYTES, SPLIT_BYTES * queries)
