"""Scans of stored rows by Arrow in Python workers, where a simple filter leaves few of them.

Arrow reads and filters files faster than Spark's reader: 20 million rows through a filter of 1 % take 0.40 s, by
Spark 0.53. Rows that pass have to be sent to the JVM, so a filter of 10 % is hardly faster (0.71 and 0.75 s).
Executors start their Python workers once per session, which takes more than a second: only sessions that have
read many rows this way do it.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from penstock.formats import parquet_scan
from penstock.formats.parquet_scan import FilePart, RowFilter, Scan, passing, scanned
from penstock.formats.row_filter import columns_of
from penstock.language.names import quoted
from penstock.plan.columns import arrow_type
from penstock.runtime.rows.segment import LostSegmentError, Segment
from penstock.spark.session import slots_of

SEQUENCE, ARRIVED = "__scan_seq", "__scan_arrived"
MOST_PASSING = 0.05
"""The largest share of rows that a filter may keep."""
LEAST_ROWS = 100_000
"""Fewer rows are read by Spark."""
START_S = 1.2
"""Seconds to start the Python workers of a session: they start when scans would have saved as much."""
SAVED_ROW_S, SAVED_FILE_S = 12e-9, 0.5e-3
"""Seconds that a scan saves for each row and for each file, compared with a Java that has not compiled all."""
_SAMPLED_FILES, _SAMPLED_ROWS = 3, 10_000
_FILES_PER_TASK = 4
"""Fewer files are shared out by row groups."""
_BATCH_ROWS = 128 * 1024
_BATCH_BYTES = 32 * 1024 * 1024
_PLAIN = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_decimal,
)
"""Types whose values Arrow and Spark read alike; nested ones are left to Spark."""


class FileScans:
    """Whether the executors of a session scan files by Arrow, and how much they would have saved so far."""

    def __init__(self) -> None:
        self._ready: bool | None = None
        self._missed_s = 0.0
        self._lock = Lock()

    def pay(self, spark: SparkSession, segments: Sequence[Segment], rows: int, where: RowFilter) -> bool:
        """Whether rows of files should be scanned with a filter, whose columns are named as in the files."""
        if self._ready is False or rows < LEAST_ROWS or _passing_share(segments, where) > MOST_PASSING:
            return False
        with self._lock:
            if self._ready is None:
                if self._missed_s < START_S:
                    self._missed_s += rows * SAVED_ROW_S + len(segments) * SAVED_FILE_S
                    return False
                self._ready = _workers_start(spark)
            return self._ready


_SESSIONS: WeakKeyDictionary[SparkSession, FileScans] = WeakKeyDictionary()
_SESSIONS_LOCK = Lock()


def scans_of(spark: SparkSession) -> FileScans:
    """Return the scans of a session: its Python workers outlive a run."""
    with _SESSIONS_LOCK:
        return _SESSIONS.setdefault(spark, FileScans())


def can_scan(types: Mapping[str, str], where: RowFilter) -> bool:
    """Whether Arrow can read columns, given by their names in the files, of these declared types."""
    plain = all("<" not in kind and any(fits(arrow_type(kind)) for fits in _PLAIN) for kind in types.values())
    # A point in a name would be taken for a part of a struct
    return plain and types.keys() >= columns_of(where) and not any("." in name for name in types)


def scanned_frame(
    spark: SparkSession, parts: Iterable[FilePart], types: Mapping[str, str], where: RowFilter, row_bytes: float
) -> DataFrame:
    """Return the rows of files that pass a filter, with their numbers and arrivals in two more columns."""
    cloudpickle.register_pickle_by_value(parquet_scan)  # type: ignore[no-untyped-call]
    shares = [share for share in _shared_out(list(parts), slots_of(spark)) if share]
    batch_rows = max(min(_BATCH_ROWS, int(_BATCH_BYTES / max(row_bytes, 1))), 1)
    columns = tuple((name, arrow_type(kind)) for name, kind in types.items())
    scan = Scan(columns, where, (SEQUENCE, ARRIVED), batch_rows)
    schema = [f"{quoted(name)} {kind}" for name, kind in types.items()]
    numbers = spark.range(0, len(shares), 1, len(shares))
    return numbers.mapInArrow(_task(shares, scan), ", ".join([*schema, f"{SEQUENCE} BIGINT", f"{ARRIVED} BIGINT"]))


def _task(
    shares: Sequence[Sequence[FilePart]], scan: Scan
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task, which must use nothing of this module: it is sent to executors."""
    read = scanned

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read(shares[number], scan)

    return rows


def _shared_out(parts: Sequence[FilePart], tasks: int) -> list[list[FilePart]]:
    """Return parts of files for each task, about as many rows for each."""
    by_groups = len(parts) < _FILES_PER_TASK * tasks
    # Several parts of one file stay apart: rows between them are not read
    spans = {
        group: number
        for number, part in enumerate(parts)
        for group in (_by_groups(part) if by_groups else (part,))
    }
    heap: list[tuple[int, int]] = [(0, task) for task in range(tasks)]
    found: list[dict[tuple[str, int], FilePart]] = [{} for _ in range(tasks)]
    for part in sorted(spans, key=lambda part: part.first - part.end):
        rows, task = heap[0]
        span = part.path, spans[part]
        found[task][span] = _together(found[task].get(span), part)
        heapq.heapreplace(heap, (rows + part.end - part.first, task))
    return [list(each.values()) for each in found]


def _together(before: FilePart | None, part: FilePart) -> FilePart:
    """Return row groups of the same part of a file as one: each part opens its file and reads the footer."""
    if before is None or before.groups is None or part.groups is None:
        return part
    groups = (*before.groups, *part.groups)
    return replace(before, groups=groups, first=min(before.first, part.first), end=max(before.end, part.end))


def _by_groups(part: FilePart) -> Iterator[FilePart]:
    """Yield the row groups of a part as parts of their own."""
    metadata = pq.read_metadata(part.path)
    start = 0
    for group in range(metadata.num_row_groups):
        end = start + metadata.row_group(group).num_rows
        first, last = max(start, part.first), min(end, part.end)
        if first < last:
            yield replace(part, groups=(group,), first=first, end=last)
        start = end


def _passing_share(segments: Sequence[Segment], where: RowFilter) -> float:
    """Return the share of rows that pass a filter, by samples of some files; 1 if a file cannot be read."""
    count = min(len(segments), _SAMPLED_FILES)
    places = {round(place * (len(segments) - 1) / max(count - 1, 1)) for place in range(count)}
    try:
        counts = [_sampled(segments[place], where) for place in places]
    except (LostSegmentError, pa.ArrowException):
        return 1.0  # the job will find out
    return sum(kept for kept, _ in counts) / max(sum(seen for _, seen in counts), 1)


@lru_cache(maxsize=256)
def _sampled(segment: Segment, where: RowFilter) -> tuple[int, int]:
    """Return how many rows of a sample pass a filter, and how many there are."""
    rows = segment.sample(_SAMPLED_ROWS, sorted(columns_of(where)))
    return sum(pc.sum(passing(batch, where)).as_py() or 0 for batch in rows.to_batches()), rows.num_rows


def _workers_start(spark: SparkSession) -> bool:
    """Start Python workers in all slots; return whether they have what scans need."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow.compute
        import pyarrow.parquet  # noqa: F401

        yield from batches

    try:
        tasks = int(spark.sparkContext.defaultParallelism)  # Connect has none: there, Spark shares out the work
        spark.range(0, tasks, 1, tasks).mapInArrow(rows, "id BIGINT").toArrow()
    except Exception:  # of Spark, Java or Python
        return False
    return True
