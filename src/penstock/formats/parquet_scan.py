"""Scans of parquet files by Arrow: the rows that pass a filter, with their sequence numbers and arrivals.

Executors run this in Python workers, and need not have Penstock: it imports nothing of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RowFilter = tuple[Any, ...]
"""``('>=', column, constant)`` and the like, or ``('and', filter, filter)``, ``('or', filter, filter)``."""

_COMPARISONS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MOST_BYTES = 32 * 1024 * 1024
"""Batches that are sent together are not larger than this, or are a single one."""
_REPEATED_BYTES = 3.0
"""A text that takes less on average is a number in a dictionary: it is decoded only where its row passes."""


@dataclass(frozen=True)
class FilePart:
    """Row groups of a file, and of their rows those with places from `first` up to `end`."""

    path: str
    groups: tuple[int, ...] | None
    """None: all."""
    first: int
    end: int
    base: int
    """The sequence number of the file's first row."""
    arrival: int


@dataclass(frozen=True)
class Scan:
    """What is read of every file."""

    columns: tuple[tuple[str, pa.DataType], ...]
    """The columns by their names in the files, and the types that they are returned in."""
    where: RowFilter
    """Its columns are named as in the files."""
    hidden: tuple[str, str]
    """The names of the sequence number and of the arrival in the result."""
    batch_rows: int


def passing(batch: pa.RecordBatch, where: RowFilter) -> pa.Array:
    """Return for each row whether it passes a filter, or NULL; NaN is greater than every number, as in Spark.

    >>> batch = pa.RecordBatch.from_pydict({"v": [1.0, 3.0, float("nan"), None]})
    >>> passing(batch, (">", "v", 2.0)).to_pylist(), passing(batch, ("<", "v", 2.0)).to_pylist()
    ([False, True, True, None], [True, False, False, None])
    """
    word, *given = where
    if word == "and":
        return pc.and_kleene(passing(batch, given[0]), passing(batch, given[1]))
    if word == "or":
        return pc.or_kleene(passing(batch, given[0]), passing(batch, given[1]))
    column = batch.column(given[0])
    if pa.types.is_dictionary(column.type):
        found = _COMPARISONS[word](column.dictionary, given[1])
        return found.take(column.indices)
    if pa.types.is_floating(column.type):  # the constant is a DOUBLE, which a FLOAT would round
        column = column.cast(pa.float64())
    found = _COMPARISONS[word](column, _constant(given[1], column.type))
    if pa.types.is_floating(column.type) and word in (">", ">="):
        return pc.or_kleene(found, pc.is_nan(column))
    return found


def _constant(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401
    """Return a whole number in the type of a column if it fits: Arrow would convert all of the column."""
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowInvalid, OverflowError):
        return value


def scanned(parts: Sequence[FilePart], scan: Scan) -> Iterator[pa.RecordBatch]:
    """Yield the rows that pass the filter, several batches together: sending one takes a millisecond."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for part in parts:
        for batch in _read(part, scan):
            if held and size + batch.nbytes > _MOST_BYTES:
                yield pa.concat_batches(held)
                held, rows, size = [], 0, 0
            held.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= scan.batch_rows:
                yield pa.concat_batches(held)
                held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)


def _read(part: FilePart, scan: Scan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part that pass; an error of the file names it as Spark's own readers do."""
    try:
        yield from _scanned(part, scan)
    except (MemoryError, pa.ArrowNotImplementedError):
        raise  # no fault of the file
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        text = f"[FAILED_READ_FILE.ARROW] error while reading file file://{quote(part.path)}. {reason}"
        raise RuntimeError(text) from error


def _scanned(part: FilePart, scan: Scan) -> Iterator[pa.RecordBatch]:
    metadata = pq.read_metadata(part.path)
    names = [name for name, _ in scan.columns]
    with pq.ParquetFile(
        part.path,
        metadata=metadata,
        read_dictionary=_repeated(metadata, scan),
        coerce_int96_timestamp_unit="us",
    ) as file:
        start = 0
        for group in range(metadata.num_row_groups):
            count = metadata.row_group(group).num_rows
            place, start = start, start + count
            wanted = part.groups is None or group in part.groups
            if not wanted or place >= part.end or start <= part.first or excluded(metadata, group, scan.where):
                continue
            for batch in file.iter_batches(scan.batch_rows, row_groups=[group], columns=names, use_threads=False):
                yield from _rows(batch, place, part, scan)
                place += batch.num_rows


def _rows(batch: pa.RecordBatch, place: int, part: FilePart, scan: Scan) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch that pass; `place` is that of its first row in the file."""
    low, high = max(part.first - place, 0), min(part.end - place, batch.num_rows)
    batch = _without_views(batch.slice(low, max(high - low, 0)))
    passed = pc.indices_nonzero(pc.fill_null(passing(batch, scan.where), fill_value=False))
    names = [*(name for name, _ in scan.columns), *scan.hidden]
    most = _at_once(batch)
    for start in range(0, len(passed), most):
        places = passed.slice(start, most)
        rows = batch.take(places)
        arrays = [_as(rows.column(name), kind) for name, kind in scan.columns]
        sequence = pc.add(places.cast(pa.int64()), part.base + place + low)
        arrival = pa.repeat(pa.scalar(part.arrival, pa.int64()), rows.num_rows)
        yield pa.RecordBatch.from_arrays([*arrays, sequence, arrival], names)


def _at_once(batch: pa.RecordBatch) -> int:
    """Return of how many rows the texts that are in dictionaries may be decoded together."""
    dictionaries = [column.dictionary for column in batch.columns if pa.types.is_dictionary(column.type)]
    texts = [each for each in dictionaries if pa.types.is_string(each.type) or pa.types.is_large_string(each.type)]
    longest = sum(pc.max(pc.binary_length(each)).as_py() or 0 for each in texts)
    return max(_MOST_BYTES // max(longest, 1), 1)


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch without string views, of which Arrow cannot take some rows."""
    if not any(pa.types.is_string_view(field.type) for field in batch.schema):
        return batch
    views = [pa.types.is_string_view(column.type) for column in batch.columns]
    arrays = [each.cast(pa.string()) if view else each for each, view in zip(batch.columns, views, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(kind, safe=False)  # only types that convert without loss are scanned


def _repeated(metadata: pq.FileMetaData, scan: Scan) -> list[str]:
    """Return the texts that the first row group has in a dictionary, by the bytes of a value."""
    texts = {name for name, kind in scan.columns if pa.types.is_string(kind)}
    found = []
    for place in range(metadata.num_columns if metadata.num_row_groups else 0):
        chunk = metadata.row_group(0).column(place)
        small = chunk.total_uncompressed_size <= _REPEATED_BYTES * chunk.num_values
        if chunk.path_in_schema in texts and chunk.has_dictionary_page and small:
            found.append(chunk.path_in_schema)
    return found


def excluded(metadata: pq.FileMetaData, group: int, where: RowFilter) -> bool:
    """Whether statistics say that no row of a row group passes; only those of whole numbers are used."""
    word, *given = where
    if word == "and":
        return any(excluded(metadata, group, each) for each in given)
    if word == "or":
        return all(excluded(metadata, group, each) for each in given)
    name, value = given
    if not isinstance(value, int) or word == "<>":
        return False
    chunks = metadata.row_group(group)
    found = (chunks.column(place) for place in range(chunks.num_columns))
    about = next((chunk.statistics for chunk in found if chunk.path_in_schema == name), None)
    if about is None or not about.has_min_max or not isinstance(about.min, int):
        return False
    if word == "=":
        return bool(value < about.min or value > about.max)
    return bool(about.max < value if word[0] == ">" else about.min > value)
