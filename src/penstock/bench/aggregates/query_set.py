"""The queries: aggregates over windows of one stream, as values, and as SQL for Penstock and for stock."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.bench.stock.workload import BenchQuery

STREAM = "a"
VALUES = 10_000
"""`v` is uniform in 0 … 9,999."""
AMOUNTS = 100
"""`x` is uniform in 0 … 99."""
WINDOWS_OF_FIFTY = ((5, 5), (10, 5), (15, 5), (10, 10), (20, 10), (30, 10), (15, 15), (30, 15), (20, 20), (40, 20))
"""Size and slide in seconds, as dashboards have them."""
FILTERS_OF_FIFTY = ((0, 8000), (5000, 10_000), (2000, 4000), (0, 1000), (4500, 4600))
"""80, 50, 20, 10 and 1 % of the rows."""
SLIDES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
"""Of the part `windows`: each with sizes of one to ten times the slide."""
_SLICE = 0.001
_WIDE_SLICE = 0.01


@dataclass(frozen=True)
class AggregateQuery:
    """A count and a sum by key of the rows with ``low <= v < high``, of groups whose sum is `least` or more."""

    number: int
    size_s: int
    slide_s: int
    low: int = 0
    high: int = VALUES
    least: int | None = None

    @property
    def where(self) -> str | None:
        """The condition on rows; None if all pass."""
        return None if (self.low, self.high) == (0, VALUES) else f"v >= {self.low} AND v < {self.high}"

    def as_sql(self) -> BenchQuery:
        """Return the query for both systems.

        >>> one = AggregateQuery(0, 10, 5, 0, 50, 7).as_sql()
        >>> print(one.penstock)
        SELECT k, count(*) AS n, sum(x) AS s, window_start, window_end FROM a [RANGE 10 SECONDS SLIDE 5 SECONDS]
        WHERE v >= 0 AND v < 50 GROUP BY k HAVING s >= 7
        >>> print(one.stock)
        SELECT k, count(*) AS n, sum(x) AS s, window.start AS window_start, window.end AS window_end FROM a
        WHERE v >= 0 AND v < 50 GROUP BY window(t, '10 seconds', '5 seconds'), k HAVING sum(x) >= 7
        """
        where = f"WHERE {self.where} " if self.where else ""
        having = ["" if self.least is None else f" HAVING {total} >= {self.least}" for total in ("s", "sum(x)")]
        made = "SELECT k, count(*) AS n, sum(x) AS s"
        penstock = f"{made}, window_start, window_end FROM {STREAM} "
        penstock += f"[RANGE {self.size_s} SECONDS SLIDE {self.slide_s} SECONDS]\n{where}GROUP BY k{having[0]}"
        slide = "" if self.slide_s == self.size_s else f", '{self.slide_s} seconds'"
        stock = f"{made}, window.start AS window_start, window.end AS window_end FROM {STREAM}\n"
        stock += f"{where}GROUP BY window(t, '{self.size_s} seconds'{slide}), k{having[1]}"
        return BenchQuery(f"q{self.number}", (STREAM,), penstock, stock)


@dataclass(frozen=True)
class QuerySet:
    """`count` queries of a kind; `event_rate` is the rows in a second of event time, by which HAVING is set."""

    kind: str
    count: int = 1
    keys: int = 50
    event_rate: int = 10_000

    def queries(self) -> list[AggregateQuery]:
        """Return the queries."""
        made = {
            "one": self._one,
            "fifty": self._fifty,
            "slices": lambda: self._slices(_SLICE),
            "wide": lambda: self._slices(_WIDE_SLICE),
            "having": self._having,
            "windows": self._windows,
            "keys": self._keys,
            "long": self._long,
        }
        return [query for query, _ in zip(made[self.kind](), range(self.count), strict=False)]

    def _one(self) -> Iterator[AggregateQuery]:
        yield AggregateQuery(0, 10, 10, 0, VALUES // 2)

    def _fifty(self) -> Iterator[AggregateQuery]:
        """Yield ten windows with five filters each, and a limit of its own in HAVING that most groups pass."""
        places = [(window, rows) for window in WINDOWS_OF_FIFTY for rows in FILTERS_OF_FIFTY]
        for number, ((size, slide), (low, high)) in enumerate(places):
            least = round(self._average_sum(size, (high - low) / VALUES) * (0.8 + 0.004 * number))
            yield AggregateQuery(number, size, slide, low, high, least)

    def _slices(self, share: float) -> Iterator[AggregateQuery]:
        """Yield queries that each watch a share of the values; those of 0.1 % read each row once."""
        width = round(VALUES * share)
        for number in range(VALUES // 10):
            yield AggregateQuery(number, 10, 10, low := number * 10 % (VALUES - width + 1), low + width)

    def _having(self) -> Iterator[AggregateQuery]:
        """Yield queries over all rows that differ in the limit of HAVING, which half of all groups reach."""
        average = self._average_sum(10, 1.0)
        for number in range(1000):
            yield AggregateQuery(number, 10, 10, least=round(average * (0.9 + 0.0002 * number)) + number)

    def _windows(self) -> Iterator[AggregateQuery]:
        """Yield windows of different slides and sizes; ten seconds without overlap come first."""
        pairs = [(slide * times, slide) for times in range(1, 11) for slide in SLIDES]
        pairs.sort(key=lambda pair: pair != (10, 10))
        for number, (size, slide) in enumerate(pairs):
            yield AggregateQuery(number, size, slide)

    def _keys(self) -> Iterator[AggregateQuery]:
        yield AggregateQuery(0, 10, 10)

    def _long(self) -> Iterator[AggregateQuery]:
        """Yield ten minutes that slide by a second."""
        yield AggregateQuery(0, 600, 1)

    def _average_sum(self, size_s: int, share: float) -> float:
        """Return the average sum of a group in a window."""
        return self.event_rate * size_s * share / self.keys * (AMOUNTS - 1) / 2

    @property
    def largest_us(self) -> int:
        """The size of the largest window."""
        return max(query.size_s for query in self.queries()) * 1_000_000
