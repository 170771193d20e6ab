"""Totals of results by query and window: computed from the input, or read from the output of a system.

Results are equal if these are: the number of rows, the sums of both aggregates, and the sum of a hash of each row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.bench.aggregates.query_set import AggregateQuery
from penstock.bench.stock.workload import Columns

Numbers = npt.NDArray[np.int64]
_MIX = tuple(np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class WindowOfQuery(NamedTuple):
    """A window that has results: the number of its query, and its end."""

    query: int
    end_us: int


@dataclass(frozen=True)
class Total:
    """The results of a window: rows, the sums of `n` and of `s`, and of the rows' hashes, modulo 2 to the 64."""

    rows: int
    n: int
    s: int
    hashes: int

    def __add__(self, other: "Total") -> "Total":
        """Return the total of both."""
        hashes = (self.hashes + other.hashes) % 2**64
        return Total(self.rows + other.rows, self.n + other.n, self.s + other.s, hashes)


Totals = dict[WindowOfQuery, Total]
NOTHING = Total(0, 0, 0, 0)


def row_hashes(k: Numbers, n: Numbers, s: Numbers) -> npt.NDArray[np.uint64]:
    """Return a hash of each result; that of a sum cannot be told from that of the sums apart."""
    found = np.zeros(len(k), np.uint64)
    for column in (k, n, s):
        found = (found ^ column.astype(np.uint64)) * _MIX[0]
        found = (found ^ (found >> np.uint64(30))) * _MIX[1]
        found = (found ^ (found >> np.uint64(27))) * _MIX[2]
    return found ^ (found >> np.uint64(31))


def totals_of_rows(queries: Numbers, ends: Numbers, k: Numbers, n: Numbers, s: Numbers) -> Totals:
    """Return the totals of results by query and window."""
    if not len(k):
        return {}
    order = np.lexsort((ends, queries))
    queries, ends, k, n, s = (each[order] for each in (queries, ends, k, n, s))
    firsts = np.flatnonzero(np.r_[True, (np.diff(queries) != 0) | (np.diff(ends) != 0)])
    sums = [np.add.reduceat(each, firsts).tolist() for each in (np.ones_like(n), n, s, row_hashes(k, n, s))]
    windows = map(WindowOfQuery, queries[firsts].tolist(), ends[firsts].tolist())
    return dict(zip(windows, map(Total, *sums), strict=True))


def added(some: Iterable[Totals]) -> Totals:
    """Return the totals of all."""
    found: Totals = {}
    for totals in some:
        for window, total in totals.items():
            found[window] = found.get(window, NOTHING) + total
    return found


def expected_totals(queries: Sequence[AggregateQuery], rows: Columns, keys: int) -> Totals:
    """Return what windows must hold whose end the newest row has reached, from all rows of the stream.

    Each filter's rows are counted into cells, one for each key in each span of the largest length of which all its
    windows consist; a window is the sum of its cells.
    """
    times, k = rows["t"].astype(np.int64), rows["k"].astype(np.int64)
    v, x = rows["v"].astype(np.int64), rows["x"].astype(np.int64)
    first, newest = int(times.min()), int(times.max())
    order = np.argsort(v, kind="stable")
    sorted_v = v[order]
    found: Totals = {}
    cells: dict[tuple[int, int, int], tuple[Numbers, Numbers]] = {}
    for query in queries:
        size, slide = query.size_s * 1_000_000, query.slide_s * 1_000_000
        cell = gcd(size, slide)
        key = (query.low, query.high, cell)
        start = first // cell
        if key not in cells:
            low, high = np.searchsorted(sorted_v, [query.low, query.high])
            ours = order[low:high]
            places = (times[ours] // cell - start) * keys + k[ours]
            shape = (newest // cell - start + 1, keys)
            count = np.bincount(places, minlength=shape[0] * keys).reshape(shape)
            total = np.bincount(places, x[ours], shape[0] * keys).astype(np.int64).reshape(shape)
            cells = {key: (count, total)} if keys > 10_000 else {**cells, key: (count, total)}
        count, total = cells[key]
        for begin in range((first - size) // slide * slide + slide, newest - size + 1, slide):
            at = begin // cell - start
            span = slice(max(at, 0), at + size // cell)
            n, s = count[span].sum(axis=0), total[span].sum(axis=0)
            there = np.flatnonzero((n > 0) & (s >= query.least) if query.least is not None else n > 0)
            if len(there):
                hashes = int(row_hashes(there, n[there], s[there]).sum())
                totals = Total(len(there), int(n[there].sum()), int(s[there].sum()), hashes)
                found[WindowOfQuery(query.number, begin + size)] = totals
    return found


def difference(expected: Totals, got: Totals) -> str:
    """Return a message about windows with wrong results; an empty text if there are none.

    >>> one = WindowOfQuery(3, 1_700_000_010_000_000)
    >>> difference({one: Total(2, 5, 70, 1)}, {one: Total(2, 5, 60, 9)})
    '1 of 1 windows have wrong results: of q3 that until 1700000010 s has (2, 5, 60), not (2, 5, 70)'
    """
    windows = expected.keys() | got.keys()
    wrong = sorted(each for each in windows if expected.get(each, NOTHING) != got.get(each, NOTHING))
    if not wrong:
        return ""
    window = wrong[0]
    values = [(each.rows, each.n, each.s) for each in (got.get(window, NOTHING), expected.get(window, NOTHING))]
    some = f"of q{window.query} that until {window.end_us / 1e6:.10g} s has {values[0]}, not {values[1]}"
    return f"{len(wrong):,} of {len(windows):,} windows have wrong results: {some}"
