"""Parquet files as segments: which files executors can read as they are, by the footers alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.language.statements import Column, StreamDef
from penstock.plan.columns import arrow_type
from penstock.runtime.admission import time_name
from penstock.runtime.rows.segment import FileStamp, Segment
from penstock.spark.sources.parquet_files import is_safe

_TEXT_BYTES = 12
"""Bytes of a text on average at least, whatever its encoding in the file."""


@dataclass(frozen=True)
class Footer:
    """The footer of a parquet file."""

    metadata: pq.FileMetaData
    schema: pa.Schema

    @classmethod
    def of(cls, path: Path) -> "Footer":
        """Read the footer of a file."""
        with pq.ParquetFile(path) as file:
            return cls(file.metadata, file.schema_arrow)

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return int(self.metadata.num_rows)

    @property
    def codecs(self) -> set[str]:
        """The compression of the columns, as in the first row group."""
        if not self.metadata.num_row_groups:
            return set()
        columns = self.metadata.row_group(0)
        return {columns.column(place).compression for place in range(columns.num_columns)}


def names_in(footer: Footer, columns: Sequence[Column]) -> dict[str, str] | None:
    """Return the file's column for each declared one; None if Spark cannot read one in its declared type."""
    here = {name.lower(): place for place, name in enumerate(footer.schema.names)}
    if len(here) < len(footer.schema.names) or "LZ4" in footer.codecs:
        return None  # Spark fails on dictionaries of more than 8 KB in LZ4 (parquet-java issue 3478)
    found: dict[str, str] = {}
    types: dict[str, str] = {}
    for column in columns:
        place = here.get((column.path or column.name).lower())
        if place is None:
            return None
        field = footer.schema.field(place)
        if not _is_readable(field.type, arrow_type(column.type.name), _is_int96(footer, field.name)):
            return None
        if types.setdefault(field.name, column.type.name) != column.type.name:
            return None  # one column of the file in two types
        found[column.name] = field.name
    return found


def segment_of(
    path: Path,
    footer: Footer,
    stream: StreamDef,
    names: dict[str, str],
    *,
    has_bad: bool = False,
    owned: bool = False,
) -> Segment:
    """Return a file as a segment. Its stamp is taken first: a change since then is noticed."""
    time = time_name(stream)
    return Segment(
        path,
        footer.rows,
        _bytes(footer, stream, names),
        FileStamp.of(path),
        None if time is None else names[time],
        stream=stream.name,
        has_bad=has_bad,
        owned=owned,
    )


def _is_readable(held: pa.DataType, wanted: pa.DataType, int96: bool) -> bool:
    """Whether Spark reads a column of a type as another without loss."""
    if pa.types.is_timestamp(held) and pa.types.is_timestamp(wanted):
        return bool(held.unit != "ns" or int96)
    return is_safe(held, wanted) and not pa.types.is_float16(held)


def _is_int96(footer: Footer, name: str) -> bool:
    """Whether a column is stored as INT96: Arrow calls that nanoseconds, but Spark reads it."""
    columns = (footer.metadata.schema.column(place) for place in range(len(footer.metadata.schema.names)))
    return any(column.path == name and column.physical_type == "INT96" for column in columns)


def _bytes(footer: Footer, stream: StreamDef, names: dict[str, str]) -> int:
    """Return the bytes that the declared columns would take in memory."""
    total = 0
    for column in stream.columns:
        kind = arrow_type(column.type.name)
        try:
            total += footer.rows * kind.bit_width // 8
        except ValueError:  # of any length
            total += max(_uncompressed(footer, names[column.name]), footer.rows * _TEXT_BYTES)
    return total


def _uncompressed(footer: Footer, name: str) -> int:
    meta = footer.metadata
    total = 0
    for group in range(meta.num_row_groups):
        for place in range(meta.num_columns):
            column = meta.row_group(group).column(place)
            if column.path_in_schema.split(".")[0] == name:
                total += column.total_uncompressed_size
    return total
