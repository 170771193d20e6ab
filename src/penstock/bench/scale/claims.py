"""The required comparisons of Penstock with a batch job and with stock, and the required figures of its driver."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from penstock.bench.comparisons import Comparison
from penstock.bench.scale.case import OURS, ScaleResult
from penstock.bench.scale.case_list import FILE_ROWS, FORMATS, MILLION, WINDOWS

LEAST_OF_BATCH, LEAST_OF_STOCK, LEAST_OF_GROUPED = 0.8, 1.3, 1.0
LEAST_OF_GROUPED_SMALL = 0.9
"""For files of 10,000 rows."""
LEAST_OF_BATCH_TEXT = 0.7
"""For JSON and CSV files."""
LEAST_OF_OWN, SMALL_ROWS = 0.85, 100_000
"""Speed with a state relative to that without one, from files of so many rows on."""
MOST_SCANS = 1.2
MOST_DRIVER_SHARE = 0.02
MOST_GROWTH = 1.2


def comparisons(measured: Iterable[ScaleResult]) -> list[Comparison]:
    """Return every required comparison; those whose cases were not run have no measurement."""
    return list(_comparisons(list(measured)))


def _comparisons(cases: list[ScaleResult]) -> Iterator[Comparison]:
    filters = [one for one in cases if one.case.part == "filters"]
    for size in FILE_ROWS:
        files = f"files of {size:,} rows"
        if size >= MILLION:
            some = _of(filters, size, 1)
            yield _speed(f"1 filter, {files}: speed ÷ one batch job", LEAST_OF_BATCH, some, "batch")
            yield _speed(f"1 filter, {files}: speed ÷ stock", LEAST_OF_STOCK, some, "each")
        for count in (10, 100):
            least = LEAST_OF_GROUPED if size >= 100_000 else LEAST_OF_GROUPED_SMALL
            claim = f"{count} filters, {files}: speed ÷ stock grouped by hand"
            yield _speed(claim, least, _of(filters, size, count), "grouped")
    for size in FILE_ROWS:
        if size >= MILLION:
            some = [one for one in cases if one.case.part == "table" and one.case.input.file_rows == size]
            claim = f"stored-table join, files of {size:,} rows: speed ÷ one batch job"
            yield _speed(claim, LEAST_OF_BATCH, some, "batch")
    for rows in WINDOWS:
        joins = [one for one in cases if one.case.part == "windows" and _window(one) == rows]
        some = [one for one in joins if one.case.input.file_rows == MILLION]
        claim = f"join of windows of {rows:,} rows, files of {MILLION:,} rows: speed ÷ one batch job"
        yield _speed(claim, LEAST_OF_BATCH, some, "batch")
    for file_format in FORMATS:
        some = [one for one in cases if one.case.part == "formats" and one.case.input.file_format == file_format]
        claim = f"1 filter, {file_format.upper()}: speed ÷ one batch job"
        yield _speed(claim, LEAST_OF_BATCH_TEXT, some, "batch")
    yield from _prices(cases)
    ours = [one for one in cases if one.case.system == "penstock" and one.case.part != "memory"]
    rows_only = [one for one in ours if one.case.part in ("filters", "table")]
    windows = [one for one in ours if one.case.part == "windows"]
    parquet = [*rows_only, *windows]
    yield _most("parquet files: scans of each", MOST_SCANS, parquet, lambda one: one.scans_per_file)
    claim = "filters and table join: bytes through the driver ÷ input"
    yield _most(claim, MOST_DRIVER_SHARE, rows_only, lambda one: one.driver_share)
    claim = "window join: bytes through the driver, without 8 a row for times, ÷ input"
    yield _most(claim, MOST_DRIVER_SHARE, windows, lambda one: one.driver_share)
    memory = [one for one in cases if one.case.part == "memory"]
    yield _growth("ten times the rows: peak memory of Python", [one for one in memory if not _window(one)])
    yield _growth("a hundred times the window: peak memory of Python", [one for one in memory if _window(one)])


def _prices(cases: list[ScaleResult]) -> Iterator[Comparison]:
    """Yield what a state costs: the speed of each case relative to that without one."""
    with_state = [one for one in cases if one.case.system == "penstock-state"]
    for what in dict.fromkeys(one.case.what for one in with_state if one.case.input.file_rows >= SMALL_ROWS):
        pair = [one for one in cases if one.case.what == what and one.case.system in OURS]
        yield _speed(f"{what}: speed with --state ÷ without", LEAST_OF_OWN, pair, "penstock", "penstock-state")
    if not with_state:
        claim = f"files of {SMALL_ROWS:,} rows and more: speed with --state ÷ without"
        yield Comparison(claim, "at least", LEAST_OF_OWN, reason="not part of this run")


def _of(cases: list[ScaleResult], file_rows: int, count: int) -> list[ScaleResult]:
    return [one for one in cases if (one.case.input.file_rows, one.case.queries.count) == (file_rows, count)]


def _window(one: ScaleResult) -> int:
    return one.case.queries.window_rows


def _speed(
    claim: str, required: float, cases: Sequence[ScaleResult], other: str, ours: str = "penstock"
) -> Comparison:
    """Compare Penstock's speed with another system's."""
    systems = {one.case.system: one for one in cases}
    pair = [systems[name] for name in (other, ours) if name in systems]
    values = [one.seconds if one.status == "ok" else None for one in pair]
    return _filled(Comparison(claim, "at least", required), values, 2, lambda theirs, ours: theirs / ours)


def _most(
    claim: str, required: float, cases: Sequence[ScaleResult], figure: Callable[[ScaleResult], float | None]
) -> Comparison:
    """Compare the largest figure of these cases with what is allowed."""
    good = [one for one in cases if one.status == "ok"]
    empty = Comparison(claim, "at most", required)
    if len(good) == len(cases) and any(figure(one) is None for one in cases):
        return replace(empty, reason="not counted in this run")
    values = [figure(one) if one.status == "ok" else None for one in cases]
    return _filled(empty, values, 1, lambda *found: max(found))


def _growth(claim: str, pair: Sequence[ScaleResult]) -> Comparison:
    """Compare peak memory with that of a smaller case, which ran before."""
    values = [one.peak_bytes if one.status == "ok" else None for one in pair]
    return _filled(Comparison(claim, "at most", MOST_GROWTH), values, 2, lambda small, large: large / small)


def _filled(
    claim: Comparison, values: Sequence[float | None], least: int, figure: Callable[..., float]
) -> Comparison:
    """Return a comparison with its figure; None stands for a case that failed."""
    if len(values) < least:
        return replace(claim, reason="not part of this run")
    if None in values:
        return replace(claim, reason="a case failed", failed=True)
    return replace(claim, measured=figure(*values))
