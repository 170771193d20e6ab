"""Stored rows as Spark frames: executors read segments by path, and number, cut and filter the rows."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.formats.parquet_scan import FilePart, RowFilter
from penstock.formats.row_filter import renamed
from penstock.language.names import named, quoted
from penstock.plan.steps import ARRIVAL, TIME, seq
from penstock.runtime.admission import time_name
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.runtime.rows.job_input import WindowRows
from penstock.runtime.rows.row_window import EXPIRES
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.stored_batch import Span, StoredBatch
from penstock.shedding.drop_box import keeps_sql
from penstock.spark.file_scans import ARRIVED, SEQUENCE, can_scan, scanned_frame, scans_of
from penstock.spark.frames import arrow_frame, union
from penstock.spark.paths import literal_path

HIDDEN = (seq(0), TIME, ARRIVAL)
_MOST_UNITED = 8
"""Reads that are united before the numbers of files are joined instead: each costs some 20 ms."""
_LISTED = 500
"""Excluded rows that a condition lists; more are joined."""
_PATH, _BASE, _FIRST, _END, _ARRIVED = "__path", "__base", "__first", "__end", "__arrived"
_FILE, _ROW = "__file", "__row"


def stored_frame(
    spark: SparkSession,
    rows: Iterable[StoredRows],
    columns: Sequence[str],
    *,
    numbered: bool = True,
    arrivals: Sequence[int] | None = None,
    where: RowFilter | None = None,
) -> DataFrame:
    """Return stored rows of one stream with these columns, their numbers, times and arrivals.

    Rows that do not pass `where` may be left out; the caller filters what is returned again.

    Unless `numbered`, the sequence numbers are not needed, and are NULL. With `arrivals`, the place of a row's
    arrival among them stands for it. Then jobs differ in no constant, and Spark need not compile each anew, which
    made a filter of 10 million rows half as fast.
    """
    reader = _Reader(spark, list(rows), columns, numbered, arrivals=arrivals, where=where)
    return union([reader.read(each) for each in reader.together()])


def arrivals_of(rows: Iterable[StoredRows]) -> list[int] | None:
    """Return the arrivals of stored rows, if they are few enough for one read each."""
    found = sorted({each.arrival for each in rows})
    own = any(segment.numbered for each in rows for segment in each.segments)
    return found if len(found) <= _MOST_UNITED and not own else None


def window_frame(
    spark: SparkSession,
    window: WindowRows,
    columns: Sequence[str],
    *,
    numbered: bool = True,
    arrivals: Sequence[int] | None = None,
) -> DataFrame:
    """Return the stored rows of a window like `stored_frame`, with the column ``__x`` if it is a row window."""
    reader = _Reader(spark, list(window.stored), columns, numbered, window=window, arrivals=arrivals)
    return with_expiries(spark, union([reader.read(each) for each in reader.together()]), window)


def with_expiries(spark: SparkSession, frame: DataFrame, window: WindowRows) -> DataFrame:
    """Return stored rows with the column ``__x`` if the window is one of rows."""
    if window.expiries is None:
        return frame
    if not window.expiries.num_rows:
        return frame.selectExpr("*", f"CAST(NULL AS BIGINT) AS {EXPIRES}")
    leaving = F.broadcast(arrow_frame(spark, window.expiries)).alias("x")
    joined = frame.alias("s").join(leaving, F.expr(f"s.{seq(0)} = x.{seq(0)}"), "left")
    return joined.selectExpr("s.*", f"x.{EXPIRES}")


def seen_in(window: WindowRows) -> str:
    """Return the condition that a row is in a window at some time; a window of time is not asked for its range."""
    conditions = [] if window.expiries is None else _from_low(window)
    return " AND ".join([*conditions, *_numbered(window)]) or "true"


def spark_names(frame: DataFrame) -> dict[str, str]:
    """Return the files that a frame reads, by path, as ``_metadata.file_path`` spells them.

    Spark encodes some characters of a path and not others, so it is asked.
    """
    paths = [urlsplit(uri).path for uri in frame.inputFiles()]
    return {os.path.normpath(unquote(path)): f"file:{path}" for path in paths}


class _Reader:
    """Reads stored rows of one stream."""

    def __init__(
        self,
        spark: SparkSession,
        rows: Sequence[StoredRows],
        columns: Sequence[str],
        numbered: bool,
        window: WindowRows | None = None,
        arrivals: Sequence[int] | None = None,
        where: RowFilter | None = None,
    ) -> None:
        self._arrivals = arrivals
        self._where = where
        self._spark = spark
        self._rows = rows
        self._stream = rows[0].batch.stream
        self._time = time_name(self._stream)
        self._columns = columns
        self._numbered = numbered
        self._window = window

    def together(self) -> list[list[tuple[StoredBatch, Span]]]:
        """Return the spans of all rows, those together that one read returns. It reads each file once."""
        spans = self._spans()
        times: dict[Segment, int] = defaultdict(int)
        found: dict[object, list[tuple[StoredBatch, Span]]] = defaultdict(list)
        arrivals = len({batch.arrival_us for batch, _ in spans})
        for batch, span in spans:
            names = tuple(batch.names[column.name] for column in self._stream.columns)
            own = span.file.segment.numbered
            arrival = batch.arrival_us if arrivals <= _MOST_UNITED and not own else None
            times[span.file.segment] += 1
            found[names, own, span.file.keep, arrival, times[span.file.segment]].append((batch, span))
        return list(found.values())

    def _spans(self) -> list[tuple[StoredBatch, Span]]:
        """Return the spans of all rows; parts of a file that follow each other are one."""
        found: list[tuple[StoredBatch, Span]] = []
        for rows in self._rows:
            for span in rows.spans:
                if found and found[-1][1].file is span.file and found[-1][1].end <= span.first:
                    before = found.pop()[1]
                    if not _adjoin(before, span, self._stream.name):
                        found.append((rows.batch, before))
                    else:
                        span = replace(before, end=span.end, rows=before.rows + span.rows)
                found.append((rows.batch, span))
        return found

    def read(self, spans: Sequence[tuple[StoredBatch, Span]]) -> DataFrame:
        """Return the rows of spans with the same names of columns, drop box and, if it matters, arrival."""
        batch, first = spans[0]
        TRAFFIC.add(scans=len(spans))
        time = batch.names[self._time] if self._time else None
        scanned = self._scanned(spans)
        if scanned is not None:
            return self._numbered_rows(scanned, spans, SEQUENCE, ARRIVED, time)
        frame = self._spark.read.schema(self._schema(batch, own=first.file.segment.numbered)).parquet(
            *(literal_path(span.file.segment.path) for _, span in spans)
        )
        if self._window is not None and time is not None and not first.file.segment.numbered:
            frame = frame.filter(_pruning(quoted(time), self._window))
        if first.file.segment.numbered:
            return self._own(frame, spans)
        return self._foreign(frame, spans, time)

    def _scanned(self, spans: Sequence[tuple[StoredBatch, Span]]) -> DataFrame | None:
        """Return the rows that pass the filter, scanned by Arrow; None if Spark should read the files."""
        batch, first = spans[0]
        if self._where is None or self._window is not None or first.file.segment.numbered:
            return None
        types = self._types(batch, own=False)
        where = renamed(self._where, batch.names)
        segments = [span.file.segment for _, span in spans]
        rows = sum(span.rows for _, span in spans)
        if not can_scan(types, where) or not scans_of(self._spark).pay(self._spark, segments, rows, where):
            return None
        parts = [
            FilePart(
                str(span.file.segment.path.absolute()),
                None,
                span.first,
                span.end,
                span.file.segment.base,
                self._arrival(each),
            )
            for each, span in spans
        ]
        return scanned_frame(self._spark, parts, types, where, batch.bytes_per_row)

    def _types(self, batch: StoredBatch, *, own: bool) -> dict[str, str]:
        """Return the columns to read, by their names in the files: those that are asked for, and the time."""
        wanted = {*self._columns, *({self._time} if self._time and not own else ())}
        return {
            batch.names[column.name]: column.type.name for column in self._stream.columns if column.name in wanted
        }

    def _schema(self, batch: StoredBatch, *, own: bool) -> str:
        columns = [f"{quoted(name)} {kind}" for name, kind in self._types(batch, own=own).items()]
        columns += [f"{name} BIGINT" for name in HIDDEN] if own else []
        return ", ".join(columns or ["__none INT"])

    def _own(self, frame: DataFrame, spans: Sequence[tuple[StoredBatch, Span]]) -> DataFrame:
        """Return the rows of files that Penstock wrote, with their numbers in columns."""
        if not all(span.is_whole for _, span in spans):
            limits = [(span.file.segment.path, 0, span.first, span.end, 0) for _, span in spans]
            frame = self._joined(frame, limits).filter(f"{_ROW} >= {_FIRST} AND {_ROW} < {_END}")
        batch = spans[0][0]
        return self._seen(frame.selectExpr(*self._named(batch), *HIDDEN))

    def _foreign(self, frame: DataFrame, spans: Sequence[tuple[StoredBatch, Span]], time: str | None) -> DataFrame:
        """Return the rows of files, numbered by their places."""
        batch, first = spans[0]
        clean = all(span.is_whole for _, span in spans)
        arrival = f"{self._arrival(batch)}L"
        sequence = "CAST(NULL AS BIGINT)"
        conditions = []
        if len(spans) == 1 and (self._numbered or not clean):
            sequence = f"_metadata.row_index + {first.file.segment.base}L"
            if not clean and (first.first, first.end) != (0, first.file.segment.rows):
                conditions = [f"_metadata.row_index >= {first.first} AND _metadata.row_index < {first.end}"]
        elif len(spans) > 1 and (self._numbered or not clean or _arrivals(spans) > 1):
            limits = [
                (span.file.segment.path, span.file.segment.base, span.first, span.end, self._arrival(each))
                for each, span in spans
            ]
            frame = self._joined(frame, limits)
            sequence, arrival = f"{_ROW} + {_BASE}", _ARRIVED
            if not clean:
                conditions = [f"{_ROW} >= {_FIRST} AND {_ROW} < {_END}"]
        for condition in conditions:
            frame = frame.filter(condition)
        return self._numbered_rows(frame, spans, sequence, arrival, time)

    def _numbered_rows(
        self,
        frame: DataFrame,
        spans: Sequence[tuple[StoredBatch, Span]],
        sequence: str,
        arrival: str,
        time: str | None,
    ) -> DataFrame:
        """Return the admitted rows of a frame with the hidden columns, which are computed by SQL."""
        batch = spans[0][0]
        times = arrival if time is None else f"unix_micros({quoted(time)})"
        hidden = [f"{sequence} AS {seq(0)}", f"{times} AS {TIME}", f"{arrival} AS {ARRIVAL}"]
        frame = frame.selectExpr(*self._named(batch), *hidden)
        if not all(span.is_whole for _, span in spans):
            frame = self._admitted(frame, spans)
        return self._seen(frame)

    def _arrival(self, batch: StoredBatch) -> int:
        """Return the arrival of a batch, or what stands for it."""
        return batch.arrival_us if self._arrivals is None else self._arrivals.index(batch.arrival_us)

    def _named(self, batch: StoredBatch) -> list[str]:
        return [named(quoted(batch.names[name]), name) for name in self._columns]

    def _joined(self, frame: DataFrame, limits: Sequence[tuple[Path, int, int, int, int]]) -> DataFrame:
        """Join rows with the numbers of their files, by the names that Spark gives these."""
        paths, *columns = zip(*limits, strict=True)
        names = spark_names(frame)
        table = pa.table(
            [
                pa.array([names[os.path.normpath(path)] for path in paths]),
                *(pa.array(column, pa.int64()) for column in columns),
            ],
            [_PATH, _BASE, _FIRST, _END, _ARRIVED],
        )
        files = F.broadcast(arrow_frame(self._spark, table))
        frame = frame.selectExpr("*", f"_metadata.row_index AS {_ROW}", f"_metadata.file_path AS {_FILE}")
        return frame.join(files, F.expr(f"{_FILE} = {_PATH}"))

    def _admitted(self, frame: DataFrame, spans: Sequence[tuple[StoredBatch, Span]]) -> DataFrame:
        """Return the rows without rejected and dropped ones."""
        keep = spans[0][1].file.keep
        if keep < 1:
            frame = frame.filter(keeps_sql(self._stream.name, keep, seq(0)))
        excluded = np.concatenate([span.file.segment.base + span.file.excluded for _, span in spans])
        if not len(excluded):
            return frame
        if len(excluded) <= _LISTED:
            return frame.filter(f"{seq(0)} NOT IN ({', '.join(f'{each}L' for each in excluded.tolist())})")
        away = F.broadcast(arrow_frame(self._spark, pa.table({"__away": pa.array(excluded)})))
        return frame.join(away, F.expr(f"{seq(0)} = __away"), "left_anti")

    def _seen(self, frame: DataFrame) -> DataFrame:
        """Return the rows that are in the window, if there is one."""
        window = self._window
        if window is None:
            return frame
        conditions = [f"{TIME} <= {window.high}L"] if window.high is not None else []
        conditions += _from_low(window)
        conditions += _numbered(window, min(rows.first_sequence for rows in self._rows))
        return frame.filter(" AND ".join(conditions)) if conditions else frame


def _from_low(window: WindowRows) -> list[str]:
    """Return the condition that rows are not before the earliest of a window."""
    if window.low is None:
        return []
    if not window.low_sequence:
        return [f"{TIME} >= {window.low}L"]
    after = f"({TIME} = {window.low}L AND {seq(0)} >= {window.low_sequence}L)"
    return [f"({TIME} > {window.low}L OR {after})"]


def _numbered(window: WindowRows, first: int = 0) -> list[str]:
    """Return the conditions on the sequence numbers of a window's rows, which are `first` or more."""
    found = [f"{seq(0)} >= {window.start}L"] if first < window.start else []
    return found if window.end is None else [*found, f"{seq(0)} < {window.end}L"]


def _adjoin(before: Span, after: Span, stream: str) -> bool:
    """Whether no row that was admitted is between two parts of a file."""
    if before.end == after.first:
        return True
    places = before.file.places(stream)
    return not ((places >= before.end) & (places < after.first)).any()


def _arrivals(spans: Sequence[tuple[StoredBatch, Span]]) -> int:
    return len({batch.arrival_us for batch, _ in spans})


def _pruning(column: str, window: WindowRows) -> str:
    """Return the time range of a window as a condition on a file's own column, by which Spark skips row groups."""
    bounds = [(">=", window.low), ("<=", window.high)]
    found = [f"{column} {sign} timestamp_micros({bound}L)" for sign, bound in bounds if bound is not None]
    return " AND ".join(found) or "true"
