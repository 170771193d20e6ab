"""`Features`: what a policy knows of a unit's path; and `Term`: a formula over features."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.network import Number


@dataclass(frozen=True)
class Features:
    """A path from a unit's first queue to the root of a query, in the quantities of the papers."""

    query: str
    S: Number
    """Results per tuple, from here to the root (SCLP08 §2)."""
    C: Number
    """Expected time per tuple, from here to the root (SCLP08 §2)."""
    T: Number
    """Ideal processing time of a result of the query, from its leaves (SCLP08 §2, Definition 8)."""
    ideal: Number
    """Ideal processing time from here to the root."""
    released: Number
    """Memory that a tuple frees by passing the unit itself (JC03 2.1, 3.2)."""
    time: Number
    """Expected time of that."""
    drop: Number
    """Memory released over the segment of the lower envelope on which the unit begins (BBDM03 §3)."""
    span: Number
    """Time over that segment."""
    weight: Number = 1
    """The weight of the query's results compared with those of others: gains are multiplied by it."""


@dataclass(frozen=True)
class Term:
    """A quantity with its formula as text: the gain, or the cost, of serving one tuple.

    `of` is a module-level function, not a lambda, so that a policy can be pickled for another process.
    """

    text: str
    of: Callable[[Features], Number]

    def __str__(self) -> str:
        return self.text


def _one(features: Features) -> Number:
    return 1


def _results(features: Features) -> Number:
    return features.S


def _expected_time(features: Features) -> Number:
    return features.C


ONE = Term("1", _one)
S = Term("S", _results)
C = Term("C", _expected_time)
