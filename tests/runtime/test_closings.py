"""Windows that close: which, when, of which panes; by brute force, and on small engines by hand."""

from datetime import datetime, timedelta
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from penstock.language import Script
from penstock.language.statements import WindowDef
from penstock.plan.columns import numbers
from penstock.plan.steps import BLOCK, MEMBER, PANE, VARIANT, Close, seq
from penstock.policies import Exhaustive
from penstock.runtime import job_panes
from penstock.runtime.admission import Arrived
from penstock.runtime.closings import SIZE, Series, panes_of_windows, windows_between
from penstock.runtime.engine import Engine
from penstock.runtime.pane_log import Panes
from penstock.runtime.rows.written_segments import SegmentWriter
from tests.runtime.duck import Duck, next_job

START = datetime(2026, 1, 1)
SECOND = 1_000_000


@pytest.mark.parametrize("seed", range(30))
def test_windows_between_by_brute_force(seed):
    """Each window of a member that holds a pane of its variant, ends in the range, and is seen."""
    random = Random(seed)
    slide, size = random.randint(1, 6), random.randint(1, 12)
    kind = random.choice(["range", "rows"])
    pane = WindowDef(kind, size, slide).pane
    pairs = {(random.randrange(3), pane * random.randrange(0 if kind == "rows" else -20, 40)) for _ in range(20)}
    panes = Panes(*np.array(sorted(pairs), dtype=np.int64).T)
    members = [
        (number, random.randrange(3), random.randint(-30, 30), random.randint(0, 60)) for number in range(5)
    ]
    members.sort(key=lambda each: each[1])
    after, until = random.choice([None, random.randint(-10, 20)]), random.randint(0, 80)
    series = Series(WindowDef(kind, size, slide), *np.array(members, dtype=np.int64).T)
    found = {
        (int(member), int(variant), int(start))
        for windows in windows_between(panes, series, after, until)
        for member, variant, start in zip(windows.members, windows.variants, windows.starts, strict=True)
    }
    wanted = {
        (number, variant, k * slide)
        for number, variant, first, end in members
        for k in range(-60, 61)
        if any(of == variant and k * slide <= p < k * slide + size for of, p in pairs)
        if (after is None or k * slide + size > after) and k * slide + size <= until
        if first <= k * slide < end and not (kind == "rows" and k < 0)
    }
    assert found == wanted


@pytest.mark.parametrize("seed", range(20))
def test_panes_of_windows_by_brute_force(seed):
    random = Random(seed)
    pairs = sorted({(random.randrange(3), 2 * random.randrange(30)) for _ in range(25)})
    panes = Panes(*np.array(pairs, dtype=np.int64).T)
    windows = [(random.randrange(9), random.randrange(3), 2 * random.randrange(30), 2 * random.randint(1, 9))]
    windows += [(random.randrange(9), random.randrange(3), 2 * random.randrange(30), 2) for _ in range(6)]
    names = [MEMBER, VARIANT, seq(0), SIZE]
    closed = pa.table(dict(zip(names, zip(*windows, strict=True), strict=True)))
    found = panes_of_windows(closed, {0: panes})
    got = list(zip(*(numbers(found, name).tolist() for name in (MEMBER, VARIANT, seq(0), PANE)), strict=True))
    wanted = [
        (member, variant, start, p)
        for member, variant, start, size in windows
        for of, p in pairs
        if of == variant and start <= p < start + size
    ]
    assert sorted(got) == sorted(wanted)


@pytest.mark.parametrize("seed", range(40))
def test_panes_and_blocks_of_windows_by_brute_force(seed):
    """Of rows in panes of 1 and in blocks, each pane of a window is there once, of each size of blocks."""
    random = Random(seed)
    begins = {block: sorted({random.randrange(-20, 40) for _ in range(30)}) for block in (0, 3, 8)}
    by_block = {
        tag: Panes(np.zeros(len(each), np.int64), np.array(each))
        for block, here in begins.items()
        for tag, each in ((-block, here), (block, sorted({at // block * block for at in here} if block else here)))
    }
    windows = [(start, random.randint(1, 30)) for start in random.sample(range(-30, 40), 5)]
    found = panes_of_windows(
        pa.table(dict(zip((seq(0), SIZE), zip(*windows, strict=True), strict=True))), by_block
    )
    got = [
        (start, abs(tag), at)
        for start, begin, tag in zip(
            *(numbers(found, name).tolist() for name in (seq(0), PANE, BLOCK)), strict=True
        )
        for at in (range(begin, begin + tag) if tag > 0 else [begin])
        if at in begins[abs(tag)]
    ]
    wanted = [
        (start, block, at)
        for start, size in windows
        for block, here in begins.items()
        for at in here
        if start <= at < start + size
    ]
    assert sorted(got) == sorted(wanted)


class Small:
    """An engine of one query over one stream, with DuckDB for the jobs; times are in seconds."""

    def __init__(self, select: str, options: str = "", queries: str = "") -> None:
        self.script = Script.parse(
            "CREATE STREAM s (at TIMESTAMP, v INT) FROM files WITH (path = 'x', format = 'json', timestamp = 'at'"
            f"{options});\n{queries}CREATE QUERY q AS {select};"
        )
        self.engine = Engine(self.script.streams, "fifo", Exhaustive())
        self.duck, self.now = Duck({}), 0
        self.rows: dict[str, list[tuple]] = {}

    def begin(self) -> "Small":
        self.engine.begin(self.script)
        return self

    def admit(self, *seconds: float) -> int:
        """Rows with these times and values 1, 1, …; return how many were late."""
        times = pa.array([START + timedelta(seconds=each) for each in seconds], pa.timestamp("us", "UTC"))
        rows = pa.table({"at": times, "v": pa.array([1] * len(seconds), pa.int32())})
        return self.engine.admit("s", Arrived(rows, self.now), 100).rejected.num_rows

    def run(self) -> list[tuple]:
        """Do everything that can be done; return new results of q."""
        before = len(self.rows.get("q", ()))
        while True:
            self.now += 1000
            some = self.engine.settle(self.now)
            job = next_job(self.engine, self.now)
            if job is None and not some:
                return self.rows.get("q", [])[before:]
            if job is not None:
                for emitted in self.engine.commit(job, self.duck(job.work), self.now, 0.01):
                    rows = zip(*(column.to_pylist() for column in emitted.rows.columns), strict=True)
                    self.rows.setdefault(emitted.name, []).extend(rows)

    @property
    def panes(self) -> int:
        return sum(log.rows for log in self.engine.state.panes.values())


TEN = "SELECT count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS]"


def test_a_window_closes_when_the_watermark_reaches_its_last_microsecond():
    """
    rows  1 2 | 9 10 | 10.000001      a row at 10 s: the watermark is 9.999999 s, and [0, 10) closes
    """
    small = Small(TEN).begin()
    small.admit(1, 2)
    assert small.run() == []
    small.admit(9)
    assert small.run() == []
    small.admit(10)
    assert small.run() == [(3,)]
    small.admit(10.000001)
    assert small.run() == []
    small.engine.set_watermark("s", None, ended=True)
    assert small.run() == [(2,)]
    small.engine.release()
    assert small.panes == 0


def test_lateness_keeps_windows_open():
    """With 3 s of lateness, [0, 10) closes at a row of 13 s; one of 9 s before that is in it."""
    small = Small(TEN, ", lateness = '3 s'").begin()
    small.admit(1, 12)
    assert small.run() == []
    assert small.admit(9) == 0
    assert small.run() == []
    small.admit(13)
    assert small.run() == [(2,)]
    assert small.admit(9.9) == 1


def test_a_response_counts_from_the_close():
    """Rows of 1 s and 2 s arrive at once, the one that closes their window half a second later."""
    small = Small(TEN).begin()
    small.admit(1, 2)
    small.run()
    small.now = 500_000
    small.admit(30)
    assert small.run() == [(2,)]
    response = small.engine.recorder.queries["q"].response
    assert response.most < 0.1


def test_a_silent_stream_goes_on_with_the_clock():
    """
    rows   1 2 ......      silent since 0 s of the clock; at 8 s the watermark is 10 s: [0, 10) closes
    then   9.5 (late) 11
    """
    small = Small(TEN, ", idle = '5 s'").begin()
    small.admit(1, 2)
    small.run()
    small.engine.set_silent("s", 0)
    small.now = 6 * SECOND
    assert small.run() == []
    small.now = 8 * SECOND
    assert small.run() == [(2,)]
    small.engine.set_silent("s", None)
    assert small.admit(9.5, 11) == 1
    small.engine.set_watermark("s", None, ended=True)
    assert small.run() == [(1,)]


def test_a_state_that_was_drained_takes_no_more_rows_of_closed_windows():
    small = Small(TEN).begin()
    small.engine.streams["s"].continues = True
    small.admit(1, 2)
    small.engine.set_watermark("s", None, ended=True)
    assert small.run() == [(2,)]
    small.engine.set_watermark("s", None, ended=False)
    assert small.admit(5, 10) == 1
    small.admit(20)
    assert small.run() == [(1,)]


def test_rows_of_a_window_are_counted_before_where():
    """Windows of 3 rows; the second has none that WHERE lets pass, the third is not full."""
    small = Small("SELECT count(*) AS n, window_start AS a, window_end AS b FROM s [ROWS 3 SLIDE 3]").begin()
    small.admit(1, 2, 2, 5, 6, 7, 8)
    found = [(n, (a - START).seconds, (b - START).seconds) for n, a, b in small.run()]
    assert found == [(3, 1, 2), (3, 5, 7)]


def test_many_small_jobs_leave_few_chunks():
    small = Small("SELECT count(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 HOUR]").begin()
    for number in range(100):
        small.admit(number)
        small.run()
    [log] = small.engine.state.panes.values()
    assert len(log.chunks) <= 12
    small.engine.set_watermark("s", None, ended=True)
    assert small.run() == [(100,)]


def test_panes_that_take_too_much_memory_become_files(tmp_path, monkeypatch):
    monkeypatch.setattr(job_panes, "RESIDENT_BYTES", 0)
    monkeypatch.setattr(job_panes, "SEGMENT_BYTES", 0)
    small = Small("SELECT count(*) AS n FROM s [RANGE 1 HOUR SLIDE 1 HOUR]").begin()
    small.engine.write_segments_by(SegmentWriter(tmp_path))
    for number in range(30):
        small.admit(number)
        small.run()
        small.engine.release()
    [log] = small.engine.state.panes.values()
    assert all(chunk.is_stored for chunk in log.chunks)
    assert len(list(tmp_path.iterdir())) == len(log.chunks) == 30
    small.engine.set_watermark("s", None, ended=True)
    assert small.run() == [(30,)]
    small.engine.release()
    assert list(tmp_path.iterdir()) == []


def test_a_dropped_query_gets_no_open_window():
    small = Small(TEN).begin()
    small.admit(1, 11, 12)
    small.engine.settle(1)
    small.engine.drop("q")
    small.admit(25, 31)
    assert small.run() == [(1,)]
    assert small.engine.finish_endings() == ["q"]
    assert small.engine.state.panes == {}


@pytest.mark.parametrize("windows", ["RANGE 10 SECONDS SLIDE 10 SECONDS", "ROWS 2 SLIDE 2"])
def test_what_closed_with_its_stream_stays_closed_when_the_query_is_dropped(windows):
    """The watermark of a drained state that goes on is behind the windows that closed."""
    small = Small(f"SELECT count(*) AS n FROM s [{windows}]").begin()
    small.admit(1, 2)
    small.engine.set_watermark("s", None, ended=True)
    assert small.run() == [(2,)]
    small.engine.set_watermark("s", None, ended=False)
    small.engine.drop("q")
    [log] = small.engine.state.panes.values()
    assert small.engine.queries["q"].end_window > log.panes.panes.max()


def test_a_created_query_gets_windows_that_begin_later():
    small = Small(TEN, queries=TEN.join(["CREATE QUERY first AS ", ";\n"])).begin()
    small.admit(1, 5)
    small.run()
    later = next(iter(small.script.read_statements(f"CREATE QUERY later AS {TEN};")))
    small.engine.create(later)
    small.admit(7, 10, 20)
    small.run()
    assert small.rows["first"] == small.rows["q"] == [(3,), (1,)]
    assert small.rows["later"] == [(1,)]


def test_a_window_that_closes_counts_as_its_partial_aggregates():
    """Of 50 rows for a filter and one window of 100 groups, the window makes more results."""
    script = Script.parse(
        "CREATE STREAM s (at TIMESTAMP, k INT) FROM files WITH (path = 'x', format = 'json', timestamp = 'at');\n"
        "CREATE QUERY groups AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] GROUP BY k;\n"
        "CREATE QUERY rows AS SELECT k FROM s WHERE k >= 0;"
    )
    engine, duck = Engine(script.streams, "hr", Exhaustive()), Duck({})
    engine.begin(script)

    def admit(second: float, count: int) -> None:
        at = pa.array([START + timedelta(seconds=second)] * count, pa.timestamp("us", "UTC"))
        engine.admit("s", Arrived(pa.table({"at": at, "k": pa.array(range(count), pa.int32())}), 0), 100)

    def done() -> list[str]:
        engine.settle(1)
        job = next_job(engine, 1)
        if job is None:
            return []
        engine.commit(job, duck(job.work), 1, 0.1)
        return [edge.target for edge in job.taken]

    for second in (0, 10):
        admit(second, 100)
        while done():
            pass
    admit(20, 50)
    [first] = done()
    assert isinstance(engine.plan.steps[first], Close)
