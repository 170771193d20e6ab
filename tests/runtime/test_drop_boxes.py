"""Drop boxes: which rows they keep, that counts are exact, and that results are those of the rows kept."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.language import Script
from penstock.policies import Exhaustive
from penstock.runtime.admission import Arrived, admitted
from penstock.runtime.engine import Engine
from penstock.runtime.summary import query_summary, stream_summary
from penstock.shedding.drop_box import DropBox, chances
from tests.oracle.brute import on_time
from tests.oracle.generator import cases
from tests.oracle.oracle import difference, expected
from tests.oracle.results import sorted_rows
from tests.runtime.test_engine_random import POLICY, Drive, _plain


def chance(stream: str, number: int) -> float:
    """xxhash64 as published, in whole numbers, of the stream's name and then of a row's number."""
    return chance_after(name_hash(stream), number)


def name_hash(stream: str) -> int:
    return xxh64(crc32(stream.encode()), 42)


def chance_after(seed: int, number: int) -> float:
    return (xxh64(number, seed) >> 11) / 2**53


def xxh64(value: int, seed: int) -> int:
    """XXH64 of 8 bytes, from its specification."""
    word = (1 << 64) - 1
    p1, p2, p3 = 11400714785074694791, 14029467366897019727, 1609587929392839161
    p4, p5 = 9650029242287828579, 2870177450012600261

    def rotated(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & word

    z = (seed + p5 + 8) & word
    z ^= rotated(value * p2 & word, 31) * p1 & word
    z = (rotated(z, 27) * p1 + p4) & word
    z = (z ^ (z >> 33)) * p2 & word
    z = (z ^ (z >> 29)) * p3 & word
    return z ^ (z >> 32)


def kept_numbers(stream: str, boxes, count: int) -> set[int]:
    """The rows that a record of drop boxes says were kept, one by one."""
    kept, seed = set(), name_hash(stream)  # for millions of rows, so the name is hashed once
    ends = [*(start for start, _ in boxes[1:]), count]
    for (start, share), end in zip(boxes, ends, strict=True):
        kept.update(number for number in range(start, min(end, count)) if chance_after(seed, number) < share)
    return kept


def test_the_hash_is_what_it_is_said_to_be():
    numbers = np.array([0, 1, 2, 10**6, 2**40])
    assert chances("packets", numbers).tolist() == [chance("packets", int(each)) for each in numbers]


def test_shares_are_kept_and_smaller_ones_inside_larger_ones():
    numbers = np.arange(100_000)
    kept = {}
    for share in (0.0, 0.1, 0.41, 0.9, 1.0):
        box = DropBox("b")
        box.set(share, 0)
        kept[share] = box.keeps(numbers)
        assert kept[share].mean() == pytest.approx(share, abs=0.005)
    shares = sorted(kept)
    assert all((kept[small] <= kept[large]).all() for small, large in pairwise(shares))


def test_streams_are_dropped_independently():
    numbers = np.arange(50_000)
    both = (chances("a", numbers) < 0.3) & (chances("b", numbers) < 0.3)
    assert both.mean() == pytest.approx(0.09, abs=0.005)


def test_the_record_of_a_box():
    box = DropBox("s")
    box.set(0.5, 100)
    box.set(0.25, 100)
    box.set(0.25, 200)
    box.set(1.0, 300)
    assert box.history == [(0, 1.0), (100, 0.25), (300, 1.0)]
    assert box.mean(0, 400) == pytest.approx((100 + 200 * 0.25 + 100) / 400)
    assert box.mean(150, 250) == 0.25


def test_what_is_late_does_not_depend_on_what_is_dropped():
    (stream,) = Script.parse(
        "CREATE STREAM s (v INT, at TIMESTAMP) FROM files WITH (path = 'x', format = 'json', timestamp = 'at');"
    ).streams.values()
    times = [5, 9, 3, None, 9, 8, 12]
    rows = pa.table({"v": pa.array(range(7), pa.int32()), "at": pa.array(times, pa.timestamp("us", "UTC"))})
    whole = admitted(stream, Arrived(rows, 0), 0, None)
    box = DropBox("s")
    box.set(0.0, 0)
    none = admitted(stream, Arrived(rows, 0), 0, None, box)
    assert none.rejected.equals(whole.rejected)
    assert whole.rejected.num_rows == 3
    assert (none.next_sequence, none.newest) == (whole.next_sequence, whole.newest) == (7, 12)
    assert (whole.rows.num_rows, whole.dropped, none.rows.num_rows, none.dropped) == (4, 0, 0, 4)


class Shed(Drive):
    """A drive in which drop boxes change."""

    def happen(self) -> None:
        if self.random.random() < 0.2:
            names = self.random.sample(list(self.rows), self.random.randrange(1, len(self.rows) + 1))
            self.engine.set_keep({name: self.random.choice([0.0, 0.3, 0.7, 1.0]) for name in names})
        super().happen()

    def create(self) -> None:
        """Queries are there from the start, so that what they see is all that is kept."""

    def drop(self) -> None:
        """And stay."""


def left(stream, boxes):
    """A stream without what is late, malformed or dropped by its boxes, and how many were dropped."""
    names = [name for name, _ in stream.columns]
    timed = [number for number, row in enumerate(stream.rows) if row[names.index("ts")] is not None]
    numbers = [timed[seq] for seq, _ in on_time(stream)]
    kept = kept_numbers(stream.name, boxes, len(stream.rows))
    rows = [stream.rows[number] for number in numbers if number in kept]
    return replace(stream, rows=rows, files=None), len(numbers) - len(rows)


@settings(max_examples=12, deadline=None)
@given(case=cases(max_rows=25, combined=20_000), seed=st.integers(0, 2**32), policy=POLICY)
def test_results_are_those_of_the_rows_kept(case, seed, policy):
    with TemporaryDirectory() as folder:
        drive = Shed(case, Random(seed), policy, Path(folder))
        drive.begin()
        for _ in range(60):
            drive.happen()
        drive.drain()
    boxes = {name: log.box.history for name, log in drive.engine.streams.items()}
    found = {stream.name: left(stream, boxes[stream.name]) for stream in case.streams}
    fewer = replace(case, streams=[stream for stream, _ in found.values()])
    for name, state in drive.engine.queries.items():
        wanted = expected(fewer, name)
        got = sorted_rows([tuple(_plain(value) for value in row) for row in drive.results[name]])
        assert difference(wanted, got) == "", (name, policy, seed, boxes)
        dropped = query_summary(drive.engine, name).dropped
        assert dropped == {stream: found[stream][1] for stream in state.starts}
    for name, (_, dropped) in found.items():
        summary = stream_summary(drive.engine, name, False, 0)
        assert summary.dropped == dropped
        assert summary.boxes == tuple(boxes[name])


def test_a_query_counts_only_what_was_dropped_while_it_was_there():
    stream = "CREATE STREAM s (v INT) FROM poisson WITH (rate = 5);"
    script = Script.parse(f"{stream} CREATE QUERY q AS SELECT v FROM s;")
    drive_rows = pa.table({"v": pa.array(range(100), pa.int32())})
    engine = Engine(script.streams, "fifo", Exhaustive())
    engine.set_keep({"s": 0.5})
    engine.admit("s", Arrived(drive_rows, 0), 100)
    engine.create(script.queries["q"])
    engine.admit("s", Arrived(drive_rows, 0), 100)
    engine.drop("q")
    engine.admit("s", Arrived(drive_rows, 0), 100)
    gone = [sum(chance("s", number) >= 0.5 for number in range(start, start + 100)) for start in (0, 100, 200)]
    assert engine.dropped_rows("q") == {"s": gone[1]}
    assert engine.streams["s"].box.dropped == sum(gone)
