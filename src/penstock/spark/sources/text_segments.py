"""Large text files become parquet files by one job on the executors; the driver reads footers only.

The rows are those of `read_text`, in the same order. Where lines are not records, `text_segments` returns None.
"""

import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

from penstock.errors import RunError
from penstock.language.statements import Relation
from penstock.runtime.admission import BAD, RAW
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.runtime.rows.segment import SEGMENT_CODEC, statistics_of
from penstock.spark.sources.text_files import file_layout, unit_of
from penstock.spark.sources.text_lines import (
    BLOCK,
    beginning_of,
    is_readable,
    lines_frame,
    metrics,
    records_frame,
)
from penstock.spark.sources.text_parser import UNIT, parsed_frame

_WRITE_OPTIONS = {
    "compression": SEGMENT_CODEC,
    "maxRecordsPerFile": "0",
    "parquet.block.size": str(32 * 1024 * 1024),
    # Most columns of logs have too many values for a dictionary: without it, writing took half the time
    "parquet.enable.dictionary": "false",
    **{f"parquet.enable.dictionary#{name}": "true" for name in (BLOCK, BAD, RAW, UNIT)},
}


@dataclass(frozen=True)
class TextPart:
    """A parquet file with consecutive rows of a text file."""

    path: Path
    rows: int


@dataclass(frozen=True)
class TextSegments:
    """The rows of a text file as parquet files in `folder`, in the order of the rows."""

    folder: Path
    files: tuple[TextPart, ...]
    malformed: int
    """Rows with a reason in ``__bad``."""
    units: tuple[str, ...]
    """The units in which times were read, if the script sets none; that of the first time is the first."""

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)


def text_segments(
    spark: SparkSession, path: Path, format_name: str, relation: Relation, folder: Path
) -> TextSegments | None:
    """Write the rows of a text file as parquet files into a new folder inside `folder`, by one job.

    Beside the declared columns they have ``__bad``, ``__raw``, perhaps ``__unit``, and ``__block``, the place in
    the text file where their task began. None: executors cannot read the file as `read_text` does, or the job
    failed; nothing is left of it, and `read_text` gives the rows or the error.
    """
    layout = file_layout(path, format_name, relation)
    try:
        beginning = beginning_of(path, layout) if is_readable(path) else None
    except (RunError, OSError):
        beginning = None
    if beginning is None:
        return None
    unit = unit_of(format_name, relation)
    lines = lines_frame(spark, path.absolute(), beginning)
    watched = metrics(layout, beginning)
    about_lines, about_records = Observation(), Observation()
    if watched:
        lines = lines.observe(about_lines, *watched)
    records = records_frame(lines, layout, beginning).observe(about_records, F.expr("count(*) AS rows"))
    rows = parsed_frame(records, relation.columns, layout, unit, relation.time_column, [BLOCK])
    target = folder.absolute() / f"text-{uuid4().hex}"
    found = None
    try:
        rows.write.options(**_WRITE_OPTIONS).parquet(str(target))
        seen = about_lines.get if watched else {}
        if not seen.get("joined") and seen.get("headers", 1) == 1:
            found = _written(target, about_records.get["rows"])
    except Exception:  # of Spark, Java or Arrow: `read_text` will show what is wrong with the file
        found = None
    finally:
        remove_others(target, () if found is None else [part.path for part in found.files])
    return found


def remove_others(folder: Path, kept: Collection[Path]) -> None:
    """Remove what is in a folder and not kept, and the folder if nothing is."""
    if not kept:
        shutil.rmtree(folder, ignore_errors=True)
        return
    own = set(kept)
    for path in folder.iterdir():
        if path not in own:
            path.unlink(missing_ok=True)


def _written(folder: Path, rows: int) -> TextSegments | None:
    """Return the files of a folder in their order; None if their footers do not tell it, or rows are missing."""
    places: dict[int, TextPart] = {}
    malformed = 0
    for path in folder.glob("*.parquet"):
        with pq.ParquetFile(path) as file:
            if not file.metadata.num_rows:
                continue
            blocks = _blocks(file.metadata)
            if len(blocks) != 1 or blocks & places.keys():
                return None
            places[blocks.pop()] = TextPart(path, file.metadata.num_rows)
            malformed += sum(_malformed(file, group) for group in range(file.num_row_groups))
    files = tuple(part for _, part in sorted(places.items()))
    if sum(part.rows for part in files) != rows:
        return None
    units = dict.fromkeys(unit for part in files for unit in _units(part.path))
    return TextSegments(folder, files, malformed, tuple(units))


def _blocks(metadata: pq.FileMetaData) -> set[int]:
    """Return the least and the largest ``__block`` of each row group; -1 if a footer does not say it."""
    places: set[int] = set()
    for group in range(metadata.num_row_groups):
        statistics = statistics_of(metadata, group, BLOCK)
        if statistics is None or not statistics.has_min_max:
            return {-1, -2}
        places |= {statistics.min, statistics.max}
    return places


def _malformed(file: pq.ParquetFile, group: int) -> int:
    """Return how many rows of a row group have a reason in ``__bad``."""
    statistics = statistics_of(file.metadata, group, BAD)
    if statistics is not None and statistics.has_null_count:
        return int(file.metadata.row_group(group).num_rows - statistics.null_count)
    reasons = file.read_row_group(group, columns=[BAD]).column(BAD)
    return int(len(reasons) - reasons.null_count)


def _units(path: Path) -> Iterator[str]:
    """Return the units of times in a file as they occur; the column is read only where there are several."""
    with pq.ParquetFile(path) as file:
        if UNIT not in file.schema_arrow.names:
            return
        for group in range(file.num_row_groups):
            statistics = statistics_of(file.metadata, group, UNIT)
            if statistics is not None and statistics.has_min_max and statistics.min == statistics.max:
                yield statistics.min
            elif statistics is None or statistics.num_values:
                column = file.read_row_group(group, columns=[UNIT]).column(UNIT)
                TRAFFIC.add(read=column.nbytes)
                yield from (unit for unit in column.unique().to_pylist() if unit is not None)
