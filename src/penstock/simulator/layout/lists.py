"""Arrays of records and numbers, built from Python values."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.simulator.compiled.records import Floats, Ints, Records


class Lists:
    """Lists of numbers, one after the other in one array.

    >>> lists = Lists()
    >>> lists.add([5, 6]), lists.add([]), lists.add([7]), lists.array.tolist()
    ((0, 2), (2, 2), (2, 3), [5, 6, 7])
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def add(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Append a list, and return where it begins and ends."""
        start = len(self.numbers)
        self.numbers.extend(numbers)
        return start, len(self.numbers)

    @property
    def array(self) -> Ints:
        """All lists as one array."""
        return np.array(self.numbers, np.int64)


def span(name: str, ends: tuple[int, int]) -> dict[str, int]:
    """Return the two fields of a record that say where its list is."""
    return {f"{name}_from": ends[0], f"{name}_to": ends[1]}


def records_of(kind: np.dtype[Any], rows: Iterable[Mapping[str, Any]]) -> Records:
    """Return an array of records from fields by name; missing fields are 0."""
    given = list(rows)
    made = np.zeros(len(given), kind)
    for name in dict.fromkeys(key for row in given for key in row):
        made[name] = [row.get(name, 0) for row in given]
    return made


def floats_of(values: Iterable[Any]) -> Floats:
    """Return an array of real numbers."""
    return np.array([float(value) for value in values], np.float64)


def ints_of(values: Iterable[int]) -> Ints:
    """Return an array of whole numbers."""
    return np.array(list(values), np.int64)
