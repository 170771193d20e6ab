"""Plain text files become parquet files by one job for all of them: Python workers parse them with Arrow.

The rows are those of `text_segments`, in the same order; a file that is not plain gets none and is left to it.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.errors import RunError
from penstock.formats import plain_json, plain_text, plain_times
from penstock.formats.plain_splits import Split, first_record, is_plain_at_first, plain_format, splits_of
from penstock.formats.plain_text import PlainFormat, read_plain
from penstock.language.statements import Relation
from penstock.runtime.rows.segment import SEGMENT_CODEC
from penstock.spark.session import slots_of
from penstock.spark.sources.text_files import file_layout, unit_of
from penstock.spark.sources.text_lines import beginning_of, is_packed
from penstock.spark.sources.text_segments import TextPart, TextSegments, remove_others

SPLIT_BYTES = 16 * 1024 * 1024
"""Most bytes of text per task."""
_LEAST_BYTES = 2 * 1024 * 1024
_WAVES = 2
"""Tasks for each slot: each sends the parser to a worker, and takes a while to begin."""
_GROUP_ROWS = 256 * 1024
_RESULT = "split INT, name STRING, rows BIGINT, unit STRING"


class PlainJobError(RunError):
    """The job failed: executors may have no Arrow, or other files."""


def plain_segments(
    spark: SparkSession,
    paths: Sequence[Path],
    format_name: str,
    relation: Relation,
    folder: Path,
    most: int = SPLIT_BYTES,
) -> dict[Path, TextSegments]:
    """Write the rows of text files of one layout as parquet files into a new folder inside `folder`, by one job.

    Files that are not plain have no entry in the result, and nothing is left of them.
    """
    form, starts = _candidates(paths, format_name, relation)
    if form is None or not starts:
        return {}
    size = sum(path.stat().st_size for path in starts)
    most = min(most, max(size // slots_of(spark), _LEAST_BYTES))
    found = {path: splits_of(path.absolute(), start, most) for path, start in starts.items()}
    splits = {path: each for path, each in found.items() if each}
    if not splits:
        return {}
    target = folder.absolute() / f"plain-{uuid4().hex}"
    target.mkdir(parents=True)
    kept: dict[Path, TextSegments] = {}
    try:
        rows = _written(spark, [split for each in splits.values() for split in each], form, target)
        kept = _by_file(splits, rows, target)
    except Exception as error:  # of Spark, Java or Python: the files are then read otherwise
        raise PlainJobError(str(error)) from error
    finally:
        # Files that are not plain, and attempts that failed
        remove_others(target, [part.path for segments in kept.values() for part in segments.files])
    return kept


def _candidates(
    paths: Sequence[Path], format_name: str, relation: Relation
) -> tuple[PlainFormat | None, dict[Path, int]]:
    """Return the format of files, and where the records begin in those that seem plain."""
    if format_name not in ("json", "csv"):
        return None, {}
    layout = file_layout(paths[0], format_name, relation)
    form = plain_format(relation.columns, layout, unit_of(format_name, relation), relation.time_column)
    starts: dict[Path, int] = {}
    for path in paths if form is not None else ():
        try:
            beginning = None if is_packed(path) else beginning_of(path, layout)
            start = None if beginning is None else first_record(path, beginning.header_line, layout)
            if form is not None and start is not None and is_plain_at_first(path, start, form):
                starts[path] = start
        except (RunError, OSError):
            continue  # reading it otherwise will show what is wrong
    return form, starts


def _written(spark: SparkSession, splits: Sequence[Split], form: PlainFormat, target: Path) -> list[Any]:
    """Run the job; return its rows in the order of splits."""
    for module in (plain_text, plain_json, plain_times):
        # Executors need not have Penstock, or may have another version
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    places = [(each.path, each.start, each.end) for each in splits]
    tasks = min(len(splits), _WAVES * slots_of(spark))
    frame = spark.range(0, len(splits), 1, tasks)
    return sorted(frame.mapInArrow(_task(places, form, str(target)), _RESULT).collect())


def _task(
    splits: Sequence[tuple[str, int, int]], form: PlainFormat, folder: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function of a task, which must use nothing of this module: it is sent to executors."""
    read, group_rows = read_plain, _GROUP_ROWS

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                path, start, end = splits[number]
                found = read(path, start, end, form)
                name, rows, unit = None, 0, None
                if found is not None:
                    rows, unit = found.table.num_rows, found.unit
                    name = f"{number:06d}-{uuid4().hex}.parquet"
                    # Rows are read soon: compression costs more time than it saves, so it only limits the size
                    texts = [each.name for each in found.table.schema if pa.types.is_string(each.type)]
                    pq.write_table(
                        found.table,
                        f"{folder}/{name}",
                        row_group_size=group_rows,
                        compression="none" if found.table.nbytes <= end - start else SEGMENT_CODEC,
                        use_dictionary=texts,
                        store_schema=False,
                    )
                columns = [[number], [name], [rows], [unit]]
                kinds = [pa.int32(), pa.string(), pa.int64(), pa.string()]
                arrays = [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, ["split", "name", "rows", "unit"])

    return write


def _by_file(splits: dict[Path, list[Split]], rows: Sequence[Any], target: Path) -> dict[Path, TextSegments]:
    """Return what was written for each file whose splits are all plain; raise if it does not appear here."""
    found: dict[Path, TextSegments] = {}
    first = 0
    for path, own in splits.items():
        mine = rows[first : first + len(own)]
        first += len(own)
        if all(row["name"] for row in mine):
            parts = tuple(TextPart(target / row["name"], row["rows"]) for row in mine if row["rows"])
            if not all(part.path.is_file() for part in parts):
                raise RunError(f"what executors write to {target} does not appear there")
            units = dict.fromkeys(row["unit"] for row in mine if row["unit"])
            found[path] = TextSegments(target, parts, 0, tuple(units))
    if first != len(rows):
        raise RunError(f"{len(rows)} of {first} splits are known")
    return found
