"""Sets of small numbers as bits, with a summary that has a bit for each word that is not empty."""

import numpy as np

from penstock.simulator.compiled.compile import lean
from penstock.simulator.compiled.intrinsics import lowest
from penstock.simulator.compiled.records import NONE, Words

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@lean
def set_bit(bits: Words, summary: Words, place: int) -> None:
    """Set a bit, and the one of its word in the summary."""
    word = place >> 6
    bits[word] |= ONE << np.uint64(place & 63)
    summary[word >> 6] |= ONE << np.uint64(word & 63)


@lean
def clear_bit(bits: Words, summary: Words, place: int) -> None:
    """Clear a bit, and the one of its word in the summary if it was the last."""
    word = place >> 6
    bits[word] &= ~(ONE << np.uint64(place & 63))
    if bits[word] == 0:
        summary[word >> 6] &= ~(ONE << np.uint64(word & 63))


@lean
def first_bit(bits: Words, summary: Words) -> int:
    """Return the place of the first bit that is set, or NONE."""
    for top in range(len(summary)):
        if summary[top] != 0:
            word = (top << 6) + lowest(summary[top])
            return (word << 6) + lowest(bits[word])
    return NONE


@lean
def next_bit(bits: Words, summary: Words, after: int) -> int:
    """Return the place of the first bit after `after`, round the end, or NONE."""
    word = (after + 1) >> 6
    if word < len(bits):
        rest = bits[word] & (ALL << np.uint64((after + 1) & 63))
        if rest != 0:
            return (word << 6) + lowest(rest)
        for later in range(word + 1, len(bits)):
            if bits[later] != 0:
                return (later << 6) + lowest(bits[later])
    return first_bit(bits, summary)
