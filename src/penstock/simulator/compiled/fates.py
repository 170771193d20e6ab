"""The fate of a tuple at an operator: a hash of (seed, tuple, operator), the same for all policies.

The mixer is the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). A tuple that came from a stream has its
number + 1 for an identity; what is made of several tuples, or several times of one, mixes theirs.
"""

from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt

from penstock.simulator.compiled.compile import inlined, lean
from penstock.simulator.compiled.records import Records

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
OTHER = np.uint64(0xD6E8FEB86659FD93)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
SHARE = 1.0 / (1 << 53)
WORD = 2**64 - 1


@lean
def mixed(z: np.uint64) -> np.uint64:
    """Return 64 bits that look random, and are the same for the same `z`."""
    z = (z ^ (z >> S30)) * FIRST
    z = (z ^ (z >> S27)) * SECOND
    return z ^ (z >> S31)


@lean
def identity_of(number: int) -> np.uint64:
    """Return the identity of a tuple that came from a stream."""
    return np.uint64(number) + np.uint64(1)


@lean
def chance(identity: np.uint64, salt: np.uint64) -> float:
    """Return a number from 0 to below 1 for a tuple at the operator of that salt."""
    return float(mixed(identity * STEP + salt) >> S11) * SHARE


@lean
def bits_of(identity: np.uint64, salt: np.uint64) -> np.uint64:
    """Return the 53 bits of the same number."""
    return mixed(identity * STEP + salt) >> S11


@inlined
def pass_parts(parts: Records, first: int, last: int, number: int) -> tuple[bool, float]:
    """Let a tuple pass the operators of a lane until one drops it; return whether none did, and the time spent."""
    identity, spent = identity_of(number), 0.0
    passed = True
    for part in range(first, last):
        spent += parts[part].cost
        if bits_of(identity, parts[part].salt) >= parts[part].bar:
            passed = False
            break
    return passed, spent


@lean
def pair(left: np.uint64, right: np.uint64) -> np.uint64:
    """Return the identity of what is made of two: a match at a join, or a tuple and the number of its copy."""
    return mixed(left * STEP + right * OTHER)


def bar(selectivity: float) -> int:
    """Return what the 53 bits must be below to pass: the same tuples do as by the number.

    >>> bar(0.5) == 2**52, bar(1.0) == 2**53, bar(0.0)
    (True, True, 0)
    """
    return ceil(Fraction(selectivity) * 2**53)


def salts(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """Return a salt for each of `count` operators, by the seed.

    >>> first, second = salts(3, 2)
    >>> bool(first != second), bool(first == salts(3, 5)[0]), bool(first != salts(4, 2)[0])
    (True, True, True)
    """
    return np.array([_mixed(_mixed(seed & WORD) + (place + 1) * int(OTHER)) for place in range(count)], np.uint64)


def _mixed(z: int) -> int:
    z &= WORD
    z = (z ^ (z >> 30)) * int(FIRST) & WORD
    z = (z ^ (z >> 27)) * int(SECOND) & WORD
    return z ^ (z >> 31)
