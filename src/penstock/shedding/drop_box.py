"""The drop box of a stream: which rows it keeps, and the history of its shares.

A row is kept if a hash of its sequence number is below the share. So a replay with the same shares drops the same
rows, and a larger share keeps the rows of a smaller one. Boxes are at the sources (AN04 Observations 2, 3).

The hash is Spark's `xxhash64`, computed here by numpy: rows that only executors read are kept or dropped alike.
"""

from dataclasses import dataclass, field
from math import ceil
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_PRIMES = tuple(
    map(
        np.uint64,
        (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5),
    )
)
"""The constants of XXH64."""
_SEED = 42
"""The seed of Spark's `xxhash64`."""
_BITS = 53
"""Bits of a hash that count: a DOUBLE holds a whole number of this size exactly."""

_MOST_EXTRA = 999_999

Boxes = tuple[tuple[int, float], ...]
"""Shares with the sequence number from which each was kept; the first also applies to rows before it."""
WHOLE: Boxes = ((0, 1.0),)
"""Those of a stream of which nothing was dropped."""


@dataclass
class DropBox:
    """The share kept of a stream. `history` has (sequence number, share): the share kept from that row on."""

    stream: str
    history: list[tuple[int, float]] = field(default_factory=lambda: [(0, 1.0)])
    dropped: int = 0
    """Rows dropped so far."""

    @property
    def keep(self) -> float:
        """The current share."""
        return self.history[-1][1]

    def set(self, keep: float, sequence: int) -> None:
        """Keep another share from a sequence number on, which is not below that of any row that arrived."""
        if self.history[-1][0] == sequence:
            self.history.pop()
        if not self.history or self.history[-1][1] != keep:
            self.history.append((sequence, keep))

    def keeps(self, sequence: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these rows, by sequence number, the current share keeps."""
        return _top_bits(self.stream, sequence) < np.uint64(_bound(self.keep))

    def since(self, sequence: int) -> Boxes:
        """Return the part of the history that applies to rows from a sequence number on."""
        passed = sum(start <= sequence for start, _ in self.history[1:])
        return tuple(self.history[passed:])

    def mean(self, first: int, end: int) -> float:
        """Return the average share from sequence number `first` up to, but not including, `end`."""
        if end <= first:
            return self.keep
        ends = [start for start, _ in self.history[1:]] + [max(end, self.history[-1][0])]
        kept = sum(
            max(min(until, end) - max(start, first), 0) * share
            for (start, share), until in zip(self.history, ends, strict=True)
        )
        return kept / (end - first)


def chances(stream: str, sequence: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a hash in [0, 1) of each sequence number of a stream, salted with the stream's name.

    >>> chances("a", np.array([0, 1, 2])).round(3).tolist()
    [0.095, 0.089, 0.561]
    """
    return _top_bits(stream, sequence) / float(1 << _BITS)


def keeps_sql(stream: str, keep: float, sequence: str) -> str:
    """Return the condition in Spark SQL that a share keeps a row: that of `DropBox.keeps`, for every number.

    `sequence` is the SQL of the sequence number.

    >>> keeps_sql("a", 0.25, "seq")
    '(shiftrightunsigned(xxhash64(3904355907L, CAST(seq AS BIGINT)), 11) < 2251799813685248L)'
    """
    value = f"xxhash64({_salt(stream)}L, CAST({sequence} AS BIGINT))"
    return f"(shiftrightunsigned({value}, {64 - _BITS}) < {_bound(keep)}L)"


def extra_sql(boxes: Boxes, sequence: str) -> str:
    """Return, in Spark SQL, for how many dropped rows a kept row counts besides itself: 1/p - 1, to six decimals.

    So each row counts 1/p, by the share p that was kept when it came (Horvitz and Thompson, 1952). `sequence` is
    the SQL of the sequence number.

    >>> extra_sql(((0, 1.0), (700, 0.3)), "seq")
    'CAST(CASE WHEN seq >= 700L THEN 2.333333BD ELSE 0.000000BD END AS DECIMAL(12, 6))'
    """
    (_, first), *later = boxes
    cases = [f"WHEN {sequence} >= {start}L THEN {_extra(share)}" for start, share in reversed(later)]
    value = f"CASE {' '.join(cases)} ELSE {_extra(first)} END" if cases else _extra(first)
    return f"CAST({value} AS DECIMAL(12, 6))"


def _extra(keep: float) -> str:
    return f"{min(1 / keep - 1, _MOST_EXTRA) if keep > 0 else 0:.6f}BD"


def _bound(keep: float) -> int:
    """Return the number below which the top bits of a kept row's hash are. It is exact: no share is rounded."""
    return ceil(min(max(keep, 0.0), 1.0) * (1 << _BITS))


def _salt(stream: str) -> int:
    return crc32(stream.encode())


def _top_bits(stream: str, sequence: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the top bits of `xxhash64(salt, sequence)`: Spark seeds each column with the hash of those before."""
    seed = _hashed(np.array([_salt(stream)], np.uint64), np.array([_SEED], np.uint64))
    return _hashed(sequence.astype(np.uint64), seed) >> np.uint64(64 - _BITS)


def _hashed(word: NDArray[np.uint64], seed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return XXH64 of 8 bytes: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md."""
    first, second, third, fourth, fifth = _PRIMES
    mixed: NDArray[np.uint64] = (seed + fifth + np.uint64(8)) ^ (_rotated(word * second, 31) * first)
    mixed = _rotated(mixed, 27) * first + fourth
    mixed = (mixed ^ (mixed >> np.uint64(33))) * second
    mixed = (mixed ^ (mixed >> np.uint64(29))) * third
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _rotated(word: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))
