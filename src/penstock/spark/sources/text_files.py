"""Text files (JSON, CSV, web server logs, Zeek) as rows: layouts, and records in blocks for Spark to parse."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import RunError
from penstock.formats.layout import Layout, layout_of
from penstock.formats.texts import first_lines, records_of
from penstock.language.statements import Relation
from penstock.spark.sources.missing_columns import fail_missing
from penstock.spark.sources.text_parser import parsed

BLOCK_BYTES = 16 * 1024 * 1024
"""Most text that one job parses."""


class UnreadableError(RunError):
    """One of several files cannot be read to its end; the rows before that were returned."""

    def __init__(self, place: int, error: Exception) -> None:
        super().__init__(str(error))
        self.place = place


def read_text(
    spark: SparkSession, format_name: str, paths: Sequence[Path], relation: Relation
) -> Iterator[pa.Table]:
    """Return the rows of text files of one layout; a broken file raises `UnreadableError` after its rows."""
    layout = file_layout(paths[0], format_name, relation)
    unit = unit_of(format_name, relation)
    for records in _blocks(paths, layout):
        yield parsed(spark, records, relation.columns, layout, unit, relation.time_column)


def unit_of(format_name: str, relation: Relation) -> str | None:
    """Return the unit of numbers in times; None: by their size."""
    unit: str | None = relation.options.get("timestamp_unit", "s" if format_name == "zeek" else None)
    return unit


def _blocks(paths: Sequence[Path], layout: Layout) -> Iterator[pa.Array]:
    """Return the records of files in blocks of about `BLOCK_BYTES`; small files share a block."""
    held: list[str] = []
    size = 0
    broken: UnreadableError | None = None
    for place, path in enumerate(paths):
        try:
            for records in records_of(path, layout):
                held += records
                size += sum(map(len, records))
                if size >= BLOCK_BYTES:
                    yield pa.array(held, pa.string())
                    held, size = [], 0
        except (RunError, OSError) as error:
            broken = UnreadableError(place, error)
            break
    if held:
        yield pa.array(held, pa.string())
    if broken is not None:
        raise broken


def file_layout(path: Path, format_name: str, relation: Relation) -> Layout:
    """Return the layout of a file; raise if its header misses a declared column."""
    layout = layout_of(format_name, relation.options, in_file=True)
    if format_name == "zeek" or layout.header_lines:
        beginning = first_lines(path)
        if not beginning.strip():
            return layout
        layout = layout.with_header(beginning, path.name)
        here = {name.lower() for name in layout.names or ()}
        for column in relation.columns:
            if (column.path or column.name).lower() not in here:
                fail_missing(path, column, layout.names or ())
    return layout
