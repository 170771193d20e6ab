"""Panes: the smallest parts that the windows of an aggregate are made of.

Panes are as long as the greatest common divisor of the sizes and slides of all windows that are closed above an
aggregate, so that these windows share its partial rows (Li, Maier, Tufte, Papadimos, Tucker, SIGMOD Record 2005).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from penstock.errors import NetworkError
from penstock.network.numbers import Number, exact
from penstock.network.operator import Operator, Query, SlidingWindow

MOST_PANES = 100_000
"""The largest number of panes in a window, and of panes until windows with gaps repeat."""


@dataclass(frozen=True)
class Panes:
    """The panes of an aggregate: of time or of rows, all of one `size`; and the windows that are made of them.

    `covered` is the share of panes that belong to a window: below 1 if windows leave gaps.
    """

    kind: str
    size: Fraction
    covered: Fraction
    readers: Mapping[str, SlidingWindow]

    def per_window(self, reader: str) -> tuple[int, int]:
        """Return the size and the slide of the windows of a reader, in panes."""
        window = self.readers[reader]
        return int(exact(window.size) / self.size), int(exact(window.slide) / self.size)

    def merges(self, reader: str) -> Number:
        """Return in how many windows of a reader a partial row is, on average."""
        window = self.readers[reader]
        return window.size / (window.slide * self.covered)


def panes_of(name: str, readers: Mapping[str, SlidingWindow]) -> Panes:
    """Return the panes of the aggregate `name`, whose windows are closed by these readers.

    >>> found = panes_of("a", {"b": SlidingWindow("range", 10, 4), "c": SlidingWindow("range", 0.6)})
    >>> found.size, found.per_window("b"), found.per_window("c")
    (Fraction(1, 5), (50, 20), (3, 3))
    """
    windows = [*readers.values()]
    if len({window.kind for window in windows}) > 1:
        raise NetworkError(
            f"operator {name!r} is read by windows of time and by windows of rows, which have no common panes: "
            "give each kind an aggregate of its own"
        )
    lengths = [exact(each) for window in windows for each in (window.size, window.slide)]
    common = lcm(*(length.denominator for length in lengths))
    size = Fraction(gcd(*(int(length * common) for length in lengths)), common)
    if max(lengths) > MOST_PANES * size:
        raise NetworkError(
            f"the windows above operator {name!r} have no panes longer than {float(size):g} in common, which is "
            f"less than 1/{MOST_PANES} of the longest: round their sizes and slides, or give each an aggregate of "
            "its own"
        )
    spans = [(int(exact(window.size) / size), int(exact(window.slide) / size)) for window in windows]
    return Panes(windows[0].kind, size, _covered(name, spans), dict(readers))


def _covered(name: str, spans: Sequence[tuple[int, int]]) -> Fraction:
    """Return the share of panes in at least one window, given size and slide of windows in panes."""
    if any(size >= slide for size, slide in spans):
        return Fraction(1)
    period = lcm(*(slide for _, slide in spans))
    if len(spans) > 1 and period > MOST_PANES:
        raise NetworkError(
            f"the windows above operator {name!r} leave gaps that repeat only after {period:,} panes: give each "
            "an aggregate of its own"
        )
    if len(spans) == 1:
        return Fraction(*spans[0])
    inside = sum(any(pane % slide < size for size, slide in spans) for pane in range(period))
    return Fraction(inside, period)


def all_panes(operators: Sequence[Operator], queries: Iterable[Query] = ()) -> Mapping[str, Panes]:
    """Return the panes of every aggregate whose windows are known, or raise if one of its readers does not fit."""
    if not any(operator.series or operator.groups for operator in operators):
        return {}
    kinds = {operator.name: operator.kind for operator in operators}
    readers: dict[str, dict[str, SlidingWindow]] = defaultdict(dict)
    for operator in operators:
        if operator.series is None:
            continue
        (below,) = operator.inputs
        if kinds.get(below) != "aggregate":
            raise NetworkError(
                f"operator {operator.name!r} closes windows, and its input {below!r} is not an 'aggregate'"
            )
        readers[below][operator.name] = operator.series
    for operator in operators:
        if operator.groups and operator.name not in readers:
            raise NetworkError(
                f"operator {operator.name!r} has groups, and no 'close' with windows (series=) reads it"
            )
        for below in operator.inputs:
            if below in readers and operator.series is None:
                raise NetworkError(
                    f"operator {operator.name!r} reads the partial rows of {below!r}: only a 'close' with windows "
                    "(series=) can"
                )
    for query in queries:
        if query.root in readers:
            raise NetworkError(
                f"the root of query {query.name!r}, {query.root!r}, makes partial rows; the root must be the "
                "'close' above it, or an operator above that"
            )
    return {name: panes_of(name, some) for name, some in readers.items()}
