"""Samples of streams before a run, without Spark: from the stream's generator or its first file."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from penstock.errors import PenstockError
from penstock.language.paths import found_path
from penstock.language.statements import StreamDef
from penstock.plan.columns import arrow_type
from penstock.plan.operators import RATE
from penstock.plan.probe_orders import SAMPLE_ROWS, StreamSample
from penstock.workloads import made_rows

_GENERATED = ("bursty", "poisson", "trace")


def sampled(stream: StreamDef, folder: Path) -> StreamSample:
    """Return the rate of a stream, as declared or from the times of a file, and some of its rows.

    There are no rows for sockets, Spark tables and files that do not match their declaration.
    """
    declared = float(stream.options.get("rate", RATE))
    if stream.source in _GENERATED:
        columns = [(column.name, arrow_type(column.type.name)) for column in stream.columns]
        options = {name: value for name, value in stream.options.items() if isinstance(value, int | float)}
        random = np.random.default_rng(int(stream.options.get("seed", 0)))
        return StreamSample(declared, made_rows(columns, SAMPLE_ROWS, random, options))
    if stream.source != "files":
        return StreamSample(declared)
    try:
        rows = _read(_first(found_path(folder, stream.options["path"], stream.name)), stream)
    except (PenstockError, OSError, pa.ArrowException, StopIteration):
        return StreamSample(declared)
    return StreamSample(_rate(rows, stream) or declared, rows)


def _first(path: Path) -> Path:
    found = path.glob("*") if path.is_dir() else path.parent.glob(path.name)
    return min((each for each in found if each.is_file() and each.name[0] not in "._"), default=path)


def _read(file: Path, stream: StreamDef) -> pa.Table:
    form = stream.options["format"]
    types = {column.name: arrow_type(column.type.name) for column in stream.columns}
    if form == "parquet":
        with pq.ParquetFile(file) as opened:
            batch = next(opened.iter_batches(SAMPLE_ROWS, columns=list(types)))
        return pa.Table.from_batches([batch])
    if form == "csv":
        named = None if stream.options.get("header", True) else list(types)
        with pc_csv.open_csv(
            file,
            read_options=pc_csv.ReadOptions(column_names=named, block_size=4_000_000),
            parse_options=pc_csv.ParseOptions(delimiter=stream.options.get("delimiter", ",")),
            convert_options=pc_csv.ConvertOptions(column_types=types, include_columns=list(types)),
        ) as opened:
            return pa.Table.from_batches([opened.read_next_batch()]).slice(0, SAMPLE_ROWS)
    raise StopIteration(f"only Spark reads {form}")


def _rate(rows: pa.Table, stream: StreamDef) -> float | None:
    """Return the rows per second of the stream's own time; None if it has no time or all times are equal."""
    if stream.timestamp is None or rows.num_rows < 2:
        return None
    column = rows.column(stream.timestamp)
    if not pa.types.is_timestamp(column.type):
        return None
    times = pc.min_max(column.cast(pa.timestamp("us"))).as_py()
    span_s = (times["max"] - times["min"]).total_seconds() if times["max"] is not None else 0.0
    return rows.num_rows / span_s if span_s > 0 else None
