"""Queues, windows as views of a log, and what a log may let go of, on hand-worked rows."""

import math

import numpy as np
import pyarrow as pa
import pytest

from penstock.language.statements import Column, StreamDef, WindowDef
from penstock.language.types import ColumnType
from penstock.plan.columns import stamped
from penstock.runtime.chunk import Chunk
from penstock.runtime.queues import Queue
from penstock.runtime.rows.job_input import WindowRows
from penstock.runtime.stream_log import StreamLog


def chunk(*times: int, first: int = 0, number: int = 1, arrival: int = 0) -> Chunk:
    """Rows v = 0, 1, … with these times."""
    count = len(times)
    table = pa.table({"v": pa.array(range(first, first + count), pa.int32())})
    numbers = np.arange(first, first + count)
    return Chunk.of(stamped(table, numbers, np.array(times), np.full(count, arrival)), number)


def log(*chunks: Chunk, lateness: int = 0) -> StreamLog:
    stream = StreamDef("s", (Column("v", ColumnType("INT")),), "files", {"lateness": lateness})
    return StreamLog(stream, list(chunks))


def values(rows) -> list[int]:
    table = rows.table if isinstance(rows, WindowRows) else rows
    return table.column("v").to_pylist()


def test_a_queue_gives_its_rows_once_and_in_order():
    queue = Queue()
    queue.put(chunk(1, 2, 3))
    queue.put(chunk(4, 5, first=3, number=2))
    assert (queue.rows, queue.first_time) == (5, 1)
    assert [values(p.table) for p in queue.take(math.inf, 2)] == [[0, 1]]
    assert [values(p.table) for p in queue.take(math.inf, 10)] == [[2], [3, 4]]
    assert (queue.rows, queue.bytes, queue.first_time) == (0, 0, math.inf)


def test_a_queue_stops_at_the_first_row_above_the_bound():
    queue = Queue()
    queue.put(chunk(1, 4, 2, 3))
    assert queue.ready(3) == 1
    assert queue.ready(4) == 4
    assert queue.ready(0) == 0
    assert queue.take(0, 10) == []
    assert [values(p.table) for p in queue.take(3, 10)] == [[0]]
    assert queue.rows == 3


def test_rows_given_back_stand_in_front():
    queue = Queue()
    queue.put(chunk(1, 2))
    queue.put(chunk(3, 4, first=2))
    taken = queue.take(math.inf, 3)
    queue.put_back(taken)
    assert queue.rows == 4
    assert [v for p in queue.take(math.inf, 10) for v in values(p.table)] == [0, 1, 2, 3]


RANGE_3, ROWS_2 = WindowDef("range", 3), WindowDef("rows", 2)


def test_a_range_window_reaches_back_from_the_earliest_row_that_probes():
    stream = log(chunk(1, 2, 5), chunk(6, 9, first=3))
    assert values(stream.window(RANGE_3, 5, 6, ["v"])) == [1, 2, 3]
    assert values(stream.window(RANGE_3, 20, 30, ["v"])) == []


def test_a_row_window_says_when_each_row_leaves_it():
    #      v:  0  1  2  3  4
    #   time:  1  2  5  6  9      each leaves at the time of the row two later
    stream = log(chunk(1, 2, 5), chunk(6, 9, first=3))
    found = stream.window(ROWS_2, 6, 6, ["v"])
    assert values(found) == [1, 2, 3]
    assert found.table.column("__x").to_pylist() == [6, 9, None]


def test_rows_outside_a_querys_range_do_not_exist():
    stream = log(chunk(1, 2, 5), chunk(6, 9, first=3))
    found = stream.window(ROWS_2, 6, 9, ["v"], start=2, end=4)
    assert values(found) == [2, 3]
    assert found.table.column("__x").to_pylist() == [None, None]


def test_with_lateness_a_row_window_counts_by_time():
    stream = log(chunk(1, 5, 2), chunk(6, first=3), lateness=10)
    found = stream.window(ROWS_2, 6, 6, ["v"])
    assert values(found) == [2, 1, 3]  # of times 2, 5, 6; times below 6 are 1, 2, 5, the last two of them 2 and 5
    assert found.table.column("__x").to_pylist() == [6, None, None]


def test_an_empty_log_has_the_columns():
    found = log().window(ROWS_2, 0, 10, ["v"])
    assert found.num_rows == 0
    assert found.table.column_names == ["v", "__seq0", "__t", "__a", "__x"]


@pytest.mark.parametrize(
    ("window", "low", "passed"),
    [
        (RANGE_3, 5, 0),  # 2 is exactly 3 older than 5
        (RANGE_3, 6, 1),
        (RANGE_3, 100, 3),
        (ROWS_2, 5, 0),  # only one row between 2 and 5 … 5 itself does not precede
        (ROWS_2, 6, 0),
        (ROWS_2, 7, 1),  # 5 and 6 have pushed 1 and 2 out
        (ROWS_2, math.inf, 3),
    ],
)
def test_what_no_window_can_need_is_let_go(window, low, passed):
    stream = log(chunk(1, 2), chunk(5, 6, first=2), chunk(9, first=4))
    assert stream.needed_from(window, low) == passed


def test_watermarks():
    stream = log(lateness=5)
    assert stream.watermark == -math.inf
    stream.newest = 100
    assert stream.watermark == 94
    stream.source_watermark = 97
    assert stream.watermark == 97
    stream.ended = True
    assert stream.watermark == math.inf
