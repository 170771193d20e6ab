"""Stored rows as frames: every row once, with its number, time and arrival, however chunks were cut."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.language.statements import Column, StreamDef
from penstock.language.types import ColumnType
from penstock.runtime.file_admission import admitted_files
from penstock.runtime.rows.job_input import WindowRows
from penstock.runtime.rows.segment import ArrivedFiles
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.shedding.drop_box import DropBox
from penstock.spark.sources.parquet_segments import Footer, names_in, segment_of
from penstock.spark.stored_frames import arrivals_of, stored_frame, window_frame

COLUMNS = (Column("v", ColumnType("INT")), Column("at", ColumnType("TIMESTAMP")))
STREAM = StreamDef("s", COLUMNS, "files", {"timestamp": "at"})


def admitted(folder, name: str, times: list[int], first: int, arrival: int, box=None):
    """Return the rows of two files, the second with the same times, as stored rows."""
    segments, names = [], None
    for number in range(2):
        path = folder / f"{name}{number}.parquet"
        values = pa.array(range(first + number * len(times), first + (number + 1) * len(times)), pa.int32())
        pq.write_table(pa.table({"v": values, "at": pa.array(times, pa.timestamp("us"))}), path)
        footer = Footer.of(path)
        names = names_in(footer, STREAM.columns)
        segments.append(segment_of(path, footer, STREAM, names))
    found = admitted_files(STREAM, ArrivedFiles(tuple(segments), arrival, names), first, None, box)
    return found.stored


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("keep", [1.0, 0.5])
def test_parts_of_files(numbered, keep, tmp_path, spark):
    """Cut chunks, those that follow each other and others, with late rows and a drop box between them."""
    box = DropBox("s", [(0, keep)])
    times = [5, 5, 6, 1, 7, 7, 2, 8, 8, 8]  # 1 and 2 are late; in the second file, all below 8
    one = admitted(tmp_path, "a", times, 0, 1000, box)
    two = admitted(tmp_path, "b", times, 20, 2000, box)
    parts = [*one.cut(2), *two.cut(1)]
    first, rest = parts[1].cut(2)
    parts[1:2] = [first, rest]
    some = [parts[0], parts[1], parts[3], parts[4]]  # without the third: its file is read in two parts
    for rows in (parts, some, [one, two]):
        arrivals = None if numbered else arrivals_of(rows)
        found = stored_frame(spark, rows, ["v"], numbered=numbered, arrivals=arrivals).toArrow().to_pylist()
        wanted = [row for each in rows for row in each.table().select(["v", "__seq0", "__t", "__a"]).to_pylist()]
        if arrivals is not None:
            for row in wanted:
                row["__a"] = arrivals.index(row["__a"])
                found_row = next(each for each in found if each["v"] == row["v"])
                row["__seq0"] = found_row["__seq0"]
        assert sorted(found, key=lambda row: row["v"]) == wanted


def test_windows_of_segments_with_large_dictionaries(tmp_path, spark):
    """Spark compares a window's times with dictionaries, and fails on those of more than 8 KB in LZ4."""
    count = 3000
    numbers = pa.array(range(count), pa.int64())
    columns = {"v": numbers.cast(pa.int32()), "at": numbers.cast(pa.timestamp("us"))}
    rows = pa.table({**columns, "__seq0": numbers, "__t": numbers, "__a": numbers})
    stored = SegmentWriter(tmp_path).stored(STREAM, [rows])
    found = window_frame(spark, WindowRows(rows.slice(0, 0), (stored,), low=10, high=20), ["v"]).toArrow()
    assert sorted(found.column("v").to_pylist()) == list(range(10, 21))


def test_files_in_lz4_pass_through_the_driver(tmp_path):
    pq.write_table(pa.table({"v": pa.array([1], pa.int32()), "at": [None]}), tmp_path / "a", compression="lz4")
    assert names_in(Footer.of(tmp_path / "a"), COLUMNS[:1]) is None
