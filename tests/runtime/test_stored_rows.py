"""Stored rows against the same rows in memory: counts, cuts, times, whatever is rejected or dropped."""

import math
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.language.statements import Column, StreamDef, WindowDef
from penstock.language.types import ColumnType
from penstock.plan.columns import numbers
from penstock.runtime import file_admission
from penstock.runtime.admission import Arrived, admitted
from penstock.runtime.chunk import Chunk
from penstock.runtime.file_admission import admitted_files
from penstock.runtime.queues import Queue
from penstock.runtime.rows import window_cache
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.segment import ArrivedFiles, LostSegmentError
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.time_index import TimeIndexBuilder
from penstock.runtime.rows.time_order import TimeOrder
from penstock.runtime.rows.window_cache import WindowCache
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.runtime.stream_log import StreamLog
from penstock.shedding.drop_box import DropBox
from penstock.spark.sources.parquet_segments import Footer, names_in, segment_of

COLUMNS = (Column("v", ColumnType("INT")), Column("at", ColumnType("TIMESTAMP")))
STREAM = StreamDef("s", COLUMNS, "files", {"timestamp": "at", "lateness": 5})


def both(random: Random, folder: Path):
    """Return the same admitted rows twice, stored and resident, with what was rejected."""
    count = random.randrange(1, 60)
    times = [None if random.random() < 0.05 else n + random.randrange(-8, 8) for n in range(count)]
    table = pa.table({"v": pa.array(range(count), pa.int32()), "at": pa.array(times, pa.timestamp("us", "UTC"))})
    box = DropBox("s", [(0, random.choice([1.0, 0.5]))])
    segments, left, names = [], table, None
    while left.num_rows:
        some = random.randrange(1, 30)
        path = folder / f"{len(segments)}.parquet"
        pq.write_table(left.slice(0, some), path, row_group_size=random.randrange(1, 9))
        footer = Footer.of(path)
        names = names_in(footer, STREAM.columns)
        segments.append(segment_of(path, footer, STREAM, names))
        left = left.slice(some)
    builder = partial(TimeIndexBuilder, random.choice([1, 2, 7, 4096]))
    with patch.object(file_admission, "TimeIndexBuilder", builder):
        stored = admitted_files(STREAM, ArrivedFiles(tuple(segments), 9, names), 100, None, box)
    return stored, admitted(STREAM, Arrived(table, 9), 100, None, box)


def check_near(stored: StoredRows, low: int, high: int):
    """What is near has all rows of these times, and whole files as far as these rows have them."""
    near = stored.near(low, high)
    wanted = stored.between(low, high)[1].tolist()
    if near is None:
        assert not wanted
        return
    assert near.between(low, high)[1].tolist() == wanted
    cuts = {0, *near.batch.ends.tolist(), stored.first, stored.end}
    assert {near.first, near.end} <= cuts


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_stored_rows_are_the_resident_ones(seed):
    random = Random(seed)
    with TemporaryDirectory() as folder:
        found, wanted = both(random, Path(folder))
        assert found.rejected.equals(wanted.rejected)
        assert (found.next_sequence, found.newest) == (wanted.next_sequence, wanted.newest)
        assert (found.dropped, found.offered) == (wanted.dropped, wanted.offered)
        assert (found.stored is None) == (wanted.rows.num_rows == 0)
        if found.stored is None:
            return
        stored, resident = found.stored, ResidentRows(wanted.rows)
        for _ in range(5):
            assert stored.rows == resident.rows
            assert stored.table().equals(resident.table)
            assert stored.first_time <= resident.first_time
            assert stored.last_time >= resident.last_time
            assert stored.first_sequence <= resident.first_sequence
            assert stored.end_sequence >= resident.end_sequence
            bound = random.randrange(-10, 70)
            assert stored.ready(bound) == resident.ready(bound)
            assert stored.count_below(bound) == resident.count_below(bound)
            least, most = stored.count_bounds(bound)
            assert least <= resident.count_below(bound) <= most
            high = bound + random.randrange(20)
            for got, right in zip(stored.between(bound, high), resident.between(bound, high), strict=True):
                assert got.tolist() == right.tolist()
            check_near(stored, bound, high)
            if stored.rows < 2:
                return
            cut, rest = random.randrange(1, stored.rows), random.random() < 0.5
            stored, resident = (each.cut(cut)[rest] for each in (stored, resident))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_positions_in_time_order(seed):
    """The row at each position is that of the sorted rows, also for a query that sees only some."""
    random = Random(seed)
    with TemporaryDirectory() as folder:
        found, wanted = both(random, Path(folder))
        if found.stored is None:
            return
        first, last = 100 + random.randrange(20), random.choice([None, 100 + random.randrange(20, 60)])
        order = TimeOrder([Chunk(found.stored, 1)], first, last)
        rows = zip(numbers(wanted.rows, "__t").tolist(), numbers(wanted.rows, "__seq0").tolist(), strict=True)
        right = sorted((t, n) for t, n in rows if n >= first and (last is None or n < last))
        assert order.rows == len(right)
        assert [order.at(position) for position in range(len(right))] == right


def test_a_long_log_is_written_from_its_oldest_chunks_on(tmp_path):
    """What is written is the same rows; files that nothing needs are removed."""
    writer = SegmentWriter(tmp_path)
    table = pa.table({"v": pa.array(np.arange(100_000), pa.int32())})
    chunks = []
    for number in range(60):
        arrived = Arrived(
            table.append_column("at", pa.array(np.full(100_000, number), pa.timestamp("us"))), number
        )
        chunks.append(Chunk.of(admitted(STREAM, arrived, 100_000 * number, None).rows, number))
    shorter = writer.shortened(STREAM, chunks)
    assert shorter[0].is_stored
    assert not shorter[-1].is_stored
    assert len(shorter) < len(chunks)
    assert sum(chunk.rows for chunk in shorter) == 6_000_000
    assert sum(chunk.bytes for chunk in shorter if not chunk.is_stored) <= 64 * 1024 * 1024
    count = len(chunks) - len(shorter) + 1
    assert shorter[0].place.table().equals(pa.concat_tables([chunk.table for chunk in chunks[:count]]))
    assert writer.shortened(STREAM, shorter) == shorter
    assert len(list(tmp_path.iterdir())) == 1

    class Empty:
        def segments(self):
            return iter(())

    writer.sweep(Empty())
    assert not list(tmp_path.iterdir())


def stored_file(path: Path) -> StoredRows:
    """Return the rows of a file, all admitted."""
    footer = Footer.of(path)
    names = names_in(footer, STREAM.columns)
    files = ArrivedFiles((segment_of(path, footer, STREAM, names),), 9, names)
    return admitted_files(STREAM, files, 0, None).stored


def test_a_sample_of_a_file_whose_last_row_group_is_empty(tmp_path):
    table = pa.table({"v": pa.array([1, 2, 3], pa.int32()), "at": pa.array([7, 8, 9], pa.timestamp("us", "UTC"))})
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.write_table(table.slice(0, 0))
    assert stored_file(path).sample_rows["v"].to_pylist() == [1, 2, 3]


def test_rows_that_were_taken_go_back_if_the_next_file_is_lost():
    class Lost(ResidentRows):
        def ready(self, bound):
            raise LostSegmentError(None, "gone")

    rows = pa.table({"v": pa.array([1, 2], pa.int32()), "at": pa.array([5, 6], pa.timestamp("us", "UTC"))})
    table = admitted(STREAM, Arrived(rows, 9), 0, None).rows
    queue = Queue()
    queue.put(Chunk(ResidentRows(table), 1))
    queue.put(Chunk(Lost(table), 2))
    with pytest.raises(LostSegmentError):
        queue.take(math.inf, 100)
    assert (queue.rows, [chunk.number for chunk in queue.chunks]) == (4, [1, 2])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_windows_in_files_are_the_same_in_memory(seed):
    """What resident rows find by key: as rows of the log, and as what a job would read from the files."""
    random = Random(seed)
    with TemporaryDirectory() as folder:
        found, resident = both(random, Path(folder))
        if found.stored is None:
            return
        log = StreamLog(STREAM, [Chunk(found.stored, 1)], next_sequence=found.next_sequence)
        window = WindowDef(*random.choice([("range", random.randrange(20)), ("rows", random.randrange(1, 20))]))
        low = random.randrange(-5, 60)
        high = low + random.randrange(20)
        keys = {"v": pa.chunked_array([random.sample(range(60), random.randrange(1, 60))], pa.int32())}
        given = (window, low, high, ["v"], random.choice([0, 0, 110]), random.choice([None, None, 140]))
        got = log.window(*given, keys)
        assert not got.stored
        wanted = StreamLog(STREAM, [Chunk(ResidentRows(resident.rows), 1)]).window(*given, keys)
        assert got.table.equals(wanted.table)
        before = TRAFFIC.read
        assert log.window(*given, keys).table.equals(got.table)
        assert TRAFFIC.read == before, "the file was read again"
        assert log.window(*given).stored or not log.window(*given).table.num_rows  # large chunks read files
        with patch.object(window_cache, "MOST_BYTES", 0):
            assert len(log.window(*given, keys).stored) == len(log.window(*given).stored)


def test_rows_in_memory_are_forgotten_with_their_chunk_and_a_changed_file_is_not_read(tmp_path):
    rows = pa.table({"v": pa.array([1, 2], pa.int32()), "at": pa.array([5, 6], pa.timestamp("us", "UTC"))})
    path = tmp_path / "a.parquet"
    pq.write_table(rows, path)
    chunk = Chunk(stored_file(path), 1)
    cache = WindowCache()
    [read] = cache.resident([chunk], [chunk])
    assert read.table.column("v").to_pylist() == [1, 2]
    assert len(cache._tables) == 1
    assert cache.resident([], []) == []
    assert not cache._tables
    pq.write_table(rows.slice(0, 1), path)
    with pytest.raises(LostSegmentError):
        cache.resident([chunk], [chunk])
