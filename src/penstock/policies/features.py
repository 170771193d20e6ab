"""What a policy may know of what it schedules: a pure record, no clock and no queue inside."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.network import Number


@dataclass(frozen=True)
class Features:
    """One way from a unit's first queue to the root of a query, in the papers' own quantities."""

    query: str
    S: Number
    """Results per tuple, from here to the root (SCLP08 §2)."""
    C: Number
    """Expected time per tuple, from here to the root (SCLP08 §2)."""
    T: Number
    """Ideal processing time of a result of the query, from its leaves (SCLP08 §2, Definition 8)."""
    released: Number
    """Memory that a tuple frees by passing the unit itself (JC03 2.1, 3.2)."""
    time: Number
    """Time that takes."""
    drop: Number
    """Memory released over the chain of the lower envelope on which the unit begins (BBDM03 §3)."""
    span: Number
    """Time over that chain."""


@dataclass(frozen=True)
class Term:
    """A quantity with the formula a person reads: what serving one tuple gains, or what it costs."""

    text: str
    of: Callable[[Features], Number]

    def __str__(self) -> str:
        return self.text


ONE = Term("1", lambda f: 1)
C = Term("C", lambda f: f.C)
S = Term("S", lambda f: f.S)
