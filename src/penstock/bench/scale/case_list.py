"""The cases of the full benchmark and of the quick one; those with the same input follow each other."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from penstock.bench.scale.case import OURS, ScaleCase
from penstock.bench.scale.inputs import ScaleInput
from penstock.bench.scale.query_set import QuerySet

PARTS = {
    "filters": "1, 10 and 100 filters, files of 10,000 to 5 million rows",
    "table": "a join with a stored table, the same files",
    "windows": "a join of two streams, windows of 100,000 and 5 million rows",
    "formats": "one filter on JSON and CSV files",
    "memory": "memory of Penstock's driver by input and by window",
}
"""What `--part` can name."""

MILLION = 1_000_000
FILTERS = (1, 10, 100)
FILE_ROWS = (10_000, 100_000, MILLION, 5 * MILLION)
QUICK_FILE_ROWS = (100_000, MILLION)
FORMATS = ("json", "csv")
WINDOWS = (100_000, 5 * MILLION)
WINDOW_FILE_ROWS = (100_000, MILLION)
_ROWS, _QUICK_ROWS = 20 * MILLION, 2 * MILLION
_FORMAT_SHARE = 5
"""Text takes longer to read: so many times fewer rows."""


@dataclass(frozen=True)
class ScalePlan:
    """What is run: parts, size, repeats, Penstock's setting `rows`; files of which sizes and how many filters.

    All sizes and all numbers of filters, unless some are given.
    """

    parts: Collection[str]
    quick: bool = False
    rows: int | None = None
    repeat: int | None = None
    place: str | None = None
    file_rows: Collection[int] = ()
    filters: Collection[int] = ()
    with_state: bool = False
    """Whether Penstock also runs with a state; all folders are on a disk then."""

    @property
    def all_rows(self) -> int:
        """Rows of an input."""
        return self.rows or (_QUICK_ROWS if self.quick else _ROWS)

    def cases(self) -> list[ScaleCase]:
        """Return the cases in the order in which they run."""
        repeat = self.repeat or (3 if self.quick else 5)
        found = [
            each
            for case in self._cases()
            if case.part in self.parts and self._has(case)
            for each in self._with_state(case)
        ]
        return [
            replace(
                case,
                repeat=1 if case.part == "memory" else repeat,
                place=self.place if case.system in OURS else None,
                on_disk=self.with_state,
            )
            for case in found
        ]

    def _with_state(self, case: ScaleCase) -> Iterator[ScaleCase]:
        yield case
        if self.with_state and case.system == "penstock" and case.part != "memory":
            yield replace(case, system="penstock-state")

    def _has(self, case: ScaleCase) -> bool:
        return case.part != "filters" or not self.filters or case.queries.count in self.filters

    def _cases(self) -> Iterator[ScaleCase]:
        for file_rows in self._sizes(QUICK_FILE_ROWS if self.quick else FILE_ROWS):
            yield from _on_files(ScaleInput(self.all_rows, file_rows))
        for file_format in FORMATS:
            rows = max(self.all_rows // _FORMAT_SHARE, 1)
            source = ScaleInput(rows, min(MILLION, rows), file_format)
            for system in ("batch", "each", "penstock"):
                yield ScaleCase("formats", system, QuerySet(), source)
        for window_rows in WINDOWS[:1] if self.quick else WINDOWS:
            for file_rows in self._sizes(WINDOW_FILE_ROWS):
                yield from _windowed(self.all_rows, file_rows, window_rows)
        yield from self._memory()

    def _sizes(self, wanted: tuple[int, ...]) -> list[int]:
        """Return the sizes of files that the input can have; the whole input is one file if it is smaller."""
        return sorted(
            {min(size, self.all_rows) for size in wanted if not self.file_rows or size in self.file_rows}
        )

    def _memory(self) -> Iterator[ScaleCase]:
        """Yield pairs of cases of which the second has ten times the rows, or a window of all rows."""
        file_rows = min(100_000, max(self.all_rows // 20, 1))
        for rows in (self.all_rows // 10, self.all_rows):
            yield ScaleCase("memory", "penstock", QuerySet(), ScaleInput(rows, file_rows))
        for window_rows in memory_windows(self.all_rows):
            source = ScaleInput(self.all_rows, file_rows, window_rows=window_rows)
            yield ScaleCase("memory", "penstock", QuerySet("window", window_rows=window_rows), source)


def memory_windows(rows: int) -> tuple[int, int]:
    """Return the small and the large window of the memory part: a hundredth, and all rows of a stream.

    >>> memory_windows(20_000_000)
    (100000, 10000000)
    """
    return max(rows // 200 // 1000, 1) * 1000, max(rows // 2 // 1000, 1) * 1000


def _on_files(source: ScaleInput) -> Iterator[ScaleCase]:
    systems_of = (
        ("batch", "each", "penstock"),
        ("batch", "each", "grouped", "penstock"),
        ("batch", "grouped", "penstock"),
    )
    for count, systems in zip(FILTERS, systems_of, strict=True):
        for system in systems:
            yield ScaleCase("filters", system, QuerySet("filters", count), source)
    for system in ("batch", "each", "penstock"):
        yield ScaleCase("table", system, QuerySet("table"), source)


def _windowed(rows: int, file_rows: int, window_rows: int) -> Iterator[ScaleCase]:
    source = ScaleInput(rows, file_rows, window_rows=window_rows)
    for system in ("batch", "penstock"):
        yield ScaleCase("windows", system, QuerySet("window", window_rows=window_rows), source)
