"""The gate of a stream, on hand-worked rows."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.language.statements import Column, StreamDef
from penstock.language.types import ColumnType
from penstock.runtime.admission import BAD, Arrived, admitted

BASE = datetime(2026, 1, 1, tzinfo=UTC)


def stream(lateness: int = 0, timed: bool = True) -> StreamDef:
    options = {"timestamp": "at", "lateness": lateness} if timed else {}
    return StreamDef(
        "s", (Column("v", ColumnType("INT")), Column("at", ColumnType("TIMESTAMP"))), "files", options
    )


def rows(*seconds: float | None, bad: dict[int, str] | None = None) -> pa.Table:
    times = [None if second is None else BASE + timedelta(seconds=second) for second in seconds]
    table = pa.table(
        {"v": pa.array(range(len(times)), pa.int32()), "at": pa.array(times, pa.timestamp("us", "UTC"))}
    )
    if bad:
        table = table.append_column(BAD, pa.array([bad.get(i) for i in range(len(times))], pa.string()))
    return table


def test_a_row_is_late_by_those_before_it_alone():
    found = admitted(stream(), Arrived(rows(5, 3, 5, 6, 4), 0), 10, None)
    assert found.rows.column("v").to_pylist() == [0, 2, 3]
    assert found.rows.column("__seq0").to_pylist() == [10, 12, 13]
    assert found.rejected.column("seq").to_pylist() == [11, 14]
    assert found.rejected.column("kind").to_pylist() == ["late", "late"]
    assert found.next_sequence == 15
    assert found.newest == int((BASE + timedelta(seconds=6)).timestamp() * 1e6)


def test_lateness_forgives_exactly_so_much():
    found = admitted(stream(2_000_000), Arrived(rows(5, 3, 2.999999, 5), 0), 0, None)
    assert found.rows.column("v").to_pylist() == [0, 1, 3]


def test_the_newest_time_of_earlier_chunks_counts():
    first = admitted(stream(), Arrived(rows(5), 0), 0, None)
    second = admitted(stream(), Arrived(rows(4, 5, 6), 0), first.next_sequence, first.newest)
    assert second.rows.column("v").to_pylist() == [1, 2]


def test_malformed_rows_have_no_time_and_make_nobody_late():
    table = rows(1, 100, None, 2, bad={1: "does not fit"})
    found = admitted(stream(), Arrived(table, 0), 0, None)
    assert found.rows.column("v").to_pylist() == [0, 3]
    assert found.rejected.column("kind").to_pylist() == ["malformed", "malformed"]
    assert found.rejected.column("reason").to_pylist() == ["does not fit", "no time: column at is NULL"]


def test_without_a_timestamp_the_time_is_the_arrival():
    found = admitted(stream(timed=False), Arrived(rows(5, None, 3), 77), 0, None)
    assert found.rows.column("__t").to_pylist() == [77, 77, 77]
    assert found.rows.column("__a").to_pylist() == [77, 77, 77]
    assert found.newest == 77


def test_no_rows_at_all():
    found = admitted(stream(), Arrived(rows(), 5), 3, 9)
    assert (found.rows.num_rows, found.rejected.num_rows, found.next_sequence, found.newest) == (0, 0, 3, 9)


@given(seconds=st.lists(st.integers(0, 9), max_size=30), lateness=st.integers(0, 4), cut=st.integers(0, 30))
def test_chunks_do_not_matter(seconds, lateness, cut):
    """Whatever the chunks: a row is late if its time is below the running maximum before it minus lateness."""
    definition = stream(lateness * 1_000_000)
    parts = [seconds[:cut], seconds[cut:]]
    sequence, newest, kept = 0, None, []
    for part in parts:
        found = admitted(definition, Arrived(rows(*part), 0), sequence, newest)
        kept += found.rows.column("__seq0").to_pylist()
        sequence, newest = found.next_sequence, found.newest
    wanted = [i for i, second in enumerate(seconds) if i == 0 or second >= max(seconds[:i]) - lateness]
    assert kept == wanted
    assert newest is None or newest == int(BASE.timestamp() * 1e6) + max(seconds) * 1_000_000
    assert np.all(np.diff(kept) > 0)
